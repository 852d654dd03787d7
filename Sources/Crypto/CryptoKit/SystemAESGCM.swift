#if canImport(CryptoKit)
  private import CryptoKit

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
      do {
        let box = try AES.GCM.seal(
          bytes, using: SymmetricKey(data: key), nonce: AES.GCM.Nonce(data: nonce))
        return Array(box.ciphertext) + Array(box.tag)
      } catch {
        preconditionFailure("AES-128-GCM failed: \(error)")
      }
    }

    /// Returns nil if it was not sealed with this key and this nonce, bit for bit.
    package func opened(_ sealed: [UInt8], nonce: [UInt8]) -> [UInt8]? {
      precondition(nonce.count == AES128GCM.nonceBytes, "AES-128-GCM takes a nonce of 12 bytes")
      guard sealed.count >= AES128GCM.overhead else { return nil }
      do {
        let box = try AES.GCM.SealedBox(
          nonce: AES.GCM.Nonce(data: nonce),
          ciphertext: Array(sealed.dropLast(AES128GCM.overhead)),
          tag: Array(sealed.suffix(AES128GCM.overhead)))
        return Array(try AES.GCM.open(box, using: SymmetricKey(data: key)))
      } catch {
        return nil
      }
    }
  }
#endif
