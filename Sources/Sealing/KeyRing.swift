import LockstepCrypto
import LockstepJSON
import LockstepModel

/// An account's keys in a record at the relay, for a device that has nothing but the phrase of the
/// generation that seals: the other generations, and the secret of the records' names.
///
///     zone "Keys", record "ring", type "keyRing"
///     {"key": id of the generation, "plain" or "only": the sealed zones (`ZoneSet`),
///      "sealed": AES-256-SIV of `SealingKeys.storedValue`}
///
/// `sealed` is Base64 for URLs without padding. Its key is derived from the generation's secret,
/// with "ring" (`KeyGeneration`), and its associated data are "lockstep key ring". The zones
/// beside it are a hint for devices without keys, and what is sealed decides.
package enum KeyRing {
  package enum Fault: Error, Hashable {
    /// The record has not this form, or was changed.
    case malformed
    /// The record is sealed with another generation, of this identifier.
    case otherKey(String)
  }

  package static let zone = Plan.keyZone
  package static let record = Name(trusted: "ring")
  package static let type = Name(trusted: "keyRing")
  package static var key: RecordKey { RecordKey(zone: zone, name: record) }
  private static let data = Array("lockstep key ring".utf8)

  /// Returns the record's fields; nil if these are not the keys of a whole account.
  package static func fields(of keys: SealingKeys) -> JSONValue? {
    guard case .account(let account, let zones) = keys,
      let current = account.generations.last
    else { return nil }
    let sealed = seal(of: current).sealed(Array(keys.storedValue.text.utf8), data: data)
    return zones.setting(in: [
      "key": .string(current.id), "sealed": .string(Base64.encodeURL(sealed)),
    ])
  }

  /// Returns the zones that the record says are sealed: all, if it does not say it.
  package static func sealedZones(in fields: JSONValue?) -> ZoneSet {
    ZoneSet(in: fields) ?? .all(but: [])
  }

  /// Returns the keys in the record; `generation` is the one that its phrase gave.
  package static func keys(
    in fields: JSONValue?, openedBy generation: KeyGeneration
  ) throws(Fault) -> SealingKeys {
    guard let id = fields?["key"]?.string, HexText.parse(id) != nil,
      let sealed = fields?["sealed"]?.string.flatMap({ Base64.decodeURL($0) })
    else { throw .malformed }
    guard id == generation.id else { throw .otherKey(id) }
    guard let bytes = seal(of: generation).opened(sealed, data: data),
      let keys = JSONValue(ifJSON: bytes).flatMap({ SealingKeys(stored: $0) }),
      keys.current == generation
    else { throw .malformed }
    return keys
  }

  private static func seal(of generation: KeyGeneration) -> SIV {
    SIV(key: derived(generation.secret, Array("ring".utf8), SIV.keyBytes))
  }
}
