import LockstepModel
import LockstepStorage

/// The subscriptions of devices.
extension CommitRun {
  func put(
    _ subscription: Subscription, for device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.revokedDevice) }
    var standing = try subscriptions(of: device, of: id)
    let place = standing.firstIndex { $0.id >= subscription.id } ?? standing.count
    let isNew = place == standing.count || standing[place].id != subscription.id
    if isNew {
      guard standing.count < Limits.subscriptionsPerDevice else {
        return .refused(StoreRefusals.tooManySubscriptions)
      }
      standing.insert(subscription, at: place)
    } else {
      standing[place] = subscription
    }
    write(
      SubscriptionWriter.put,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(subscription.id.text)
        .bind(subscription.storedText))
    note(affairsOf: id)
    return .subscribed(standing, isNew: isNew)
  }

  func removeSubscription(
    _ name: Name, for device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> CommitResult {
    guard accounts.isMember(device, of: id) else { return .refused(StoreRefusals.revokedDevice) }
    let standing = try subscriptions(of: device, of: id)
    guard standing.contains(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    write(
      SubscriptionWriter.remove,
      PostgresParameters().bind(id.rawValue).bind(device.rawValue).bind(name.text))
    note(affairsOf: id)
    return .subscribed(standing.filter { $0.id != name }, isNew: false)
  }

  /// Returns the subscriptions ordered by id.
  private func subscriptions(
    of device: DeviceID, of id: AccountID
  ) throws(PostgresFault) -> [Subscription] {
    let asked = PostgresParameters().bind(id.rawValue).bind(device.rawValue)
    return try ask { $0.add(AccountQueries.subscriptions, asked) }[0].all {
      (row) throws(PostgresFault) in try row.subscription()
    }
  }
}

/// SQL statements.
private enum SubscriptionWriter {
  static let put = PostgresStatement(
    "put subscription",
    """
    INSERT INTO subscriptions (account, device, id, content)
    VALUES ($1::bigint, $2::bigint, $3::text, $4::text)
    ON CONFLICT (account, device, id) DO UPDATE SET content = excluded.content
    """)
  static let remove = PostgresStatement(
    "remove subscription",
    """
    DELETE FROM subscriptions
    WHERE account = $1::bigint AND device = $2::bigint AND id = $3::text
    """)
}
