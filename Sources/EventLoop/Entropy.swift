public import LockstepModel

/// Unpredictable random bits from the kernel.
public enum Entropy {
  public static var secrets: SecretSource {
    SecretSource { count in
      [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        Syscall.getrandom(UnsafeMutableRawBufferPointer(buffer))
        initializedCount = count
      }
    }
  }

  /// Returns a generator with a secret seed: for jitter, batch ids and the like.
  public static func seededRandom() -> SeededRandom { SeededRandom(seed: secrets.word()) }
}
