private import COpenSSL

/// Message authentication codes: HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
  /// Returns the 32 bytes of the code of `bytes`, which cannot be made without the key.
  package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { code, count in
      let end = HMAC(
        EVP_sha256(), key, Int32(key.count), bytes, bytes.count, code.baseAddress, nil)
      precondition(end != nil, "HMAC-SHA-256 failed")
      count = 32
    }
  }
}
