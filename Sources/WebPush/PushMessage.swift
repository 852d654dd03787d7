import LockstepCrypto
import LockstepModel

/// Keys of a push subscription: only its device can read what is encrypted for them.
package struct PushRecipient: Hashable, Sendable {
  package static let authBytes = 16

  /// `p256dh` of the Push API.
  package let publicKey: P256PublicKey
  /// `auth` of the Push API: a secret that the device shares with the relay, not with the push
  /// service.
  package let auth: [UInt8]

  package init?(publicKey: [UInt8], auth: [UInt8]) {
    guard let publicKey = P256PublicKey(publicKey), auth.count == PushRecipient.authBytes else {
      return nil
    }
    self.publicKey = publicKey
    self.auth = auth
  }

  /// Reads both as `PushSubscription.toJSON` gives them, in Base64 for URLs without padding.
  /// Returns nil for any other text, and for a key that is not on the curve.
  package init?(p256dh: String, auth: String) {
    guard let publicKey = Base64.decodeURL(p256dh), let auth = Base64.decodeURL(auth) else {
      return nil
    }
    self.init(publicKey: publicKey, auth: auth)
  }
}

/// Encryption of a push message for one subscription (RFC 8291), in the content encoding
/// `aes128gcm` with a single record. The key id is the public key of the sender, made for this one
/// message.
package enum PushMessage {
  /// Bytes of the longest content: the record also has the delimiter.
  package static let contentBytes = Limits.wakeRecordBytes - 1
  /// Bytes of each message that `encrypt(_:to:secrets:)` returns.
  package static let bodyBytes =
    headerBytes + Limits.wakeRecordBytes + AES128GCM.overhead
  /// Salt, record size, length of the key id, key id.
  private static let headerBytes = ContentEncoding.saltBytes + 5 + P256PublicKey.byteCount
  /// Draws of which one gives a private key; each fails with a chance of 2⁻³².
  private static let drawsMax = 16

  /// Returns the body of the request, always `bodyBytes`; nil if the content is longer than
  /// `contentBytes`.
  package static func encrypt(
    _ content: [UInt8], to recipient: PushRecipient, secrets: SecretSource
  ) -> [UInt8]? {
    guard content.count <= contentBytes else { return nil }
    return encrypt(
      content, padding: contentBytes - content.count, to: recipient, sender: newKey(from: secrets),
      salt: secrets.bytes(ContentEncoding.saltBytes))
  }

  /// Returns the body. `sender` and `salt` serve for one message only; content and padding fit into
  /// one record.
  package static func encrypt(
    _ content: [UInt8], padding: Int, to recipient: PushRecipient, sender: P256PrivateKey,
    salt: [UInt8]
  ) -> [UInt8] {
    let encoding = ContentEncoding(
      salt: salt, recordSize: Limits.wakeBodyBytes, keyID: sender.publicKey.bytes)
    precondition(
      encoding.headerCount + content.count + padding + ContentEncoding.recordOverhead
        <= Limits.wakeBodyBytes, "a push message has one record")
    let secret = secret(
      sender.sharedSecret(with: recipient.publicKey), auth: recipient.auth,
      recipient: recipient.publicKey, sender: sender.publicKey)
    return encoding.encrypt(content, padding: padding, secret: secret)
  }

  /// Returns the content of a message for the subscription with this private key and this `auth`;
  /// nil for a message for another, one that was changed or shortened, one of several records, and
  /// one longer than `Limits.wakeBodyBytes`.
  package static func decrypt(
    _ body: [UInt8], key: P256PrivateKey, auth: [UInt8]
  ) -> [UInt8]? {
    guard body.count <= Limits.wakeBodyBytes, let encoding = ContentEncoding(headerOf: body),
      body.count - encoding.headerCount <= encoding.recordSize,
      let sender = P256PublicKey(encoding.keyID)
    else { return nil }
    let secret = secret(
      key.sharedSecret(with: sender), auth: auth, recipient: key.publicKey, sender: sender)
    return encoding.decrypt(body, secret: secret)
  }

  /// Draws a private key.
  package static func newKey(from secrets: SecretSource) -> P256PrivateKey {
    for _ in 0..<drawsMax {
      if let key = P256PrivateKey(secrets.bytes(P256PrivateKey.byteCount)) { return key }
    }
    preconditionFailure("the source of secrets is broken")
  }

  /// Combines what ECDH gives with the secret of the subscription (RFC 8291 section 3.4).
  private static func secret(
    _ shared: [UInt8], auth: [UInt8], recipient: P256PublicKey, sender: P256PublicKey
  ) -> [UInt8] {
    HKDF.derive(
      shared, salt: auth,
      info: Array("WebPush: info\0".utf8) + recipient.bytes + sender.bytes, count: 32)
  }
}
