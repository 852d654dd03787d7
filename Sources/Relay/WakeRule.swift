import Changes

/// What wakes a device: the meaning of its subscriptions (docs/protocol.md, "Subscriptions"). Knows
/// records and what happened to them, and nobody who is told.
struct WakeRule: Hashable, Sendable {
  /// Any of them suffices. None is `.database`, which would leave nothing to decide.
  let kinds: [Subscription.Kind]

  /// nil where everything wakes the device: it has no subscription, or one to the whole database.
  init?(_ subscriptions: [Subscription]) {
    let kinds = subscriptions.map(\.kind)
    if kinds.isEmpty || kinds.contains(.database) { return nil }
    self.kinds = kinds
  }

  /// Whether the deletion of some records of a zone, nobody knows which, may be what it waits for.
  func mayWantDeletions(in zone: Name) -> Bool {
    kinds.contains { kind in
      switch kind {
      case .database: true
      case .zone(let wanted): wanted == zone
      case .query(let query): query.events.contains(.delete) && (query.zone ?? zone) == zone
      }
    }
  }

  var queries: [Subscription.Query] {
    kinds.compactMap { if case .query(let query) = $0 { query } else { nil } }
  }
}

extension AccountChange {
  /// The devices that it does not wake, of those that have rules.
  func sleepers(_ rules: [Hub.DeviceRule]) -> Set<DeviceID> {
    if rules.isEmpty { return [] }
    guard let told else {
      return Set(rules.filter { !$0.rule.mayWantDeletions(in: zone) }.map(\.device))
    }
    let index = WakeIndex(told.records, told.events, for: rules.map(\.rule))
    return Set(rules.filter { !index.wakes($0.rule) }.map(\.device))
  }
}
