private import COpenSSL

/// A key from what a person can type: scrypt (RFC 7914), which makes every guess cost memory.
package struct Scrypt: Hashable, Sendable {
  /// N: a power of two above 1.
  package var cost: Int
  /// r, in units of 128 bytes.
  package var blocks: Int
  /// p: how often it is done, one after the other.
  package var lanes: Int

  package init(cost: Int, blocks: Int, lanes: Int) {
    self.cost = cost
    self.blocks = blocks
    self.lanes = lanes
  }

  /// About 128 × `cost` × `blocks` bytes of memory are used meanwhile. nil where that is over
  /// `memoryBytes`, or the parameters are none that scrypt knows.
  package func derive(
    _ secret: [UInt8], salt: [UInt8], count: Int, memoryBytes: Int
  ) -> [UInt8]? {
    guard cost > 0, blocks > 0, lanes > 0, count > 0, memoryBytes > 0 else { return nil }
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
}
