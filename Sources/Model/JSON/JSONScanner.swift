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
  let bytes: RawSpan
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
    guard depth < Limits.jsonDepth else { throw fault(.tooDeep) }
    depth += 1
    position += 1
    follows = false
  }

  /// Returns the name of the object's next member, whose value must be read or skipped next; nil at
  /// the end of the object, which is then left.
  package mutating func nextMember() throws(JSONFault) -> JSONKey? {
    guard let name = try nextName() else { return nil }
    return try key(name)
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
  mutating func valueEnded() { follows = true }

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
