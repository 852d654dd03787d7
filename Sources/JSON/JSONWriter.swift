/// Writes JSON into one array of bytes, without white space, and adds the commas itself.
///
///     var writer = JSONWriter(capacity: 128)
///     writer.beginObject()
///     writer.member("tag")
///     writer.integer(7)
///     writer.endObject()
///     let bytes = writer.finish()
package struct JSONWriter: ~Copyable {
  private var bytes: OutputBytes
  /// True behind a value: a comma comes before the next one, or before its name.
  private var follows = false

  /// `headroom`: bytes that may be prepended to those of `output()`.
  package init(capacity: Int, headroom: Int = 0) {
    bytes = OutputBytes(capacity: capacity, headroom: headroom)
  }

  /// Number of bytes so far.
  package var count: Int { bytes.count }

  package consuming func finish() -> [UInt8] { bytes.finish() }

  package consuming func output() -> OutputBytes { bytes }

  package mutating func beginObject() { open(.openBrace) }

  package mutating func endObject() { close(.closeBrace) }

  package mutating func beginArray() { open(.openBracket) }

  package mutating func endArray() { close(.closeBracket) }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    follows = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    follows = true
  }

  /// Writes a member's name and the colon. `name` is one of the protocol's: plain ASCII, no
  /// escapes.
  package mutating func member(_ name: StaticString) {
    quote(
      UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), isName: true)
    follows = false
  }

  /// Same as `member`, with any name.
  package mutating func name(_ name: String) {
    string(name)
    bytes.append(.colon)
    follows = false
  }

  package mutating func string(_ text: String) {
    text.withUTF8Bytes { characters in
      guard characters.bytes.endOfPlainText(from: 0) < characters.count else {
        return characters.withUnsafeBytes { quote($0) }
      }
      separate()
      bytes.append(.quote)
      escape(characters.bytes)
      bytes.append(.quote)
    }
    follows = true
  }

  /// Writes a string whose bytes `write` appends: ASCII without characters that need an escape.
  package mutating func plain(_ write: (inout OutputBytes) -> Void) {
    separate()
    bytes.append(.quote)
    write(&bytes)
    bytes.append(.quote)
    follows = true
  }

  package mutating func integer(_ value: Int64) {
    separate()
    bytes.appendDecimal(value)
    follows = true
  }

  /// Writes the number in its canonical form.
  package mutating func number(_ value: JSONNumber) {
    separate()
    value.canonicalText.withUTF8Bytes { text in text.withUnsafeBytes { bytes.append($0) } }
    follows = true
  }

  package mutating func bool(_ value: Bool) {
    separate()
    bytes.append(value ? "true" : "false")
    follows = true
  }

  package mutating func null() {
    separate()
    bytes.append("null")
    follows = true
  }

  /// Writes a value that is already JSON.
  package mutating func raw(_ json: [UInt8]) { raw(json[...]) }

  package mutating func raw(_ json: ArraySlice<UInt8>) {
    separate()
    json.withUnsafeBytes { bytes.append($0) }
    follows = true
  }

  @inline(__always)
  private mutating func separate() {
    if follows { bytes.append(.comma) }
  }

  /// Writes plain text in quotes, with the comma before it, and a colon after a name.
  @inline(__always)
  private mutating func quote(_ text: UnsafeRawBufferPointer, isName: Bool = false) {
    let follows = follows
    bytes.append(atMost: text.count + 4) { end in
      var count = 0
      if follows {
        end[0] = .comma
        count = 1
      }
      end[count] = .quote
      if let start = text.baseAddress {
        UnsafeMutableRawPointer(end + count + 1).copyMemory(from: start, byteCount: text.count)
      }
      count += text.count + 2
      end[count - 1] = .quote
      if isName { end[count] = .colon }
      return isName ? count + 1 : count
    }
  }

  // MARK: Strings

  /// Writes the characters of a string as JSON; escapes only those that need it.
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
    characters.withUnsafeBytes { bytes.append($0) }
  }

  private mutating func appendEscape(_ byte: UInt8) {
    switch byte {
    case .quote: bytes.append("\\\"")
    case .backslash: bytes.append("\\\\")
    case 0x08: bytes.append("\\b")
    case 0x09: bytes.append("\\t")
    case 0x0A: bytes.append("\\n")
    case 0x0C: bytes.append("\\f")
    case 0x0D: bytes.append("\\r")
    default:
      bytes.append("\\u00")
      bytes.append(byte < 0x10 ? .zero : .zero + 1)
      let low = byte & 0xF
      bytes.append(low < 10 ? .zero + low : UInt8(ascii: "a") + low - 10)
    }
  }
}
