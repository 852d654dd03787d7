/// Reads JSON (RFC 8259) front to back, driven by its caller, and checks every byte: grammar,
/// UTF-8, escapes, depth. It builds no tree and allocates only the strings that are asked for. It
/// can skip a whole value and return its range, so that a record's `fields` are forwarded
/// unchanged.
///
/// It must not depend on any message: the caller handles an object's members.
///
///     var scanner = JSONScanner(bytes)
///     try scanner.enterObject()
///     while let key = try scanner.nextMember() { … read or skip the value … }
///     try scanner.finish()
///
/// Every load is preceded by one comparison of the position with the count, and is not checked
/// again.
package struct JSONScanner: ~Escapable {
  /// Nesting of objects and arrays: deeper input is refused before it can exhaust a stack.
  package static let depthMax = 64

  package let bytes: RawSpan
  package var position = 0
  /// Number of objects and arrays that were entered and not yet left.
  private var depth = 0
  /// True if a value of the innermost object or array has been read: a comma comes before the next.
  private var follows = false

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  var count: Int { bytes.byteCount }

  /// Returns the kind of the next value, from its first byte. Consumes only white space.
  package mutating func kind() throws(JSONFault) -> Kind {
    switch try peek() {
    case .openBrace: return .object
    case .openBracket: return .array
    case .quote: return .string
    case .minus, .zero ... .nine: return .number
    case .letterT, .letterF: return .bool
    case .letterN: return .null
    default: throw fault(.expected(.value))
    }
  }

  /// True if the next value is of this kind. Consumes only white space.
  package mutating func isNext(_ kind: Kind) throws(JSONFault) -> Bool { try self.kind() == kind }

  package enum Kind: Hashable, Sendable {
    case object, array, string, number, bool, null
  }

  // MARK: Objects and arrays

  package mutating func enterObject() throws(JSONFault) {
    guard try peek() == .openBrace else { throw fault(.expected(.object)) }
    try enter()
  }

  package mutating func enterArray() throws(JSONFault) {
    guard try peek() == .openBracket else { throw fault(.expected(.array)) }
    try enter()
  }

  private mutating func enter() throws(JSONFault) {
    guard depth < JSONScanner.depthMax else { throw fault(.tooDeep) }
    depth += 1
    position += 1
    follows = false
  }

  /// Returns the name of the object's next member, whose value must be read or skipped next; nil at
  /// the end of the object, which is then left.
  package mutating func nextMember() throws(JSONFault) -> JSONKey? {
    if let key = plainMember() { return key }
    guard let name = try nextName() else { return nil }
    return try key(name)
  }

  /// Reads the next member's name if it is short and plain, and if there is no white space around
  /// it, as almost always. Otherwise reads nothing.
  @inline(__always)
  private mutating func plainMember() -> JSONKey? {
    let start = position + (follows ? 2 : 1)
    guard start + 16 <= count, byte(start - 1) == .quote, !follows || byte(position) == .comma
    else { return nil }
    let length = bytes.endOfPlainText(from: start, atMost: 16) - start
    guard length <= JSONKey.bytesMax, byte(start + length) == .quote, start + length + 1 < count,
      byte(start + length + 1) == .colon
    else { return nil }
    position = start + length + 2
    follows = false
    return JSONKey(low: word(start), high: word(start + 8), count: length)
  }

  /// Same as `nextMember`, with the name as text.
  package mutating func nextName() throws(JSONFault) -> Text? {
    guard try advance(closing: .closeBrace, .commaOrBrace) else { return nil }
    return try name()
  }

  /// True if the array has another element, to be read or skipped next. Otherwise the array is
  /// left.
  package mutating func nextElement() throws(JSONFault) -> Bool {
    try advance(closing: .closeBracket, .commaOrBracket)
  }

  private mutating func advance(closing end: UInt8, _ expectation: JSONFault.Expectation)
    throws(JSONFault) -> Bool
  {
    let byte = try peek()
    if byte == end {
      position += 1
      depth -= 1
      follows = true
      return false
    }
    guard follows else { return true }
    guard byte == .comma else { throw fault(.expected(expectation)) }
    position += 1
    follows = false
    return true
  }

  /// Reads a member's name and the colon after it.
  mutating func name() throws(JSONFault) -> Text {
    guard try peek() == .quote else { throw fault(.expected(.name)) }
    let name = try scanString()
    guard try peek() == .colon else { throw fault(.expected(.colon)) }
    position += 1
    return name
  }

  // MARK: Single values

  package mutating func bool() throws(JSONFault) -> Bool {
    switch try peek() {
    case .letterT: try literal("true")
    case .letterF: try literal("false")
    default: throw fault(.expected(.bool))
    }
    // Both end in e; the letter before it distinguishes them.
    return byte(position - 2) == .letterU
  }

  package mutating func null() throws(JSONFault) {
    guard try peek() == .letterN else { throw fault(.expected(.null)) }
    try literal("null")
  }

  mutating func literal(_ word: StaticString) throws(JSONFault) {
    let length = word.utf8CodeUnitCount
    guard position + length <= count else { throw JSONFault(.unexpectedEnd, at: count) }
    for index in 0..<length where byte(position + index) != word.utf8Start[index] {
      throw fault(.expected(.value))
    }
    position += length
    follows = true
  }

  /// Marks that a value has been read; a comma comes before the next.
  mutating func markValueRead() { follows = true }

  /// Checks the end of the whole text: only white space may follow.
  package mutating func finish() throws(JSONFault) {
    skipWhiteSpace()
    guard position == count else { throw fault(.trailingBytes) }
  }

  /// Returns a copy of a range of the bytes, such as `skipValue` returns.
  package func copy(_ range: Range<Int>) -> [UInt8] {
    bytes.extracting(range).withUnsafeBytes { Array($0) }
  }

  // MARK: Bytes

  func fault(_ reason: JSONFault.Reason) -> JSONFault { JSONFault(reason, at: position) }

  /// Returns the byte at `offset`, which must have been compared with the count.
  @inline(__always)
  func byte(_ offset: Int) -> UInt8 {
    bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
  }

  /// Returns eight bytes from `offset` on, the first lowest; all must have been compared with the
  /// count.
  @inline(__always)
  func word(_ offset: Int) -> UInt64 {
    UInt64(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
  }

  /// Skips white space and returns the next byte without consuming it.
  @inline(__always)
  mutating func peek() throws(JSONFault) -> UInt8 {
    skipWhiteSpace()
    guard position < count else { throw fault(.unexpectedEnd) }
    return byte(position)
  }

  @inline(__always)
  mutating func skipWhiteSpace() {
    while position < count {
      switch byte(position) {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }
}

/// Bytes of the JSON grammar.
extension UInt8 {
  static var quote: UInt8 { 0x22 }
  static var backslash: UInt8 { 0x5C }
  static var openBrace: UInt8 { 0x7B }
  static var closeBrace: UInt8 { 0x7D }
  static var openBracket: UInt8 { 0x5B }
  static var closeBracket: UInt8 { 0x5D }
  static var colon: UInt8 { 0x3A }
  static var comma: UInt8 { 0x2C }
  static var minus: UInt8 { 0x2D }
  static var plus: UInt8 { 0x2B }
  static var dot: UInt8 { 0x2E }
  static var zero: UInt8 { 0x30 }
  static var nine: UInt8 { 0x39 }
  static var letterE: UInt8 { 0x65 }
  static var letterF: UInt8 { 0x66 }
  static var letterN: UInt8 { 0x6E }
  static var letterT: UInt8 { 0x74 }
  static var letterU: UInt8 { 0x75 }
}

extension JSONScanner {
  /// Checked string: the range of its bytes between the quotes. `hasEscapes` is false if the bytes
  /// are the text itself.
  package struct Text: Hashable, Sendable {
    package var range: Range<Int>
    package var hasEscapes: Bool
  }

  package mutating func string() throws(JSONFault) -> String {
    try string(try text())
  }

  /// Checks a string and returns its position; `string(_:)` and `key(_:)` read it.
  package mutating func text() throws(JSONFault) -> Text {
    guard try peek() == .quote else { throw fault(.expected(.string)) }
    let text = try scanString()
    markValueRead()
    return text
  }

  /// Returns the value of `text`, which this scanner has checked.
  package func string(_ text: Text) throws(JSONFault) -> String {
    if text.hasEscapes { return String(decoding: try unescaped(text), as: UTF8.self) }
    return bytes.extracting(text.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  package func key(_ text: Text) throws(JSONFault) -> JSONKey {
    if text.hasEscapes { return JSONKey(try unescaped(text)) }
    let start = text.range.lowerBound
    let length = text.range.count
    guard length <= JSONKey.bytesMax else { return .long }
    guard start + 16 <= count else { return JSONKey(copy(text.range)) }
    return JSONKey(low: word(start), high: word(start + 8), count: length)
  }

  /// Checks and skips a string whose opening quote is at the position.
  mutating func scanString() throws(JSONFault) -> Text {
    let start = position + 1
    var hasEscapes = false
    position = start
    while true {
      position = bytes.endOfPlainText(from: position)
      guard position < count else { throw fault(.unexpectedEnd) }
      switch byte(position) {
      case .quote:
        position += 1
        return Text(range: start..<position - 1, hasEscapes: hasEscapes)
      case .backslash:
        hasEscapes = true
        _ = try scanEscape()
      case 0x00...0x1F: throw fault(.bareControlCharacter)
      default: try skipCharacter()
      }
    }
  }

  /// Skips an escape and returns its character.
  private mutating func scanEscape() throws(JSONFault) -> Unicode.Scalar {
    let start = position
    guard start + 1 < count else { throw JSONFault(.unexpectedEnd, at: count) }
    let letter = byte(start + 1)
    guard letter == .letterU else {
      guard let scalar = shortEscape(letter) else { throw fault(.badEscape) }
      position += 2
      return scalar
    }
    let first = try scanHexadecimal(start)
    if let scalar = Unicode.Scalar(first) { return scalar }
    // A surrogate: only a high one followed by a low one makes a character.
    guard first < 0xDC00 else { throw JSONFault(.loneSurrogate, at: start) }
    guard position + 1 < count else {
      throw JSONFault(position < count ? .loneSurrogate : .unexpectedEnd, at: start)
    }
    guard byte(position) == .backslash, byte(position + 1) == .letterU else {
      throw JSONFault(.loneSurrogate, at: start)
    }
    let second = try scanHexadecimal(position)
    guard second & 0xFC00 == 0xDC00,
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw JSONFault(.loneSurrogate, at: start) }
    return scalar
  }

  private func shortEscape(_ letter: UInt8) -> Unicode.Scalar? {
    switch letter {
    case .quote: "\""
    case .backslash: "\\"
    case UInt8(ascii: "/"): "/"
    case UInt8(ascii: "b"): "\u{8}"
    case .letterF: "\u{C}"
    case .letterN: "\n"
    case UInt8(ascii: "r"): "\r"
    case .letterT: "\t"
    default: nil
    }
  }

  /// Returns the value of `\uXXXX` at `start`, and moves the position behind it.
  private mutating func scanHexadecimal(_ start: Int) throws(JSONFault) -> UInt32 {
    var value: UInt32 = 0
    for offset in start + 2..<start + 6 {
      guard offset < count else { throw JSONFault(.unexpectedEnd, at: count) }
      guard let digit = Self.hexadecimalDigit(byte(offset)) else {
        throw JSONFault(.badEscape, at: start)
      }
      value = value << 4 | UInt32(digit)
    }
    position = start + 6
    return value
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Skips a character outside ASCII (the Unicode Standard, table 3-7).
  @inline(__always)
  private mutating func skipCharacter() throws(JSONFault) {
    let length: Int
    let second: ClosedRange<UInt8>
    switch byte(position) {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xE1...0xEC, 0xEE, 0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw fault(.badUTF8)
    }
    guard position + length <= count, second.contains(byte(position + 1)) else {
      throw fault(.badUTF8)
    }
    for offset in 2..<length where byte(position + offset) & 0xC0 != 0x80 {
      throw fault(.badUTF8)
    }
    position += length
  }

  /// Returns the bytes of a string with escapes.
  private func unescaped(_ text: Text) throws(JSONFault) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.range.count)
    var reader = JSONScanner(bytes)
    reader.position = text.range.lowerBound
    while reader.position < text.range.upperBound {
      let next = byte(reader.position)
      if next == .backslash {
        result.append(contentsOf: String(Character(try reader.scanEscape())).utf8)
      } else {
        result.append(next)
        reader.position += 1
      }
    }
    return result
  }
}

extension RawSpan {
  /// Returns the offset of the first byte from `start` on that is special in a JSON string: the
  /// quote, the backslash, a control character, or a byte outside ASCII. The count if there is
  /// none. Examines eight bytes at a time.
  @inline(__always)
  func endOfPlainText(from start: Int) -> Int {
    endOfPlainText(from: start, atMost: byteCount - start)
  }

  /// Same as `endOfPlainText(from:)`, in the `most` bytes from `start` on, which must exist.
  @inline(__always)
  func endOfPlainText(from start: Int, atMost most: Int) -> Int {
    let end = start &+ most
    let ones: UInt64 = 0x0101_0101_0101_0101
    var offset = start
    while offset &+ 8 <= end {
      let word = UInt64(
        littleEndian: unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
      // In each difference the topmost bit of a byte is set if the byte matches. A borrow can set
      // it wrongly only above such a byte, so the lowest set bit is right.
      let belowSpace = word &- (ones &* 0x20)
      let quote = (word ^ (ones &* 0x22)) &- ones
      let backslash = (word ^ (ones &* 0x5C)) &- ones
      let special = (word | belowSpace | quote | backslash) & (ones &* 0x80)
      if special != 0 { return offset &+ special.trailingZeroBitCount >> 3 }
      offset &+= 8
    }
    while offset < end {
      switch unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self) {
      case .quote, .backslash, 0x00...0x1F, 0x80...0xFF: return offset
      default: offset &+= 1
      }
    }
    return offset
  }
}

extension JSONScanner {
  /// Reads the next number, with its text as written.
  package mutating func number() throws(JSONFault) -> JSONNumber {
    let token = try numberToken()
    return JSONNumber(checked: text(of: token))
  }

  /// Reads the next number. Returns its value if it is whole and fits, in any spelling (`1e3` is
  /// 1000); nil for another number.
  package mutating func int64() throws(JSONFault) -> Int64? {
    let token = try numberToken()
    // Eighteen digits and a sign always fit.
    guard token.isPlain, token.range.count <= 18 else {
      return JSONNumber(checked: text(of: token)).int64
    }
    let isNegative = byte(token.range.lowerBound) == .minus
    var value: Int64 = 0
    for offset in token.range.lowerBound + (isNegative ? 1 : 0)..<token.range.upperBound {
      value = value &* 10 &+ Int64(byte(offset) &- .zero)
    }
    return isNegative ? 0 - value : value
  }

  private func text(of token: NumberToken) -> String {
    bytes.extracting(token.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Position of a number; `isPlain` is true if it is written without fraction and exponent.
  struct NumberToken {
    var range: Range<Int>
    var isPlain: Bool
  }

  private mutating func numberToken() throws(JSONFault) -> NumberToken {
    switch try peek() {
    case .minus, .zero ... .nine: break
    default: throw fault(.expected(.number))
    }
    let token = try scanNumber()
    markValueRead()
    return token
  }

  /// Skips a number that begins at the position (RFC 8259 section 6).
  mutating func scanNumber() throws(JSONFault) -> NumberToken {
    let start = position
    if byte(position) == .minus { position += 1 }
    if position < count, byte(position) == .zero {
      position += 1
      // Without this check, a digit after a leading zero would be reported as a missing byte.
      if position < count, isDigit(byte(position)) { throw JSONFault(.badNumber, at: start) }
    } else {
      try scanDigits(of: start)
    }
    var isPlain = true
    if position < count, byte(position) == .dot {
      isPlain = false
      position += 1
      try scanDigits(of: start)
    }
    if position < count, byte(position) | 0x20 == .letterE {
      isPlain = false
      position += 1
      if position < count, byte(position) == .plus || byte(position) == .minus { position += 1 }
      try scanDigits(of: start)
    }
    return NumberToken(range: start..<position, isPlain: isPlain)
  }

  private mutating func scanDigits(of start: Int) throws(JSONFault) {
    let first = position
    while position < count, isDigit(byte(position)) { position += 1 }
    if position == first {
      throw position == count
        ? JSONFault(.unexpectedEnd, at: count) : JSONFault(.badNumber, at: start)
    }
  }

  @inline(__always)
  private func isDigit(_ byte: UInt8) -> Bool { byte &- .zero <= 9 }
}

extension JSONScanner {
  /// Checks the whole next value, of any depth, and returns its range of bytes, without the white
  /// space around it.
  ///
  /// The depth is counted from the value itself: a record's `fields` may be as deep in an answer,
  /// which wraps them more often, as in the save.
  @discardableResult
  package mutating func skipValue() throws(JSONFault) -> Range<Int> {
    var levels = Levels()
    return try skipValue(&levels)
  }

  /// Same as `skipValue`; also checks that no object in the value repeats a name. Readers of such
  /// an object would disagree about its value (RFC 8259 section 4).
  package mutating func skipValueWithUniqueNames() throws(JSONFault) -> Range<Int> {
    var levels = Levels()
    levels.filter = NameFilter()
    let range = try skipValue(&levels)
    if levels.filter?.mayRepeat == true {
      var scanner = JSONScanner(bytes)
      scanner.position = range.lowerBound
      try scanner.checkNames()
    }
    return range
  }

  private mutating func skipValue(_ levels: inout Levels) throws(JSONFault) -> Range<Int> {
    skipWhiteSpace()
    let start = position
    while true {
      if try skipValueStart(&levels) { continue }
      // A value has ended: leave the objects and arrays that end with it, and find the next value.
      if try skipBetween(&levels) { break }
    }
    markValueRead()
    return start..<position
  }

  /// Objects and arrays around a value, one bit each: 1 for an object. `depthMax` is 64.
  private struct Levels {
    var kinds: UInt64 = 0
    var count = 0
    /// nil if names may be repeated.
    var filter: NameFilter?

    var innermostIsObject: Bool { kinds & 1 == 1 }

    mutating func enter(object: Bool) {
      kinds = kinds << 1 | (object ? 1 : 0)
      count += 1
      if object { filter?.enterObject() }
    }

    mutating func leave() {
      if innermostIsObject { filter?.leaveObject() }
      kinds >>= 1
      count -= 1
    }
  }

  /// Skips the name of a member.
  @inline(__always)
  private mutating func skipName(_ levels: inout Levels) throws(JSONFault) {
    let name = try name()
    if levels.filter == nil { return }
    levels.filter?.add(name.hasEscapes ? nil : hash(of: name.range))
  }

  /// Hash of a name of 0 to 15 bytes, or of the first and last eight bytes of a longer one.
  private func hash(of name: Range<Int>) -> UInt64 {
    let words: (UInt64, UInt64)
    if name.count > JSONKey.bytesMax {
      words = (word(name.lowerBound), word(name.upperBound - 8))
    } else if name.lowerBound + 16 <= count {
      let key = JSONKey(
        low: word(name.lowerBound), high: word(name.lowerBound + 8), count: name.count)
      words = (key.low, key.high)
    } else {
      let key = JSONKey(copy(name))
      words = (key.low, key.high)
    }
    return (words.0 ^ words.1 &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
  }

  /// Skips a single value, or the opening of an object or array; true if another value begins
  /// within it.
  @inline(__always)
  private mutating func skipValueStart(_ levels: inout Levels) throws(JSONFault) -> Bool {
    let first = try peek()
    switch first {
    case .quote: _ = try scanString()
    case .minus, .zero ... .nine: _ = try scanNumber()
    case .openBrace, .openBracket:
      guard levels.count < JSONScanner.depthMax else { throw fault(.tooDeep) }
      position += 1
      let isObject = first == .openBrace
      if try peek() == (isObject ? .closeBrace : .closeBracket) {
        position += 1
        return false
      }
      levels.enter(object: isObject)
      if isObject { try skipName(&levels) }
      return true
    case .letterT: try literal("true")
    case .letterF: try literal("false")
    case .letterN: try literal("null")
    default: throw fault(.expected(.value))
    }
    return false
  }

  /// Skips the bytes between a value and the next one: closing brackets, a comma, a name. True if
  /// the outermost value has ended.
  @inline(__always)
  private mutating func skipBetween(_ levels: inout Levels) throws(JSONFault) -> Bool {
    while levels.count > 0 {
      let isObject = levels.innermostIsObject
      let next = try peek()
      if next == .comma {
        position += 1
        if isObject { try skipName(&levels) }
        return false
      }
      guard next == (isObject ? .closeBrace : .closeBracket) else {
        throw fault(.expected(isObject ? .commaOrBrace : .commaOrBracket))
      }
      position += 1
      levels.leave()
    }
    return true
  }
}

/// A member's name as two words, so that known names are compared without a string.
///
/// Names of up to 15 bytes are distinguished by their bytes and length. Every longer name is
/// `.long`, which equals no short one. No name of the protocol is longer.
package struct JSONKey: Hashable, Sendable {
  /// The first eight bytes; the first byte is the lowest.
  package let low: UInt64
  /// Up to seven further bytes, and the length in the topmost one.
  package let high: UInt64

  static let bytesMax = 15

  static var long: JSONKey { JSONKey(low: 0, high: 0xFF << 56) }

  /// Makes a key from the first 16 bytes at the name's start, which may include bytes after the
  /// name, and the name's length.
  init(low: UInt64, high: UInt64, count: Int) {
    if count < 8 {
      self.low = low & (1 << UInt64(count * 8) &- 1)
      self.high = UInt64(count) << 56
    } else {
      self.low = low
      self.high = high & (1 << UInt64((count - 8) * 8) &- 1) | UInt64(count) << 56
    }
  }

  private init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package init(_ name: some Collection<UInt8>) {
    guard name.count <= JSONKey.bytesMax else {
      self = .long
      return
    }
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in name.enumerated() {
      if index < 8 {
        words.0 |= UInt64(byte) << UInt64(index * 8)
      } else {
        words.1 |= UInt64(byte) << UInt64((index - 8) * 8)
      }
    }
    self.init(low: words.0, high: words.1, count: name.count)
  }
}

/// Fault in bytes that are not the expected JSON (RFC 8259), with its position.
@usableFromInline
package struct JSONFault: Error, Hashable, Sendable {
  /// Number of bytes before the fault.
  @usableFromInline package var offset: Int
  @usableFromInline package var reason: Reason

  @usableFromInline
  package enum Reason: Hashable, Sendable {
    case unexpectedEnd
    /// A byte that is not allowed here; the expectation describes the allowed ones.
    case expected(Expectation)
    /// A control character without an escape in a string.
    case bareControlCharacter
    case badEscape
    /// Half of a surrogate pair, which is no character.
    case loneSurrogate
    case badUTF8
    case badNumber
    case tooDeep
    case duplicateName
    case trailingBytes
  }

  @usableFromInline
  package enum Expectation: String, Hashable, Sendable {
    case value = "a value"
    case object = "an object"
    case array = "an array"
    case string = "a string"
    case number = "a number"
    case bool = "true or false"
    case null = "null"
    case name = "a member's name in double quotes"
    case colon = "a colon"
    case commaOrBrace = "a comma or a closing brace"
    case commaOrBracket = "a comma or a closing bracket"
  }

  package init(_ reason: Reason, at offset: Int) {
    self.offset = offset
    self.reason = reason
  }
}

extension JSONFault: CustomStringConvertible {
  /// One sentence for the person who wrote the bytes.
  @usableFromInline
  package var description: String {
    "\(reason.sentence) (byte \(offset))"
  }
}

extension JSONFault.Reason {
  fileprivate var sentence: String {
    switch self {
    case .unexpectedEnd: "the JSON ends before it is complete"
    case .expected(let expectation): "\(expectation.rawValue) is expected here"
    case .bareControlCharacter:
      "a control character in a string must be written as an escape, such as \\n or \\u0001"
    case .badEscape:
      "a backslash must be followed by one of \" \\ / b f n r t, or u with four hexadecimal digits"
    case .loneSurrogate:
      "\\ud800 to \\udfff must form a pair, a high one before a low one"
    case .badUTF8: "the bytes are not valid UTF-8"
    case .badNumber:
      "a number is written as in -12.5e3, with no leading zero, plus sign or empty part"
    case .tooDeep: "arrays and objects are nested more than \(JSONScanner.depthMax) deep"
    case .duplicateName: "the object has another member of the same name"
    case .trailingBytes: "nothing may follow the JSON value"
    }
  }
}
