import LockstepModel

/// What some bytes have shown to be wrong with a reader of the wire.
package struct BrokenLaw: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Laws that hold for any bytes: what is read does not depend on how a network cuts them, what was
/// read and is written again reads the same, and no more is held than the limits allow. Fuzzing
/// looks for bytes that break one; the tests hold the corpus against them.
package enum WireLaw {
  static func expect(_ holds: Bool, _ law: @autoclosure () -> String) throws(BrokenLaw) {
    if !holds { throw BrokenLaw(law()) }
  }

  /// Whole, byte by byte, and cut in two ways that follow from the bytes themselves.
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

  /// All readings are equal to the first one, which comes back.
  static func agreed<Reading: Equatable>(
    _ bytes: [UInt8], _ read: ([[UInt8]]) throws(BrokenLaw) -> Reading
  ) throws(BrokenLaw) -> Reading {
    let cuts = cuts(of: bytes)
    let first = try read(cuts[0])
    for cut in cuts.dropFirst() {
      let other = try read(cut)
      try expect(other == first, "cut into \(cut.count) pieces it reads \(other), not \(first)")
    }
    return first
  }
}
