import LockstepCrypto
import LockstepModel

/// A vault's key on its way to another device: sealed under a code's secret, in a record that the
/// relay keeps and cannot open.
///
///     {"key", "salt", "n", "r", "p", "wrapped", "expiresAt"}
///
/// `salt` and `wrapped` are Base64; `wrapped` is the key, sealed by AES-256-SIV under what scrypt
/// makes of the secret, and bound to the record's name.
package struct WrappedVaultKey: Hashable, Sendable {
  /// Which key is inside (`VaultKey.id`).
  package let keyID: String
  /// Relay time, milliseconds since the Unix epoch, from which on nobody shall use it.
  package let expiresAt: Int64
  private let salt: [UInt8]
  private let scrypt: Scrypt
  private let wrapped: [UInt8]

  /// About a tenth of a second and 64 MiB a guess.
  private static let strength = Scrypt(cost: 1 << 16, blocks: 8, lanes: 1)

  /// Bytes of a salt.
  package static let saltBytes = 16

  /// nil where this machine has not the memory for it.
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

  /// nil where the fields are none, or ask for more than a device should do.
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

  /// nil where it was not wrapped with this secret, or not for this record.
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
