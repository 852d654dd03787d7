private import COpenSSL

/// SHA-256 (FIPS 180-4): of bytes at once, or incremental.
///
/// An incremental hash belongs to one owner: it accepts bytes until `finish`, and none after that.
package final class SHA256 {
  /// Fetched once: OpenSSL looks it up by name under a lock, at many times the cost of a short
  /// hash. It is never changed, so all threads may use it.
  private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

  private let context: OpaquePointer
  private var isFinished = false

  package init() {
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, SHA256.algorithm, nil) == 1
    else {
      preconditionFailure("SHA-256 cannot begin")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package func update(_ bytes: RawSpan) {
    precondition(!isFinished, "bytes came after the hash was made")
    let taken = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
    precondition(taken == 1, "SHA-256 failed")
  }

  package func update(_ bytes: [UInt8]) { update(bytes.span.bytes) }

  /// Returns the 32 bytes of the hash of all bytes so far, in order.
  package func finish() -> [UInt8] {
    precondition(!isFinished, "a hash is made once")
    isFinished = true
    return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
      let made = EVP_DigestFinal_ex(context, digest.baseAddress, nil)
      precondition(made == 1, "SHA-256 failed")
      count = 32
    }
  }

  /// Returns the 32 bytes of the hash.
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(bytes[...]) }

  package static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
      let made = bytes.withUnsafeBytes {
        EVP_Digest($0.baseAddress, $0.count, digest.baseAddress, nil, algorithm, nil)
      }
      precondition(made == 1, "SHA-256 failed")
      count = 32
    }
  }
}
