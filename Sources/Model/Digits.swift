/// Appends numbers as ASCII digits without making a string: a string of more than fifteen bytes
/// costs an allocation.
extension [UInt8] {
  package mutating func appendDecimal(_ value: Int64) {
    // A sign and nineteen digits.
    var digits = InlineArray<20, UInt8>(repeating: UInt8(ascii: "0"))
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
    append(digits.span.extracting(start...))
  }

  /// Appends lowercase digits without leading zeros.
  package mutating func appendHexadecimal(_ value: UInt32) {
    appendHexadecimal(UInt64(value), digits: Swift.max(1, (35 - value.leadingZeroBitCount) / 4))
  }

  /// Appends the last `count` digits, at most sixteen, in lowercase.
  package mutating func appendHexadecimal(_ value: UInt64, digits count: Int) {
    var digits = InlineArray<16, UInt8>(repeating: UInt8(ascii: "0"))
    var rest = value
    for index in (0..<count).reversed() {
      let digit = UInt8(truncatingIfNeeded: rest & 0xF)
      digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
      rest >>= 4
    }
    append(digits.span.extracting(..<count))
  }

  private mutating func append(_ digits: Span<UInt8>) {
    digits.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}
