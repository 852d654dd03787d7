/// Number of one opening of a store: never used twice, and greater than all earlier ones, unless
/// the relay's clock is set back by more than the time between two openings.
///
///     42 bits                                   22 bits
///     milliseconds since the Unix epoch         random
package enum OpeningNumber {
  private static let randomBits: UInt64 = 22

  /// `wall`: milliseconds since the Unix epoch. `random`: any bits.
  package static func draw(wall: Int64, random: UInt64) -> UInt64 {
    UInt64(bitPattern: wall) << randomBits | random & ((1 << randomBits) - 1)
  }

  /// Returns the time at which the number was drawn, in milliseconds since the Unix epoch.
  package static func wall(of number: UInt64) -> Int64 { Int64(number >> randomBits) }
}
