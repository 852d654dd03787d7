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
