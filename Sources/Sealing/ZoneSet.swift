import LockstepJSON
import LockstepModel

/// Zones that an account's keys seal. A zone that is among them once stays among them.
package enum ZoneSet: Hashable, Sendable {
  /// Every zone, also one that an app makes later, but for these: of an account that was sealed
  /// when it was made.
  case all(but: Set<Name>)
  /// These zones alone: of an account that had plain zones before.
  case only(Set<Name>)

  package static let empty = ZoneSet.only([])

  package func contains(_ zone: Name) -> Bool {
    switch self {
    case .all(let plain): !plain.contains(zone)
    case .only(let sealed): sealed.contains(zone)
    }
  }

  package func isSubset(of other: ZoneSet) -> Bool { union(other) == other }

  package func union(_ other: ZoneSet) -> ZoneSet {
    switch (self, other) {
    case (.all(let plain), .all(let others)): .all(but: plain.intersection(others))
    case (.all(let plain), .only(let sealed)), (.only(let sealed), .all(let plain)):
      .all(but: plain.subtracting(sealed))
    case (.only(let sealed), .only(let others)): .only(sealed.union(others))
    }
  }
}

/// The form in which records and homes keep it: one member of an object.
extension ZoneSet {
  private static let plainMember = "plain"
  private static let sealedMember = "only"

  /// Returns the object with the member that says which zones are sealed.
  package func setting(in value: JSONValue) -> JSONValue {
    switch self {
    case .all(let plain): value.setting(Self.plainMember, to: Self.list(plain))
    case .only(let sealed): value.setting(Self.sealedMember, to: Self.list(sealed))
    }
  }

  /// Reads that member. Returns nil if there is none, both, or names that are not valid.
  package init?(in value: JSONValue?) {
    switch (value?[Self.plainMember]?.array, value?[Self.sealedMember]?.array) {
    case (let list?, nil):
      guard let plain = Self.zones(in: list) else { return nil }
      self = .all(but: plain)
    case (nil, let list?):
      guard let sealed = Self.zones(in: list) else { return nil }
      self = .only(sealed)
    default: return nil
    }
  }

  private static func list(_ zones: Set<Name>) -> JSONValue {
    .array(zones.sorted().map { .string($0.text) })
  }

  private static func zones(in list: [JSONValue]) -> Set<Name>? {
    let zones = list.compactMap { $0.string.flatMap { Name($0) } }
    return zones.count == list.count ? Set(zones) : nil
  }
}
