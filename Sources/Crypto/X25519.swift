#if canImport(COpenSSL)
  private import COpenSSL

  /// Private key of X25519 (RFC 7748): with the public key of another one, both compute a secret
  /// that nobody else can.
  package struct X25519PrivateKey: Sendable {
    package static let byteCount = 32

    /// The secret itself, to be stored.
    package let bytes: [UInt8]
    /// Public key, 32 bytes.
    package let publicKey: [UInt8]

    /// Returns nil for another length than `byteCount`.
    package init?(_ bytes: [UInt8]) {
      guard bytes.count == X25519PrivateKey.byteCount else { return nil }
      let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, bytes, bytes.count)
      defer { EVP_PKEY_free(key) }
      var publicKey = [UInt8](repeating: 0, count: X25519PrivateKey.byteCount)
      var count = publicKey.count
      guard EVP_PKEY_get_raw_public_key(key, &publicKey, &count) == 1 else {
        preconditionFailure("X25519 is not available")
      }
      self.bytes = bytes
      self.publicKey = publicKey
    }

    /// Returns the secret that both sides compute, 32 bytes; nil if the other key is not one of
    /// 32 bytes, or gives a secret that everybody knows. Derive keys from it with `HKDF`.
    package func sharedSecret(with other: [UInt8]) -> [UInt8]? {
      guard other.count == X25519PrivateKey.byteCount else { return nil }
      let own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, bytes, bytes.count)
      let peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, other, other.count)
      let context = EVP_PKEY_CTX_new(own, nil)
      defer {
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(peer)
        EVP_PKEY_free(own)
      }
      var secret = [UInt8](repeating: 0, count: X25519PrivateKey.byteCount)
      var count = secret.count
      // Fails for a point of small order.
      guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
        EVP_PKEY_derive(context, &secret, &count) == 1
      else {
        ERR_clear_error()
        return nil
      }
      return secret
    }
  }
#endif
