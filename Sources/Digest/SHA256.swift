private import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
  /// The 32 bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
      let end = COpenSSL.SHA256(bytes, bytes.count, digest.baseAddress)
      precondition(end != nil, "SHA-256 failed")
      count = 32
    }
  }
}
