/// Many keys from one secret that is as good as a key: HKDF with SHA-256 (RFC 5869). What a person
/// types is no such secret; that is for `Scrypt`.
package enum HKDF {
  /// `count`: bytes wanted, at most 8,160. `info` says what they are for: other words, other bytes.
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
