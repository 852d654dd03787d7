import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Keys that a home has.
package enum SealingKeys: Hashable, Sendable {
  /// Keys of the whole account, and the zones that they seal.
  case account(AccountKeys, ZoneSet)
  /// Keys of some zones, each once, for a device that was paired for them alone. Other zones are
  /// not sealed.
  case zones([ZoneKeys])

  /// Returns nil if the zone is not sealed.
  package func keys(of zone: Name) -> ZoneKeys? {
    switch self {
    case .account(let keys, let sealed): sealed.contains(zone) ? keys.keys(of: zone) : nil
    case .zones(let list): list.first { $0.zone == zone }
    }
  }

  /// Returns the keys that a device of this scope may have: never the account's, if it is paired
  /// for some zones. nil: none of its zones is sealed.
  package func limited(to scope: DeviceScope) -> SealingKeys? {
    guard let zones = scope.zones else { return self }
    let keys = zones.compactMap { self.keys(of: $0) }
    return keys.isEmpty ? nil : .zones(keys)
  }

  /// Generation that seals, if these are an account's keys.
  package var current: KeyGeneration? {
    if case .account(let keys, _) = self { keys.generations.last } else { nil }
  }

  /// True if these are an account's keys, and it has had no others.
  package var isFirst: Bool {
    if case .account(let keys, _) = self { keys.generations.count == 1 } else { false }
  }

  /// True if the generation of this identifier is among an account's keys.
  package func hasGeneration(_ id: String) -> Bool {
    guard case .account(let keys, _) = self else { return false }
    return keys.generations.contains { $0.id == id }
  }

  /// True if these keys open all that the others open, and leave no zone unsealed that they seal.
  package func contains(_ other: SealingKeys) -> Bool {
    switch (self, other) {
    case (.account(let keys, let sealed), .account(let others, let otherSealed)):
      keys.nameSecret == others.nameSecret
        && others.generations.allSatisfy(keys.generations.contains)
        && otherSealed.isSubset(of: sealed)
    case (_, .zones(let list)):
      list.allSatisfy { keys(of: $0.zone)?.contains($0) ?? false }
    case (.zones, .account): false
    }
  }

  /// Returns these keys with the others in place of those that they have for the same zones. Two
  /// devices of one account may each have keys that the other lacks; then all of them.
  package func replaced(by other: SealingKeys) -> SealingKeys {
    if case (.account(let held, let zones), .account(let given, let added)) = (self, other),
      let all = held.joined(with: given)
    {
      return .account(all, zones.union(added))
    }
    guard case (.zones(let old), .zones(let new)) = (self, other) else { return other }
    let kept = old.filter { keys in !new.contains { $0.zone == keys.zone } }
    return .zones((kept + new).sorted { $0.zone < $1.zone })
  }

  /// Zones that an account's keys seal; nil: these are keys of zones.
  package var sealed: ZoneSet? {
    if case .account(_, let sealed) = self { sealed } else { nil }
  }

  /// Returns an account's keys with further zones that they seal; keys of zones as they are.
  package func sealing(_ zones: ZoneSet) -> SealingKeys {
    guard case .account(let keys, let sealed) = self else { return self }
    return .account(keys, sealed.union(zones))
  }

  /// True if no zone has keys twice.
  package var isUnambiguous: Bool {
    guard case .zones(let list) = self else { return true }
    return Set(list.map(\.zone)).count == list.count
  }
}

/// The form in which a home keeps them: an object for an account's keys, a list for those of zones.
extension SealingKeys {
  package var storedValue: JSONValue {
    switch self {
    case .account(let keys, let sealed):
      sealed.setting(in: [
        "names": .string(Base64.encodeURL(keys.nameSecret)),
        "generations": .array(keys.generations.map { .string(Base64.encodeURL($0.secret)) }),
      ])
    case .zones(let list): .array(list.map(\.storedValue))
    }
  }

  /// Returns nil if the value is not one of `storedValue`.
  package init?(stored value: JSONValue) {
    if let list = value.array {
      let zones = list.compactMap { ZoneKeys(stored: $0) }
      guard !zones.isEmpty, zones.count == list.count else { return nil }
      self = .zones(zones)
      guard isUnambiguous else { return nil }
      return
    }
    guard let names = value["names"]?.string.flatMap({ Base64.decodeURL($0) }),
      let secrets = value["generations"]?.array, let sealed = ZoneSet(in: value)
    else { return nil }
    let generations = secrets.compactMap { secret in
      secret.string.flatMap { Base64.decodeURL($0) }.flatMap { KeyGeneration(secret: $0) }
    }
    guard generations.count == secrets.count,
      let keys = AccountKeys(nameSecret: names, generations: generations)
    else { return nil }
    self = .account(keys, sealed)
  }
}
