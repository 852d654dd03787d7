import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Keys of one zone: all that a device needs which is paired for this zone alone.
///
///     HKDF-SHA-256(key of a generation, salt "lockstep account", info)
///       "record"       64 bytes   seals records
///       "chunk"        64 bytes   seals chunks of files
///       "chunk seed"   8 bytes    seed for the cut points of files
///     HKDF-SHA-256(key of the names, salt "lockstep account", info)
///       "name"         32 bytes   makes a record's name at the relay from its name
package struct ZoneKeys: Hashable, Sendable {
  /// Number of bytes of each key.
  package static let count = 32

  package struct Generation: Hashable, Sendable {
    /// Identifier of the account's generation (`KeyGeneration.id`).
    package let id: String
    package let key: [UInt8]
  }

  package let zone: Name
  /// Key of the records' names. No rotation changes it: a record keeps its name.
  package let names: [UInt8]
  /// Oldest first; at least one. The last one seals.
  package let generations: [Generation]

  /// True if these keys open all that the others open.
  package func contains(_ other: ZoneKeys) -> Bool {
    zone == other.zone && names == other.names
      && other.generations.allSatisfy(generations.contains)
  }
}

extension ZoneKeys: CustomStringConvertible, CustomReflectable {
  /// Hides the keys in logs.
  package var description: String { "keys of zone \(zone.text), \(generations.map(\.id))" }

  package var customMirror: Mirror { Mirror(self, children: ["zone": zone.text]) }
}

extension ZoneKeys.Generation: CustomStringConvertible, CustomReflectable {
  /// Hides the key in logs.
  package var description: String { "key generation \(id)" }

  package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// The form in which a home keeps them.
extension ZoneKeys {
  package var storedValue: JSONValue {
    [
      "zone": .string(zone.text), "names": .string(Base64.encodeURL(names)),
      "generations": .array(
        generations.map { ["id": .string($0.id), "key": .string(Base64.encodeURL($0.key))] }),
    ]
  }

  /// Returns nil if the value is not one of `storedValue`.
  package init?(stored value: JSONValue) {
    func key(_ value: JSONValue?) -> [UInt8]? {
      guard let bytes = value?.string.flatMap({ Base64.decodeURL($0) }),
        bytes.count == ZoneKeys.count
      else { return nil }
      return bytes
    }
    guard let zone = value["zone"]?.string.flatMap({ Name($0) }), let names = key(value["names"]),
      let list = value["generations"]?.array,
      (1...Limits.keyGenerations).contains(list.count)
    else { return nil }
    var generations: [Generation] = []
    for each in list {
      guard let id = each["id"]?.string, !generations.contains(where: { $0.id == id }),
        let key = key(each["key"])
      else { return nil }
      generations.append(Generation(id: id, key: key))
    }
    self.init(zone: zone, names: names, generations: generations)
  }
}
