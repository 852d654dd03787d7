/// Base64 encoding of bytes (RFC 4648 sections 4 and 5).
package enum Base64 {
  private static let standard = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let urlSafe = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  private static let padding = UInt8(ascii: "=")

  /// Encodes with the standard alphabet, padded.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text = digits(of: bytes, in: standard)
    while text.count % 4 != 0 { text.append(padding) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Encodes with the URL-safe alphabet, not padded.
  package static func encodeURL(_ bytes: [UInt8]) -> String {
    String(decoding: digits(of: bytes, in: urlSafe), as: UTF8.self)
  }

  /// Returns the bytes of `text`, in the standard alphabet and padded; nil if it does not have that
  /// form. The unused bits of the last digit are not checked: the example in RFC 6455 section 4.1
  /// itself sets them.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 4 == 0 else { return nil }
    let paddingCount = digits.suffix(2).reversed().prefix { $0 == padding }.count
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3)
    var group: UInt32 = 0
    var bits = 0
    for digit in digits.dropLast(paddingCount) {
      guard let value = value(of: digit) else { return nil }
      group = group << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
      }
    }
    return bytes
  }

  private static func digits(of bytes: [UInt8], in alphabet: [UInt8]) -> [UInt8] {
    var digits: [UInt8] = []
    digits.reserveCapacity((bytes.count + 2) / 3 * 4)
    var group: UInt32 = 0
    var bits = 0
    for byte in bytes {
      group = group << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        digits.append(alphabet[Int(group >> UInt32(bits) & 63)])
      }
    }
    if bits > 0 { digits.append(alphabet[Int(group << UInt32(6 - bits) & 63)]) }
    return digits
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
