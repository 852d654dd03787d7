private import COpenSSL

/// Derivation of several keys from one secret with the entropy of a key: HKDF with SHA-256 (RFC
/// 5869). For text that a person types use `Scrypt`.
package enum HKDF {
  /// Returns `count` bytes, at most 8,160. `info` names their purpose: another `info` gives other
  /// bytes.
  package static func derive(
    _ secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int
  ) -> [UInt8] {
    precondition((0...255 * 32).contains(count), "HKDF gives up to 255 blocks")
    let key = HMACSHA256.code(of: secret, key: salt)
    var result: [UInt8] = []
    var block: [UInt8] = []
    var number: UInt8 = 1
    while result.count < count {
      block = HMACSHA256.code(of: block + info + [number], key: key)
      result += block
      number &+= 1
    }
    return Array(result.prefix(count))
  }
}

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
