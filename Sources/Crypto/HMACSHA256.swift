private import COpenSSL

/// Keyed hashes: HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
  /// The 32 bytes that only who has the key can make of `bytes`.
  package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { code, count in
      let end = HMAC(
        EVP_sha256(), key, Int32(key.count), bytes, bytes.count, code.baseAddress, nil)
      precondition(end != nil, "HMAC-SHA-256 failed")
      count = 32
    }
  }
}
