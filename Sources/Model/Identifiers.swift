import LockstepJSON

/// Owner of zones and records. No data is shared between accounts.
@usableFromInline
package struct AccountID: Hashable, Comparable, Sendable {
  @usableFromInline package let rawValue: UInt64
  @usableFromInline package init(rawValue: UInt64) { self.rawValue = rawValue }
  @usableFromInline
  package init?(text: String) {
    guard let value = HexText.parse(text) else { return nil }
    rawValue = value
  }
  /// Sixteen lowercase hexadecimal digits, as on the wire.
  @usableFromInline package var text: String { HexText.text(rawValue) }
  /// Appends `text` without making a string.
  package func append(to bytes: inout OutputBytes) {
    bytes.appendHexadecimal(rawValue, digits: 16)
  }
  @usableFromInline
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// One installation that is signed in to an account.
@usableFromInline
package struct DeviceID: Hashable, Comparable, Sendable {
  @usableFromInline package let rawValue: UInt64
  @usableFromInline package init(rawValue: UInt64) { self.rawValue = rawValue }
  @usableFromInline
  package init?(text: String) {
    guard let value = HexText.parse(text) else { return nil }
    rawValue = value
  }
  /// Sixteen lowercase hexadecimal digits. Their byte order is the order of the numbers.
  @usableFromInline package var text: String { HexText.text(rawValue) }
  /// Appends `text` without making a string.
  package func append(to bytes: inout OutputBytes) {
    bytes.appendHexadecimal(rawValue, digits: 16)
  }
  @usableFromInline
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Random UUID (RFC 9562) that names a batch of saves, so that a retry is recognised.
@usableFromInline
package struct BatchID: Hashable, Sendable {
  @usableFromInline package let high: UInt64
  @usableFromInline package let low: UInt64

  @usableFromInline
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Makes a version 4 UUID of 122 random bits.
  @usableFromInline
  package init(random: inout some RandomNumberGenerator) {
    self.init(randomHigh: random.next(), randomLow: random.next())
  }

  /// Makes a version 4 UUID of 122 of these random bits.
  package init(randomHigh high: UInt64, randomLow low: UInt64) {
    self.high = (high & ~0xF000) | 0x4000
    self.low = (low & ~(0b11 << 62)) | (0b10 << 62)
  }

  /// Returns nil if `text` does not have the form 8-4-4-4-12 hexadecimal digits.
  @usableFromInline
  package init?(text: String) {
    guard let bits = text.withUTF8Bytes({ Self(parsing: $0.bytes) }) else { return nil }
    self = bits
  }

  fileprivate init?(parsing bytes: RawSpan) {
    guard bytes.byteCount == 36 else { return nil }
    var words: (high: UInt64, low: UInt64) = (0, 0)
    for index in 0..<36 {
      let byte = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      if index == 8 || index == 13 || index == 18 || index == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      guard let digit = HexText.digit(byte) else { return nil }
      words = (words.high << 4 | words.low >> 60, words.low << 4 | UInt64(digit))
    }
    (high, low) = words
  }

  @usableFromInline
  package var text: String {
    var bytes = OutputBytes(capacity: 36)
    append(to: &bytes)
    return bytes.finishText()
  }

  /// Appends `text` without making a string.
  package func append(to bytes: inout OutputBytes) {
    bytes.appendHexadecimal(high >> 32, digits: 8)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHexadecimal(high >> 16, digits: 4)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHexadecimal(high, digits: 4)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHexadecimal(low >> 48, digits: 4)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHexadecimal(low, digits: 12)
  }
}

extension JSONScanner {
  /// Reads a string that is a UUID, without making text of it; nil for another string.
  package mutating func batchID() throws(JSONFault) -> BatchID? {
    let text = try text()
    if text.hasEscapes { return BatchID(text: try string(text)) }
    return BatchID(parsing: bytes.extracting(text.range))
  }
}

/// Hexadecimal text in lowercase: sixteen digits for 64 bits, two digits for a byte.
package enum HexText {
  private static let digits = Array("0123456789abcdef".utf8)

  package static func text(_ value: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { buffer in
      for index in 0..<16 {
        buffer[index] = digits[Int((value >> UInt64(60 - 4 * index)) & 0xF)]
      }
      return 16
    }
  }

  package static func parse(_ text: String) -> UInt64? {
    text.withUTF8Bytes { parse($0.bytes) }
  }

  package static func parse(_ text: ArraySlice<UInt8>) -> UInt64? { parse(text.span.bytes) }

  /// Returns nil if `digits` are not 16 hexadecimal digits.
  private static func parse(_ digits: RawSpan) -> UInt64? {
    digits.byteCount == 16 ? word(digits, at: 0) : nil
  }

  /// Returns the value of the 16 ASCII digits from `start` on; nil if one of them is not
  /// hexadecimal. The caller must ensure that there are 16 bytes.
  static func word(_ digits: RawSpan, at start: Int) -> UInt64? {
    guard let high = half(digits, start), let low = half(digits, start + 8) else { return nil }
    return high << 32 | low
  }

  /// Converts eight digits at once, one per byte, without a branch: a record may name thousands of
  /// chunks, and branch prediction cannot guess which of their digits are letters.
  private static func half(_ digits: RawSpan, _ start: Int) -> UInt64? {
    let text = UInt64(bigEndian: digits.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self))
    let each: UInt64 = 0x0101_0101_0101_0101
    let top = each << 7
    // In a sum of two bytes below 0x80, the top bit is set if the sum is at least 0x80.
    let plain = text & ~top
    let lower = plain | each << 5
    let numerals = (plain + 0x50 * each) & ~(plain + 0x46 * each) & top
    let letters = (lower + 0x1F * each) & ~(lower + 0x19 * each) & top
    guard text & top == 0, numerals | letters == top else { return nil }
    var value = (text & (0x0F * each)) + 9 * (letters >> 7)
    value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    return (value | value >> 16) & 0xFFFF_FFFF
  }

  /// Returns two digits for each byte.
  package static func text(of bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      var count = 0
      for byte in bytes {
        text[count] = digits[Int(byte >> 4)]
        text[count + 1] = digits[Int(byte & 0xF)]
        count += 2
      }
      return count
    }
  }

  /// Returns nil if `text` does not consist of pairs of digits.
  package static func bytes(of text: String) -> [UInt8]? {
    let values = text.utf8.compactMap { digit($0) }
    guard values.count == text.utf8.count, values.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
  }

  package static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
