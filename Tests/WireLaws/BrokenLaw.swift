import LockstepModel

/// Fault that some bytes have revealed in a reader of the wire.
package struct BrokenLaw: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Laws for arbitrary bytes: the result does not depend on how the network splits them, a value
/// that was read and is written again reads the same, and no more is held than the limits allow.
/// Fuzzing searches for bytes that break one; the tests check the corpus against them.
package enum WireLaw {
  static func expect(_ holds: Bool, _ law: @autoclosure () -> String) throws(BrokenLaw) {
    if !holds { throw BrokenLaw(law()) }
  }

  /// Returns the bytes whole, byte by byte, and in two random splits whose seed is derived from the
  /// bytes.
  static func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    var random = SeededRandom(
      seed: bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    return [
      [bytes], bytes.map { [$0] }, cut(bytes, atMost: 8, &random),
      cut(bytes, atMost: max(1, bytes.count), &random),
    ]
  }

  private static func cut(
    _ bytes: [UInt8], atMost most: Int, _ random: inout SeededRandom
  ) -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Int.random(in: 1...min(most, rest.count), using: &random)
      chunks.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return chunks
  }

  /// Returns the first reading, and throws unless all readings are equal to it.
  static func agreed<Reading: Equatable>(
    _ bytes: [UInt8], _ read: ([[UInt8]]) throws(BrokenLaw) -> Reading
  ) throws(BrokenLaw) -> Reading {
    let cuts = cuts(of: bytes)
    let first = try read(cuts[0])
    for cut in cuts.dropFirst() {
      let other = try read(cut)
      try expect(other == first, "cut into \(cut.count) chunks it reads \(other), not \(first)")
    }
    return first
  }
}
