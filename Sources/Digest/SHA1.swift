private import COpenSSL

/// SHA-1 (FIPS 180-4), for the WebSocket handshake alone. It protects nothing.
package enum SHA1 {
  /// The 20 bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
      let end = COpenSSL.SHA1(bytes, bytes.count, digest.baseAddress)
      precondition(end != nil, "SHA-1 failed")
      count = 20
    }
  }
}
