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
    valueEnded()
    return text
  }

  /// Returns the value of `text`, which this scanner has checked.
  package func string(_ text: Text) throws(JSONFault) -> String {
    if text.hasEscapes { return String(decoding: try unescaped(text), as: UTF8.self) }
    return bytes.extracting(text.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads the next string as a hash; nil if it is not one.
  package mutating func chunkHash() throws(JSONFault) -> ChunkHash? {
    let text = try text()
    if text.hasEscapes { return ChunkHash(text: try string(text)) }
    return ChunkHash(digits: bytes.extracting(text.range))
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
      guard let digit = HexText.digit(byte(offset)) else { throw JSONFault(.badEscape, at: start) }
      value = value << 4 | UInt32(digit)
    }
    position = start + 6
    return value
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
    let ones: UInt64 = 0x0101_0101_0101_0101
    var offset = start
    while offset &+ 8 <= byteCount {
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
    while offset < byteCount {
      switch unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self) {
      case .quote, .backslash, 0x00...0x1F, 0x80...0xFF: return offset
      default: offset &+= 1
      }
    }
    return offset
  }
}
