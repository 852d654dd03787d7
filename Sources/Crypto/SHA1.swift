private import COpenSSL

/// SHA-1 (FIPS 180-4), for the WebSocket handshake only. It protects nothing.
package enum SHA1 {
  /// Fetched once, as in `SHA256`.
  private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA1", nil)

  /// Returns the 20 bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
      let made = EVP_Digest(bytes, bytes.count, digest.baseAddress, nil, algorithm, nil)
      precondition(made == 1, "SHA-1 failed")
      count = 20
    }
  }
}
