import LockstepCrypto
import LockstepModel

/// The secret that proves a device: 32 random bytes, as text that stands in a header as it is. Only
/// its hash is stored, and only its hash is kept in memory.
enum DeviceToken {
  static func make(from secrets: SecretSource) -> String { Base64.encodeURL(secrets.bytes(32)) }

  static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)[...]) }

  static func hash(_ text: ArraySlice<UInt8>) -> [UInt8] { SHA256.hash(text) }
}
