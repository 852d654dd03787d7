import LockstepJSON

/// The name of a zone, a record or a record type: 1 to 255 bytes of UTF-8 without control
/// characters (docs/protocol.md, "Terms").
///
/// Two names are equal when their bytes are equal. `String` compares by canonical equivalence,
/// which would take two different records for one.
@usableFromInline
package struct Name: Sendable {
  @usableFromInline package let text: String

  /// Returns nil if `text` is empty, longer than `Limits.nameBytes` or contains a control
  /// character.
  @usableFromInline
  package init?(_ text: String) {
    guard Name.isValid(text) else { return nil }
    self.text = text
  }

  /// Makes a name from text of the program itself. Traps if the text is not valid.
  @usableFromInline
  package init(trusted text: String) {
    precondition(Name.isValid(text), "not a valid name")
    self.text = text
  }

  @usableFromInline
  package static func isValid(_ text: String) -> Bool {
    text.withUTF8Bytes { bytes in
      guard bytes.count >= 1, bytes.count <= Limits.nameBytes else { return false }
      var previous: UInt8 = 0
      for index in bytes.indices {
        let byte = bytes[index]
        // U+0080 to U+009F, the second block of control characters, are C2 80 to C2 9F.
        if byte < 0x20 || byte == 0x7F || (previous == 0xC2 && byte < 0xA0) { return false }
        previous = byte
      }
      return true
    }
  }
}

extension JSONValue {
  /// Makes an array of the names.
  package init(_ names: [Name]) { self = .array(names.map { .string($0.text) }) }

  /// The names of an array of them; nil if the value is not one.
  package var names: [Name]? {
    guard let elements = array else { return nil }
    let names = elements.compactMap { $0.string.flatMap(Name.init) }
    return names.count == elements.count ? names : nil
  }
}

extension Name: Hashable, Comparable, CustomStringConvertible {
  @usableFromInline
  package static func == (left: Name, right: Name) -> Bool {
    if haveSameBits(left.text, right.text) { return true }
    return left.text.withUTF8Bytes(and: right.text) { left, right in
      left.count == right.count && left.bytes.commonPrefix(with: right.bytes) == left.count
    }
  }

  /// True if both values have the same bits: the same short text, or the same storage. Values with
  /// the same bits are equal, whatever the layout of `String` is. Most compared names are equal,
  /// because they are looked up in a dictionary.
  private static func haveSameBits(_ left: String, _ right: String) -> Bool {
    withUnsafeBytes(of: left) { left in
      withUnsafeBytes(of: right) { right in
        var offset = 0
        while offset + 8 <= left.count {
          let word = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
          if word != right.loadUnaligned(fromByteOffset: offset, as: UInt64.self) { return false }
          offset += 8
        }
        return offset == left.count
      }
    }
  }

  @usableFromInline
  package static func < (left: Name, right: Name) -> Bool {
    precedence(left, right) ?? (left.text.utf8.count < right.text.utf8.count)
  }

  /// True if the first differing byte is smaller on the left; nil if the shorter name is a prefix
  /// of the longer one.
  private static func precedence(_ left: Name, _ right: Name) -> Bool? {
    left.text.withUTF8Bytes(and: right.text) { left, right in
      let common = left.bytes.commonPrefix(with: right.bytes)
      guard common < left.count, common < right.count else { return nil }
      return left[common] < right[common]
    }
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    text.withUTF8Bytes { bytes in bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    // No UTF-8 text contains this byte, so adjacent names cannot run together.
    hasher.combine(UInt8(0xFF))
  }

  @usableFromInline package var description: String { text }
}
