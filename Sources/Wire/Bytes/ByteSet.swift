/// Set of ASCII bytes, as in the grammars of HTTP.
struct ByteSet: Sendable {
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  init(_ members: StaticString) {
    for byte in UnsafeBufferPointer(start: members.utf8Start, count: members.utf8CodeUnitCount) {
      insert(byte)
    }
  }

  /// Never contains a byte above 127.
  func contains(_ byte: UInt8) -> Bool {
    let word = byte < 64 ? low : high
    return byte < 128 && word >> UInt64(byte & 63) & 1 == 1
  }

  private mutating func insert(_ byte: UInt8) {
    if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
  }

  /// Bytes of a method or a field name (RFC 9110 section 5.6.2, "tchar").
  static let token = ByteSet(
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  /// Bytes that need no escape in any part of a URI (RFC 3986 section 2.3, "unreserved").
  static let unreserved = ByteSet(
    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  /// Bytes of a path or query: RFC 3986's characters, and those that browsers do not escape in a
  /// query.
  static let target = ByteSet(
    """
    /?:@!$&'()*+,;=%-._~[]{}|^`0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz
    """)
  /// Bytes of a host name, apart from escapes (RFC 3986 section 3.2.2, "reg-name").
  static let registeredName = ByteSet(
    "!$&'()*+,;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
}

extension Span where Element == UInt8 {
  /// True if all bytes may be in a field value.
  var isFieldContent: Bool {
    var index = 0
    // Eight bytes at a time: only those with a control character among them are tested one by one.
    while index + 8 <= count {
      let eight = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
      let each: UInt64 = 0x0101_0101_0101_0101
      let deleted = eight ^ (each &* 0x7F)
      let isBelowSpace = (eight &- (each &* 0x20)) & ~eight
      let isDeleted = (deleted &- each) & ~deleted
      if (isBelowSpace | isDeleted) & (each << 7) != 0 {
        for offset in index..<index + 8 where !self[offset].isFieldContent { return false }
      }
      index += 8
    }
    while index < count {
      guard self[index].isFieldContent else { return false }
      index += 1
    }
    return true
  }
}

extension UInt8 {
  /// True for bytes of a field value: visible characters, bytes above 127, space and tab (RFC 9110
  /// section 5.5).
  var isFieldContent: Bool { (self >= 0x20 && self != 0x7F) || self == UInt8(ascii: "\t") }
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
  /// ASCII letters in lower case, other bytes unchanged.
  var lowercased: UInt8 {
    self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
  }
}
