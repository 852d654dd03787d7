import LockstepModel

/// The filter that a device's subscriptions form (docs/protocol.md, "Subscriptions").
struct SubscriptionFilter: Hashable, Sendable {
  /// One matching kind suffices. None is `.database`, which would match everything.
  let kinds: [Subscription.Kind]

  /// Returns nil if everything matches: the device has no subscription, or one to the whole
  /// database.
  init?(_ subscriptions: [Subscription]) {
    let kinds = subscriptions.map(\.kind)
    if kinds.isEmpty || kinds.contains(.database) { return nil }
    self.kinds = kinds
  }
}
