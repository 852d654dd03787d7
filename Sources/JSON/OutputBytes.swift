/// Bytes that are written front to back, into memory that is reserved once if the capacity is
/// right. A write costs one comparison with the capacity.
package struct OutputBytes: ~Copyable {
  private var base: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private var start: Int
  private var end: Int

  /// `headroom`: bytes that may be prepended, as a header that depends on what follows it.
  package init(capacity: Int, headroom: Int = 0) {
    self.capacity = max(16, capacity) + headroom
    base = .allocate(capacity: self.capacity)
    start = headroom
    end = headroom
  }

  deinit { base.deallocate() }

  package var count: Int { end - start }

  private var written: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: base + start, count: count)
  }

  package consuming func finish() -> [UInt8] {
    Array(written)
  }

  /// Returns the bytes as text. They are UTF-8.
  package consuming func finishText() -> String { String(decoding: written, as: UTF8.self) }

  /// Calls `write` with the end of the bytes, behind which there is space for `most` more. It
  /// returns how many it has written.
  @inline(__always)
  mutating func append(atMost most: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) {
    if capacity - end < most { grow(by: most) }
    end += write(base + end)
  }

  @inline(never)
  private mutating func grow(by most: Int) {
    capacity = max(capacity * 2, end + most)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    (larger + start).initialize(from: base + start, count: count)
    base.deallocate()
    base = larger
  }

  /// Puts a byte before the first one; there must be headroom for it.
  package mutating func prepend(_ byte: UInt8) {
    precondition(start > 0, "no headroom is left")
    start -= 1
    base[start] = byte
  }

  @inline(__always)
  package mutating func append(_ byte: UInt8) {
    append(atMost: 1) {
      $0[0] = byte
      return 1
    }
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    append(atMost: bytes.count) {
      UnsafeMutableRawPointer($0).copyMemory(from: start, byteCount: bytes.count)
      return bytes.count
    }
  }

  mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  // MARK: numbers

  package mutating func appendDecimal(_ value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    var rest = value.magnitude
    var isFirst = true
    if rest >= 10_000_000_000_000_000 {
      append(DigitWord(decimal: rest / 10_000_000_000_000_000), isFirst: true)
      rest %= 10_000_000_000_000_000
      isFirst = false
    }
    if !isFirst || rest >= 100_000_000 {
      append(DigitWord(decimal: rest / 100_000_000), isFirst: isFirst)
      rest %= 100_000_000
      isFirst = false
    }
    append(DigitWord(decimal: rest), isFirst: isFirst)
  }

  /// Appends lowercase digits without leading zeros.
  package mutating func appendHexadecimal(_ value: UInt32) {
    append(DigitWord(hexadecimal: value), isFirst: true)
  }

  /// Appends the last `count` digits, at most sixteen, in lowercase.
  package mutating func appendHexadecimal(_ value: UInt64, digits count: Int) {
    let low = DigitWord(hexadecimal: UInt32(truncatingIfNeeded: value))
    if count > 8 {
      let high = DigitWord(hexadecimal: UInt32(truncatingIfNeeded: value >> 32))
      append(high, count: count - 8)
    }
    append(low, count: min(count, 8))
  }

  /// Appends a word of digits; without its leading zeros if it is a number's first.
  @inline(__always)
  private mutating func append(_ word: DigitWord, isFirst: Bool) {
    append(word, count: isFirst ? word.countWithoutZeros : 8)
  }

  /// Appends the last `count` digits of the word.
  @inline(__always)
  private mutating func append(_ word: DigitWord, count: Int) {
    append(atMost: 8) { end in
      let digits = word.digits >> UInt64((8 - count) * 8)
      UnsafeMutableRawPointer(end).storeBytes(of: digits.littleEndian, as: UInt64.self)
      return count
    }
  }
}

/// Eight ASCII digits, the first in the lowest byte. They are computed together, in the bytes of
/// one word.
private struct DigitWord {
  let digits: UInt64
  private static let zeros: UInt64 = 0x3030_3030_3030_3030

  /// `value`: less than 100,000,000.
  @inline(__always)
  init(decimal value: UInt64) {
    // Two numbers of four digits, then four of two, then eight of one: each step divides by a
    // multiplication that is exact for numbers of this size.
    let fours = value / 10_000 | (value % 10_000) << 32
    let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
    let twos = hundreds | (fours &- hundreds &* 100) << 16
    let tens = (twos &* 103) >> 10 & 0x000F_000F_000F_000F
    digits = DigitWord.zeros | tens | (twos &- tens &* 10) << 8
  }

  /// In lowercase.
  @inline(__always)
  init(hexadecimal value: UInt32) {
    var nibbles = UInt64(value)
    nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
    nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
    nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    let lettersAfterNine = UInt64(UInt8(ascii: "a") - 10 - UInt8(ascii: "0"))
    digits = (nibbles &+ DigitWord.zeros &+ letters &* lettersAfterNine).byteSwapped
  }

  /// Number of digits without leading zeros, at least one.
  @inline(__always)
  var countWithoutZeros: Int {
    max(1, 8 - (digits ^ DigitWord.zeros).trailingZeroBitCount / 8)
  }
}
