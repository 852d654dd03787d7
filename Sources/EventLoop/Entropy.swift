public import LockstepModel

/// Bits that nobody may guess, from the kernel.
public enum Entropy {
  public static var secrets: SecretSource {
    SecretSource { count in
      [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        Syscall.getrandom(UnsafeMutableRawBufferPointer(buffer))
        initializedCount = count
      }
    }
  }

  /// A generator that nobody else has the seed of: for jitter, batch ids and the like.
  public static func seededRandom() -> SeededRandom { SeededRandom(seed: secrets.word()) }
}
