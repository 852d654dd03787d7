#if canImport(COpenSSL)
  private import COpenSSL

  /// Authenticated encryption without a nonce: AES-256-SIV (RFC 5297). The same bytes under the
  /// same key and the same associated data give the same result; nothing more is revealed.
  ///
  ///     16 bytes   the synthetic nonce, which is also the authentication tag
  ///      n bytes   as long as the plaintext
  package struct SIV: Sendable {
    /// Bytes of a key.
    package static let keyBytes = 64
    /// Bytes by which the sealed form is longer.
    package static let overhead = 16

    private let prepared: Prepared

    package init(key: [UInt8]) {
      precondition(key.count == SIV.keyBytes, "AES-256-SIV takes a key of 64 bytes")
      prepared = Prepared(key: key)
    }

    /// Context with the key in it. A copy of it costs half of making one with the key again.
    private final class Prepared: @unchecked Sendable {
      /// Only ever copied, so all threads may use it.
      private let context: OpaquePointer

      /// Fetched once: OpenSSL looks it up by name under a lock. It is never changed, so all
      /// threads may use it.
      private nonisolated(unsafe) static let cipher = EVP_CIPHER_fetch(nil, "AES-256-SIV", nil)

      init(key: [UInt8]) {
        guard let cipher = Prepared.cipher, let context = EVP_CIPHER_CTX_new(),
          EVP_EncryptInit_ex(context, cipher, nil, key, nil) == 1
        else { preconditionFailure("AES-256-SIV is not available") }
        self.context = context
      }

      deinit { EVP_CIPHER_CTX_free(context) }

      /// Returns false if `body` does, or the context cannot be copied.
      func withCopy(_ body: (OpaquePointer) -> Bool) -> Bool {
        guard let copy = EVP_CIPHER_CTX_new() else { return false }
        defer { EVP_CIPHER_CTX_free(copy) }
        return EVP_CIPHER_CTX_copy(copy, context) == 1 && body(copy)
      }
    }

    /// Encrypts `bytes`, at least one. `data` is authenticated but not contained in the result:
    /// opening needs the same `data`.
    package func sealed(_ bytes: [UInt8], data: [UInt8]) -> [UInt8] {
      precondition(!bytes.isEmpty, "the plaintext is empty")
      var result = [UInt8](repeating: 0, count: SIV.overhead + bytes.count)
      let isDone = prepared.withCopy { context in
        var count: Int32 = 0
        return result.withUnsafeMutableBufferPointer { result in
          guard let tag = result.baseAddress else { return false }
          return EVP_EncryptUpdate(context, nil, &count, data, Int32(data.count)) == 1
            && EVP_EncryptUpdate(
              context, tag + SIV.overhead, &count, bytes, Int32(bytes.count)) == 1
            && EVP_EncryptFinal_ex(context, tag + SIV.overhead + Int(count), &count) == 1
            && EVP_CIPHER_CTX_ctrl(
              context, EVP_CTRL_AEAD_GET_TAG, Int32(SIV.overhead), tag) == 1
        }
      }
      precondition(isDone, "AES-256-SIV failed")
      return result
    }

    /// Returns nil if it was not sealed with this key and this data, bit for bit.
    package func opened(_ sealed: [UInt8], data: [UInt8]) -> [UInt8]? {
      guard sealed.count > SIV.overhead, sealed.count <= Int(Int32.max) else { return nil }
      var tag = Array(sealed[..<SIV.overhead])
      let body = Array(sealed[SIV.overhead...])
      var bytes = [UInt8](repeating: 0, count: body.count)
      let isDone = prepared.withCopy { context in
        var count: Int32 = 0
        return EVP_CipherInit_ex(context, nil, nil, nil, nil, 0) == 1
          && EVP_CIPHER_CTX_ctrl(
            context, EVP_CTRL_AEAD_SET_TAG, Int32(SIV.overhead), &tag) == 1
          && EVP_DecryptUpdate(context, nil, &count, data, Int32(data.count)) == 1
          && EVP_DecryptUpdate(context, &bytes, &count, body, Int32(body.count)) == 1
          && EVP_DecryptFinal_ex(context, nil, &count) == 1
      }
      return isDone ? bytes : nil
    }
  }
#endif
