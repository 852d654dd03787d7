import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Keys with which pushes are encrypted for a device (RFC 8291), as the device itself has them:
/// both are secrets.
package struct PushKeys: Sendable {
  package let key: P256PrivateKey
  /// The secret that the device shares with the relay, `PushRecipient.authBytes`.
  package let auth: [UInt8]

  /// Draws new keys.
  package init(from secrets: SecretSource) {
    key = PushMessage.newKey(from: secrets)
    auth = secrets.bytes(PushRecipient.authBytes)
  }

  /// Reads the members `key` and `auth` of a stored object; returns nil if one is invalid.
  package init?(stored form: JSONValue) {
    guard
      let key = form["key"]?.string.flatMap({ Base64.decodeURL($0) }).flatMap({
        P256PrivateKey($0)
      }),
      let auth = form["auth"]?.string.flatMap({ Base64.decodeURL($0) }),
      auth.count == PushRecipient.authBytes
    else { return nil }
    (self.key, self.auth) = (key, auth)
  }

  /// Members for a stored object, in Base64 for URLs.
  package var storedMembers: [JSONMember] {
    [
      JSONMember("key", .string(Base64.encodeURL(key.scalar))),
      JSONMember("auth", .string(Base64.encodeURL(auth))),
    ]
  }

  /// Returns the content of a push; nil if it was not encrypted for these keys.
  package func decrypt(_ body: [UInt8]) -> [UInt8]? {
    PushMessage.decrypt(body, key: key, auth: auth)
  }
}
