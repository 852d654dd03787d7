/// A set of ASCII bytes, as the grammars of HTTP name them.
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

  /// A letter of a method or a field name (RFC 9110 section 5.6.2, "tchar").
  static let token = ByteSet(
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  /// What needs no escape in any part of a URI (RFC 3986 section 2.3, "unreserved").
  static let unreserved = ByteSet(
    "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
  /// What a path or query may hold: RFC 3986's characters, and those that browsers leave as they
  /// are in a query.
  static let target = ByteSet(
    """
    /?:@!$&'()*+,;=%-._~[]{}|^`0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz
    """)
  /// What a host's name may hold beside escapes (RFC 3986 section 3.2.2, "reg-name").
  static let registeredName = ByteSet(
    "!$&'()*+,;=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
}

extension UInt8 {
  /// What a field's value may hold: visible characters, bytes above 127, space and tab (RFC 9110
  /// section 5.5).
  var isFieldContent: Bool { (self >= 0x20 && self != 0x7F) || self == UInt8(ascii: "\t") }
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
  /// ASCII letters in lower case, anything else as it is.
  var lowercased: UInt8 {
    self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
  }
}
