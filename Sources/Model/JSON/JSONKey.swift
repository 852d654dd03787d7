/// A member's name as two words, so that known names are compared without a string.
///
/// Names of up to 15 bytes are distinguished by their bytes and length. Every longer name is
/// `.long`, which equals no short one. No name of the protocol is longer.
package struct JSONKey: Hashable, Sendable {
  /// The first eight bytes; the first byte is the lowest.
  package let low: UInt64
  /// Up to seven further bytes, and the length in the topmost one.
  package let high: UInt64

  static let bytesMax = 15

  static var long: JSONKey { JSONKey(low: 0, high: 0xFF << 56) }

  /// Makes a key from the first 16 bytes at the name's start, which may include bytes after the
  /// name, and the name's length.
  init(low: UInt64, high: UInt64, count: Int) {
    if count < 8 {
      self.low = low & (1 << UInt64(count * 8) &- 1)
      self.high = UInt64(count) << 56
    } else {
      self.low = low
      self.high = high & (1 << UInt64((count - 8) * 8) &- 1) | UInt64(count) << 56
    }
  }

  private init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package init(_ name: some Collection<UInt8>) {
    guard name.count <= JSONKey.bytesMax else {
      self = .long
      return
    }
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in name.enumerated() {
      if index < 8 {
        words.0 |= UInt64(byte) << UInt64(index * 8)
      } else {
        words.1 |= UInt64(byte) << UInt64((index - 8) * 8)
      }
    }
    self.init(low: words.0, high: words.1, count: name.count)
  }
}
