/// Small random generator (xoshiro256**, Blackman and Vigna 2018) whose whole sequence follows from
/// its seed, so that a simulation can be repeated.
///
/// Each node is given one. The real program seeds it from the kernel; see `EventLoop/Entropy`.
/// Secrets (tokens, pairing codes) are never drawn from it in the real program: they come from
/// `SecretSource`.
@usableFromInline
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: (UInt64, UInt64, UInt64, UInt64)

  @usableFromInline
  package init(seed: UInt64) {
    // SplitMix64 spreads one word over the four, as the authors advise.
    var word = seed
    func next() -> UInt64 {
      word &+= 0x9E37_79B9_7F4A_7C15
      var mixed = word
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
    state = (next(), next(), next(), next())
  }

  @usableFromInline
  package mutating func next() -> UInt64 {
    func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
      (value << count) | (value >> (64 - count))
    }
    let result = rotated(state.1 &* 5, 7) &* 9
    let shifted = state.1 << 17
    state.2 ^= state.0
    state.3 ^= state.1
    state.1 ^= state.2
    state.0 ^= state.3
    state.2 ^= shifted
    state.3 = rotated(state.3, 45)
    return result
  }

  /// Returns a separate generator for a component, so that its draws do not change those of other
  /// components.
  @usableFromInline package mutating func branch() -> SeededRandom { SeededRandom(seed: next()) }
}

/// Source of a node's unpredictable bits. The real program asks the kernel; a simulation draws them
/// from its seed.
@usableFromInline
package struct SecretSource: Sendable {
  private let draw: @Sendable (_ count: Int) -> [UInt8]

  @usableFromInline
  package init(_ draw: @escaping @Sendable (_ count: Int) -> [UInt8]) { self.draw = draw }

  @usableFromInline package func bytes(_ count: Int) -> [UInt8] { draw(count) }

  @usableFromInline package func word() -> UInt64 { draw(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
