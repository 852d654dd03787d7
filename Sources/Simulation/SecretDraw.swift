import LockstepModel

/// Deterministic source of secrets for a simulation. For use by one thread.
package final class SecretDraw: @unchecked Sendable {
  private var random: SeededRandom

  package init(_ random: SeededRandom) { self.random = random }

  package func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }
}
