#if canImport(COpenSSL)
  private import COpenSSL
#endif

/// Derivation of a key from text that a person can type: scrypt (RFC 7914), which makes every guess
/// cost memory.
package struct Scrypt: Hashable, Sendable {
  /// N: a power of two above 1.
  package var cost: Int
  /// r, in units of 128 bytes.
  package var blocks: Int
  /// p: the number of sequential repetitions.
  package var lanes: Int

  package init(cost: Int, blocks: Int, lanes: Int) {
    self.cost = cost
    self.blocks = blocks
    self.lanes = lanes
  }

  /// Returns a key of `count` bytes. Uses about 128 × `cost` × `blocks` bytes of memory. Returns
  /// nil if that is over `memoryBytes`, or if the parameters are not valid for scrypt.
  package func derive(
    _ secret: [UInt8], salt: [UInt8], count: Int, memoryBytes: Int
  ) -> [UInt8]? {
    guard cost > 0, blocks > 0, lanes > 0, count > 0, memoryBytes > 0 else { return nil }
    #if canImport(COpenSSL)
      return deriveWithOpenSSL(secret, salt: salt, count: count, memoryBytes: memoryBytes)
    #else
      return PortableScrypt(self)?.derive(
        secret, salt: salt, count: count, memoryBytes: memoryBytes)
    #endif
  }

  #if canImport(COpenSSL)
    private func deriveWithOpenSSL(
      _ secret: [UInt8], salt: [UInt8], count: Int, memoryBytes: Int
    ) -> [UInt8]? {
      var key = [UInt8](repeating: 0, count: count)
      let isDone = secret.withUnsafeBufferPointer { secret in
        secret.withMemoryRebound(to: CChar.self) {
          EVP_PBE_scrypt(
            $0.baseAddress, $0.count, salt, salt.count, UInt64(cost), UInt64(blocks),
            UInt64(lanes), UInt64(memoryBytes), &key, count)
        }
      }
      return isDone == 1 ? key : nil
    }
  #endif
}
