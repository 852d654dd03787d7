#if canImport(COpenSSL)
  private import COpenSSL

  /// Authenticated encryption with a nonce: AES-128-GCM (SP 800-38D), without associated data. A
  /// nonce must not be used twice with one key.
  ///
  ///      n bytes   as long as the plaintext
  ///     16 bytes   the authentication tag
  package struct AES128GCM: Sendable {
    /// Bytes of a key, of a nonce, and by which the sealed form is longer.
    package static let keyBytes = 16
    package static let nonceBytes = 12
    package static let overhead = 16

    private let key: [UInt8]

    package init(key: [UInt8]) {
      precondition(key.count == AES128GCM.keyBytes, "AES-128-GCM takes a key of 16 bytes")
      self.key = key
    }

    package func sealed(_ bytes: [UInt8], nonce: [UInt8]) -> [UInt8] {
      precondition(nonce.count == AES128GCM.nonceBytes, "AES-128-GCM takes a nonce of 12 bytes")
      var result = [UInt8](repeating: 0, count: bytes.count + AES128GCM.overhead)
      let isDone = AES128GCM.withCipher { context, cipher in
        var count: Int32 = 0
        return result.withUnsafeMutableBufferPointer { result in
          guard let start = result.baseAddress else { return false }
          return EVP_EncryptInit_ex(context, cipher, nil, key, nonce) == 1
            && EVP_EncryptUpdate(context, start, &count, bytes, Int32(bytes.count)) == 1
            && EVP_EncryptFinal_ex(context, start + Int(count), &count) == 1
            && EVP_CIPHER_CTX_ctrl(
              context, EVP_CTRL_AEAD_GET_TAG, Int32(AES128GCM.overhead), start + bytes.count) == 1
        }
      }
      precondition(isDone, "AES-128-GCM failed")
      return result
    }

    /// Returns nil if it was not sealed with this key and this nonce, bit for bit.
    package func opened(_ sealed: [UInt8], nonce: [UInt8]) -> [UInt8]? {
      precondition(nonce.count == AES128GCM.nonceBytes, "AES-128-GCM takes a nonce of 12 bytes")
      guard sealed.count >= AES128GCM.overhead, sealed.count <= Int(Int32.max) else { return nil }
      var tag = Array(sealed.suffix(AES128GCM.overhead))
      let body = Array(sealed.dropLast(AES128GCM.overhead))
      // One byte more, so that there is a place for the end of no bytes.
      var bytes = [UInt8](repeating: 0, count: body.count + 1)
      let isDone = AES128GCM.withCipher { context, cipher in
        var count: Int32 = 0
        return bytes.withUnsafeMutableBufferPointer { bytes in
          guard let start = bytes.baseAddress else { return false }
          return EVP_DecryptInit_ex(context, cipher, nil, key, nonce) == 1
            && EVP_DecryptUpdate(context, start, &count, body, Int32(body.count)) == 1
            && EVP_CIPHER_CTX_ctrl(
              context, EVP_CTRL_AEAD_SET_TAG, Int32(AES128GCM.overhead), &tag) == 1
            && EVP_DecryptFinal_ex(context, start + body.count, &count) == 1
        }
      }
      guard isDone else {
        // TLS on the same thread would take what remains in OpenSSL's queue for its own error.
        ERR_clear_error()
        return nil
      }
      bytes.removeLast()
      return bytes
    }

    private static func withCipher(_ body: (OpaquePointer, OpaquePointer) -> Bool) -> Bool {
      guard let cipher = EVP_CIPHER_fetch(nil, "AES-128-GCM", nil) else { return false }
      defer { EVP_CIPHER_free(cipher) }
      guard let context = EVP_CIPHER_CTX_new() else { return false }
      defer { EVP_CIPHER_CTX_free(context) }
      return body(context, cipher)
    }
  }
#endif
