import LockstepCrypto
import LockstepModel

/// A vault's key for another device, sealed under a code's secret, in a record that the relay
/// stores but cannot open.
///
///     {"key", "salt", "n", "r", "p", "wrapped", "expiresAt"}
///
/// `salt` and `wrapped` are Base64. `wrapped` is the key, sealed by AES-256-SIV under a key that
/// scrypt derives from the secret, and bound to the record's name.
package struct WrappedVaultKey: Hashable, Sendable {
  /// Identifier of the key inside (`VaultKey.id`).
  package let keyID: String
  /// Relay time, milliseconds since the Unix epoch, from which no device may use it.
  package let expiresAt: Int64
  private let salt: [UInt8]
  private let scrypt: Scrypt
  private let wrapped: [UInt8]

  /// Cost per guess: about a tenth of a second and 64 MiB.
  private static let strength = Scrypt(cost: 1 << 16, blocks: 8, lanes: 1)

  /// Length of a salt in bytes.
  package static let saltBytes = 16

  /// Returns nil if this machine does not have enough memory.
  package init?(
    _ key: VaultKey, secret: VaultSecret, salt: [UInt8], record: Name, expiresAt: Int64
  ) {
    scrypt = WrappedVaultKey.strength
    guard
      let sealing = scrypt.derive(
        secret.letters, salt: salt, count: SIV.keyBytes, memoryBytes: Limits.scryptBytes)
    else { return nil }
    keyID = key.id
    self.expiresAt = expiresAt
    self.salt = salt
    wrapped = SIV(key: sealing).sealed(key.bytes, data: WrappedVaultKey.bond(record))
  }

  /// Returns nil if the fields are malformed, or their scrypt parameters exceed the limits.
  package init?(fields: JSONValue) {
    guard let keyID = fields["key"]?.string, let expiresAt = fields["expiresAt"]?.int64,
      let salt = fields["salt"]?.string.flatMap({ Base64.decode($0) }),
      let wrapped = fields["wrapped"]?.string.flatMap({ Base64.decode($0) }),
      let cost = fields["n"]?.int64, let blocks = fields["r"]?.int64,
      let lanes = fields["p"]?.int64, (8...64).contains(salt.count),
      wrapped.count == SIV.overhead + VaultKey.count,
      (2...Int64(Limits.scryptBytes)).contains(cost), (1...32).contains(blocks),
      (1...Limits.scryptLanes).contains(lanes),
      128 * cost * blocks <= Int64(Limits.scryptBytes)
    else { return nil }
    self.keyID = keyID
    self.expiresAt = expiresAt
    self.salt = salt
    self.wrapped = wrapped
    scrypt = Scrypt(cost: Int(cost), blocks: Int(blocks), lanes: Int(lanes))
  }

  package var fields: JSONValue {
    [
      "key": .string(keyID), "salt": .string(Base64.encode(salt)),
      "n": .number(JSONNumber(Int64(scrypt.cost))),
      "r": .number(JSONNumber(Int64(scrypt.blocks))),
      "p": .number(JSONNumber(Int64(scrypt.lanes))),
      "wrapped": .string(Base64.encode(wrapped)), "expiresAt": .number(JSONNumber(expiresAt)),
    ]
  }

  /// Returns nil if it was not wrapped with this secret, or not for this record.
  package func key(secret: VaultSecret, record: Name) -> VaultKey? {
    guard
      let sealing = scrypt.derive(
        secret.letters, salt: salt, count: SIV.keyBytes, memoryBytes: Limits.scryptBytes),
      let bytes = SIV(key: sealing).opened(wrapped, data: WrappedVaultKey.bond(record)),
      let key = VaultKey(bytes: bytes), key.id == keyID
    else { return nil }
    return key
  }

  private static func bond(_ record: Name) -> [UInt8] { Array("vault key \(record.text)".utf8) }
}
