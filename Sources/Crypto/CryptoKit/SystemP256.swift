#if canImport(CryptoKit)
  private import CryptoKit

  /// Public key on the curve P-256 (FIPS 186-5): a point of the curve, and not the point at
  /// infinity.
  ///
  ///      1 byte    4: both coordinates follow
  ///     32 bytes   x
  ///     32 bytes   y
  package struct P256PublicKey: Hashable, Sendable {
    package static let byteCount = 65

    package let bytes: [UInt8]

    /// Returns nil for a point beside the curve, another length or the compressed form.
    package init?(_ bytes: [UInt8]) {
      guard bytes.count == P256PublicKey.byteCount, bytes[0] == 4 else { return nil }
      do {
        _ = try P256.Signing.PublicKey(x963Representation: bytes)
      } catch {
        return nil
      }
      self.bytes = bytes
    }

    /// True if `signature`, as `P256PrivateKey` makes it, is one of `message` with this key.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
      guard signature.count == P256PrivateKey.signatureBytes else { return false }
      do {
        let key = try P256.Signing.PublicKey(x963Representation: bytes)
        return key.isValidSignature(
          try P256.Signing.ECDSASignature(rawRepresentation: signature), for: message)
      } catch {
        return false
      }
    }
  }

  /// Private key on the curve P-256, for ECDH and for ECDSA with SHA-256. The system zeroes the
  /// memory that holds it.
  package final class P256PrivateKey: Sendable {
    package static let byteCount = 32
    /// Bytes of a signature: r and s, big-endian, as in JWS (RFC 7518 section 3.4).
    package static let signatureBytes = 64

    package let publicKey: P256PublicKey
    private let signing: P256.Signing.PrivateKey
    private let agreement: P256.KeyAgreement.PrivateKey

    /// `scalar`: big-endian. Returns nil for another length, for zero, and for the order of the
    /// curve and above.
    package init?(_ scalar: [UInt8]) {
      guard scalar.count == P256PrivateKey.byteCount else { return nil }
      do {
        signing = try P256.Signing.PrivateKey(rawRepresentation: scalar)
        agreement = try P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
      } catch {
        return nil
      }
      guard let publicKey = P256PublicKey(Array(signing.publicKey.x963Representation)) else {
        return nil
      }
      self.publicKey = publicKey
    }

    /// The secret itself, to be stored.
    package var scalar: [UInt8] { Array(signing.rawRepresentation) }

    /// Returns the x coordinate of the point that both sides compute (ECDH, SP 800-56A), 32 bytes.
    /// It is not uniformly random: derive keys from it with `HKDF`.
    package func sharedSecret(with other: P256PublicKey) -> [UInt8] {
      do {
        let secret = try agreement.sharedSecretFromKeyAgreement(
          with: P256.KeyAgreement.PublicKey(x963Representation: other.bytes))
        return secret.withUnsafeBytes { Array($0) }
      } catch {
        preconditionFailure("P-256 failed: \(error)")
      }
    }

    /// Returns the signature of `message` by ECDSA with SHA-256. The system draws its nonce, so it
    /// differs each time.
    package func signature(of message: [UInt8]) -> [UInt8] {
      do {
        return Array(try signing.signature(for: message).rawRepresentation)
      } catch {
        preconditionFailure("ECDSA failed: \(error)")
      }
    }
  }
#endif
