#if canImport(COpenSSL)
  private import COpenSSL

  /// SHA-256 (FIPS 180-4): of bytes at once, or incremental.
  ///
  /// An incremental hash belongs to one owner: it accepts bytes until `finish`, and none after
  /// that.
  package final class SHA256 {
    /// Fetched once: OpenSSL looks it up by name under a lock, at many times the cost of a short
    /// hash. It is never changed, so all threads may use it.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    private let context: OpaquePointer
    private var isFinished = false

    package init() {
      guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, SHA256.algorithm, nil) == 1
      else {
        preconditionFailure("SHA-256 is not available")
      }
      self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: RawSpan) {
      precondition(!isFinished, "`update` after `finish`")
      let status = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
      precondition(status == 1, "SHA-256 failed")
    }

    package func update(_ bytes: [UInt8]) { update(bytes.span.bytes) }

    /// Returns the 32 bytes of the hash of all bytes so far, in order.
    package func finish() -> [UInt8] {
      precondition(!isFinished, "`finish` may be called only once")
      isFinished = true
      return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
        let status = EVP_DigestFinal_ex(context, digest.baseAddress, nil)
        precondition(status == 1, "SHA-256 failed")
        count = 32
      }
    }

    /// Returns the 32 bytes of the hash.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(bytes[...]) }

    package static func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
        let status = bytes.withUnsafeBytes {
          openssl_sha256($0.baseAddress, $0.count, digest.baseAddress)
        }
        precondition(status == 1, "SHA-256 failed")
        count = 32
      }
    }
  }

  /// SHA-1 (FIPS 180-4), for the WebSocket handshake only. It protects nothing.
  package enum SHA1 {
    /// Returns the 20 bytes of the hash.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 20) { digest, count in
        let status = openssl_sha1(bytes, bytes.count, digest.baseAddress)
        precondition(status == 1, "SHA-1 failed")
        count = 20
      }
    }
  }

  /// Message authentication codes: HMAC with SHA-256 (RFC 2104, FIPS 198-1). Made of two hashes:
  /// for a short text, OpenSSL's own takes three times as long to look up its algorithms.
  package enum HMACSHA256 {
    private static let blockBytes = 64

    /// Returns the 32 bytes of the code of `bytes`, which cannot be made without the key.
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
      let key = key.count > blockBytes ? SHA256.hash(key) : key
      return SHA256.hash(pad(key, 0x5C) + SHA256.hash(pad(key, 0x36) + bytes))
    }

    /// Returns the key with zeros up to a block, each byte combined with `mask`.
    private static func pad(_ key: [UInt8], _ mask: UInt8) -> [UInt8] {
      key.map { $0 ^ mask } + repeatElement(mask, count: blockBytes - key.count)
    }
  }

  /// OpenSSL library that the program runs with. A release links it statically, so only the program
  /// itself can report the version.
  package enum LinkedOpenSSL {
    /// `3.0.17`.
    package static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
  }
#endif
