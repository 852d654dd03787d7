import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing

/// Secret that an account's devices share and the relay never learns. All other keys of a sealed
/// vault are derived from it.
///
///     HKDF-SHA-256(key, salt "lockstep vault", info PURPOSE)
///       "id"        8 bytes    identifies the key; not secret
///       "piece"     64 bytes   seals chunks of files
///       "manifest"  64 bytes   seals manifests
///       "name"      32 bytes   makes record names from file names
///       "chunk"     8 bytes    seed for cut points
package struct VaultKey: Hashable, Sendable {
  /// Number of bytes of a key: 128 random bits.
  package static let count = 16

  package let bytes: [UInt8]

  /// Returns nil if there are not exactly `count` bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == VaultKey.count else { return nil }
    self.bytes = bytes
  }

  /// Identifier of this key, sixteen hexadecimal digits; not secret.
  package var id: String { HexText.text(of: derived("id", 8)) }

  func derived(_ purpose: String, _ count: Int) -> [UInt8] {
    HKDF.derive(
      bytes, salt: Array("lockstep vault".utf8), info: Array(purpose.utf8), count: count)
  }
}

extension VaultKey: CustomStringConvertible, CustomReflectable {
  /// Hides the key in logs.
  package var description: String { "vault key \(id)" }

  package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// A key that a vault had before its zone was sealed, in a record of that zone: every device that
/// has the zone's keys opens the older files with it.
///
///     zone "Vault", record "key/ID", type "VaultKey"
///     {"key": ID, "secret": the key, Base64}
package enum FormerVaultKey {
  /// No file's name has a slash.
  private static let recordPrefix = "key/"

  package static func recordKey(of key: VaultKey) -> RecordKey {
    RecordKey(zone: VaultApp.zone, name: Name(trusted: recordPrefix + key.id))
  }

  package static func fields(of key: VaultKey) -> JSONValue {
    ["key": .string(key.id), "secret": .string(Base64.encode(key.bytes))]
  }

  /// Returns nil for any other record. The record must come from a sealed zone.
  package static func key(in record: Record) -> VaultKey? {
    guard record.type == VaultApp.keyType, record.name.text.hasPrefix(recordPrefix),
      let bytes = record.value?["secret"]?.string.flatMap({ Base64.decode($0) }),
      let key = VaultKey(bytes: bytes), record.key == recordKey(of: key)
    else { return nil }
    return key
  }
}

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
    _ key: VaultKey, secret: JoinSecret, salt: [UInt8], record: Name, expiresAt: Int64
  ) {
    scrypt = WrappedVaultKey.strength
    guard
      let sealing = scrypt.derive(
        secret.letters, salt: salt, count: SIV.keyBytes, memoryBytes: Limits.scryptBytes)
    else { return nil }
    keyID = key.id
    self.expiresAt = expiresAt
    self.salt = salt
    wrapped = SIV(key: sealing).sealed(key.bytes, data: WrappedVaultKey.associatedData(record))
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
  package func key(secret: JoinSecret, record: Name) -> VaultKey? {
    guard
      let sealing = scrypt.derive(
        secret.letters, salt: salt, count: SIV.keyBytes, memoryBytes: Limits.scryptBytes),
      let bytes = SIV(key: sealing).opened(wrapped, data: WrappedVaultKey.associatedData(record)),
      let key = VaultKey(bytes: bytes), key.id == keyID
    else { return nil }
    return key
  }

  private static func associatedData(_ record: Name) -> [UInt8] {
    Array("vault key \(record.text)".utf8)
  }
}

/// A vault's key in words that a person can write down and speak: eight words for the key, and one
/// as a checksum.
package enum VaultPhrase {
  private static let form = SecretPhrase(
    secretCount: VaultKey.count, label: "lockstep vault phrase")

  package typealias Fault = SecretPhrase.Fault

  package static var wordCount: Int { form.wordCount }

  /// Returns nine words, separated by spaces.
  package static func text(of key: VaultKey) -> String { form.text(of: key.bytes) }

  /// Returns the key of these words. Upper and lower case and separators have no effect.
  package static func key(from text: String) throws(Fault) -> VaultKey {
    guard let key = VaultKey(bytes: try form.secret(from: text)) else { throw .checksum }
    return key
  }
}

extension JoinCode {
  /// Record that holds the vault's wrapped key for this code; nil if the code has one part. The
  /// name depends only on the relay part, which the relay knows.
  package var recordName: Name? {
    guard secret != nil, let letters = JoinSecret.letters(relayPart) else { return nil }
    let hash = SHA256.hash(letters).prefix(16)
    return Name(trusted: JoinCode.recordPrefix + HexText.text(of: Array(hash)))
  }

  package static let recordPrefix = "code/"
}
