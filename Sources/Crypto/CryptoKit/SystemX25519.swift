#if !canImport(COpenSSL)
  private import CryptoKit

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
      do {
        let key = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
        publicKey = Array(key.publicKey.rawRepresentation)
        self.bytes = bytes
      } catch {
        return nil
      }
    }

    /// Returns the secret that both sides compute, 32 bytes; nil if the other key is not one of
    /// 32 bytes, or gives a secret that everybody knows. Derive keys from it with `HKDF`.
    package func sharedSecret(with other: [UInt8]) -> [UInt8]? {
      do {
        let own = try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: bytes)
        let peer = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: other)
        let secret = try own.sharedSecretFromKeyAgreement(with: peer).withUnsafeBytes { Array($0) }
        return secret.allSatisfy { $0 == 0 } ? nil : secret
      } catch {
        return nil
      }
    }
  }
#endif
