import LockstepCrypto
import LockstepModel

/// The secret that authenticates a device: 32 random bytes, encoded as text that needs no escaping
/// in a header. Only its hash is stored, and only its hash is kept in memory.
enum DeviceToken {
  static func make(from secrets: SecretSource) -> String { Base64.encodeURL(secrets.bytes(32)) }

  static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)[...]) }

  static func hash(_ text: ArraySlice<UInt8>) -> [UInt8] { SHA256.hash(text) }
}
