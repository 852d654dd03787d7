import LockstepModel

/// What wakes a device: the meaning of its subscriptions (docs/protocol.md, "Subscriptions").
struct SubscriptionFilter: Hashable, Sendable {
  /// Any of them suffices. None is `.database`, which would leave nothing to decide.
  let kinds: [Subscription.Kind]

  /// nil where everything wakes the device: it has no subscription, or one to the whole database.
  init?(_ subscriptions: [Subscription]) {
    let kinds = subscriptions.map(\.kind)
    if kinds.isEmpty || kinds.contains(.database) { return nil }
    self.kinds = kinds
  }
}
