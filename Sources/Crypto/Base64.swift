/// Base64 encoding of bytes (RFC 4648 sections 4 and 5).
package enum Base64 {
  private static let padding = UInt8(ascii: "=")

  /// Encodes with the standard alphabet, padded.
  package static func encode(_ bytes: [UInt8]) -> String {
    text(
      of: bytes, in: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
      isPadded: true)
  }

  /// Encodes with the URL-safe alphabet, not padded.
  package static func encodeURL(_ bytes: [UInt8]) -> String {
    text(
      of: bytes, in: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
      isPadded: false)
  }

  /// Returns the bytes of `text`, in the standard alphabet and padded; nil if it does not have that
  /// form. The unused bits of the last digit are not checked: the example in RFC 6455 section 4.1
  /// itself sets them.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)[...]
    guard let count = decodedCount(digits.span) else { return nil }
    return bytes(of: digits, count: count) { value(of: $0) }
  }

  /// Returns the bytes of `text`, in the URL-safe alphabet and not padded; nil if it does not have
  /// that form, or if an unused bit of the last digit is set: bytes have only one text.
  package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    let values = urlValues
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count * 6 / 8)
    var group: UInt32 = 0
    var bits: UInt32 = 0
    for digit in digits {
      let value = values[Int(digit)]
      guard value < 64 else { return nil }
      group = group << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> bits))
      }
    }
    // What is left is less than a digit, and zero.
    return bits < 6 && group & (1 << bits - 1) == 0 ? bytes : nil
  }

  /// Values of all bytes as digits of the URL-safe alphabet; 64 for those that are none.
  private static let urlValues = (UInt8.min...UInt8.max).map { digit -> UInt8 in
    switch digit {
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    case UInt8(ascii: "+"), UInt8(ascii: "/"): 64
    default: value(of: digit).map { UInt8(truncatingIfNeeded: $0) } ?? 64
    }
  }

  /// Returns the bytes of the digits, up to the first character that is none. `count`: their
  /// number.
  private static func bytes(
    of digits: ArraySlice<UInt8>, count: Int, _ value: (UInt8) -> UInt32?
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var group: UInt32 = 0
    var bits = 0
    for digit in digits {
      guard let value = value(digit) else { break }
      group = group << 6 | value
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: group >> UInt32(bits)))
      }
    }
    return bytes
  }

  /// Returns the number of bytes that `decode` makes of these characters; nil if they do not have
  /// the form that it accepts.
  package static func decodedCount(_ digits: Span<UInt8>) -> Int? {
    guard digits.count % 4 == 0 else { return nil }
    var end = digits.count
    while end > digits.count - 2, end > 0, digits[end - 1] == padding { end -= 1 }
    for index in 0..<end where value(of: digits[index]) == nil { return nil }
    return end * 6 / 8
  }

  private static func text(
    of bytes: [UInt8], in alphabet: StaticString, isPadded: Bool
  ) -> String {
    let digits = alphabet.utf8Start
    return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
      var count = 0
      var group: UInt32 = 0
      var bits: UInt32 = 0
      for byte in bytes {
        group = group << 8 | UInt32(byte)
        bits += 8
        while bits >= 6 {
          bits -= 6
          text[count] = digits[Int(group >> bits & 63)]
          count += 1
        }
      }
      if bits > 0 {
        text[count] = digits[Int(group << (6 - bits) & 63)]
        count += 1
      }
      while isPadded, count % 4 != 0 {
        text[count] = padding
        count += 1
      }
      return count
    }
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
