/// Writes JSON into one array of bytes, without white space, and adds the commas itself. The last
/// byte alone shows if a comma is due: only an opening bracket or a name leaves `{`, `[` or `:` at
/// the end.
///
///     var writer = JSONWriter(capacity: 128)
///     writer.beginObject()
///     writer.member("tag")
///     writer.integer(7)
///     writer.endObject()
///     let bytes = writer.finish()
package struct JSONWriter: ~Copyable {
  private var bytes: [UInt8] = []

  package init(capacity: Int) { bytes.reserveCapacity(capacity) }

  package consuming func finish() -> [UInt8] { bytes }

  package mutating func beginObject() {
    separate()
    bytes.append(.openBrace)
  }

  package mutating func endObject() { bytes.append(.closeBrace) }

  package mutating func beginArray() {
    separate()
    bytes.append(.openBracket)
  }

  package mutating func endArray() { bytes.append(.closeBracket) }

  /// Writes a member's name and the colon. `name` is one of the protocol's: plain ASCII, no
  /// escapes.
  package mutating func member(_ name: StaticString) {
    separate()
    bytes.append(.quote)
    append(name)
    bytes.append(.quote)
    bytes.append(.colon)
  }

  /// Same as `member`, with any name.
  package mutating func name(_ name: String) {
    string(name)
    bytes.append(.colon)
  }

  package mutating func string(_ text: String) {
    separate()
    bytes.append(.quote)
    escape(text)
    bytes.append(.quote)
  }

  /// Writes a string whose bytes `append` adds: ASCII without characters that need an escape.
  package mutating func plain(_ append: (inout [UInt8]) -> Void) {
    separate()
    bytes.append(.quote)
    append(&bytes)
    bytes.append(.quote)
  }

  package mutating func integer(_ value: Int64) {
    separate()
    bytes.appendDecimal(value)
  }

  /// Writes the number in its canonical form.
  package mutating func number(_ value: JSONNumber) {
    separate()
    bytes.append(contentsOf: value.canonicalText.utf8)
  }

  package mutating func bool(_ value: Bool) {
    separate()
    append(value ? "true" : "false")
  }

  package mutating func null() {
    separate()
    append("null")
  }

  /// Writes a value that is already JSON.
  package mutating func raw(_ json: [UInt8]) {
    separate()
    bytes.append(contentsOf: json)
  }

  private mutating func separate() {
    switch bytes.last {
    case nil, .openBrace, .openBracket, .colon: break
    default: bytes.append(.comma)
    }
  }

  private mutating func append(_ text: StaticString) {
    bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  // MARK: Strings

  /// Writes the characters of a string as JSON; escapes only those that need it.
  private mutating func escape(_ text: String) {
    text.withUTF8Bytes { escape($0.bytes) }
  }

  private mutating func escape(_ characters: RawSpan) {
    var plainStart = 0
    var offset = 0
    while true {
      offset = characters.endOfPlainText(from: offset)
      guard offset < characters.byteCount else { break }
      let byte = characters.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte < 0x80 {
        append(characters.extracting(plainStart..<offset))
        appendEscape(byte)
        plainStart = offset + 1
      }
      offset += 1
    }
    append(characters.extracting(plainStart..<offset))
  }

  private mutating func append(_ characters: RawSpan) {
    characters.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  private mutating func appendEscape(_ byte: UInt8) {
    switch byte {
    case .quote: append("\\\"")
    case .backslash: append("\\\\")
    case 0x08: append("\\b")
    case 0x09: append("\\t")
    case 0x0A: append("\\n")
    case 0x0C: append("\\f")
    case 0x0D: append("\\r")
    default:
      append("\\u00")
      bytes.append(byte < 0x10 ? .zero : .zero + 1)
      let low = byte & 0xF
      bytes.append(low < 10 ? .zero + low : UInt8(ascii: "a") + low - 10)
    }
  }
}

/// Appends numbers as ASCII digits without making a string: a string of more than fifteen bytes
/// costs an allocation.
extension [UInt8] {
  package mutating func appendDecimal(_ value: Int64) {
    // A sign and nineteen digits.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = digits.count
      var rest = value.magnitude
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      if value < 0 {
        start -= 1
        digits[start] = UInt8(ascii: "-")
      }
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Appends lowercase digits without leading zeros.
  package mutating func appendHexadecimal(_ value: UInt32) {
    appendHexadecimal(UInt64(value), digits: Swift.max(1, (35 - value.leadingZeroBitCount) / 4))
  }

  /// Appends the last `count` digits, at most sixteen, in lowercase.
  package mutating func appendHexadecimal(_ value: UInt64, digits count: Int) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16) { digits in
      var rest = value
      for index in (0..<count).reversed() {
        let digit = UInt8(truncatingIfNeeded: rest & 0xF)
        digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
        rest >>= 4
      }
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[..<count]))
    }
  }
}
