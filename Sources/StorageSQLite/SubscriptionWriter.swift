import LockstepModel
import LockstepStorage

/// Writes the subscriptions of devices.
final class SubscriptionWriter {
  private let queries: AccountQueries
  private let member: SQLiteStatement
  private let put: SQLiteStatement
  private let remove: SQLiteStatement

  init(_ connection: SQLiteConnection, queries: AccountQueries) throws(StorageError) {
    self.queries = queries
    member = try connection.prepare("SELECT 1 FROM devices WHERE account = ? AND device = ?")
    put = try connection.prepare(
      """
      INSERT INTO subscriptions (account, device, id, content) VALUES (?, ?, ?, ?)
      ON CONFLICT (account, device, id) DO UPDATE SET content = excluded.content
      """)
    remove = try connection.prepare(
      "DELETE FROM subscriptions WHERE account = ? AND device = ? AND id = ?")
  }

  func put(
    _ subscription: Subscription, for device: DeviceID, of account: AccountID
  ) throws(StorageError) -> CommitResult {
    guard try isMember(device, of: account) else { return .refused(StoreRefusals.revokedDevice) }
    let standing = try queries.subscriptions(of: device, of: account)
    let isNew = !standing.contains { $0.id == subscription.id }
    guard !isNew || standing.count < Limits.subscriptionsPerDevice else {
      return .refused(StoreRefusals.tooManySubscriptions)
    }
    try put.bind(account.rawValue).bind(device.rawValue).bind(subscription.id)
      .bind(subscription.storedText).run()
    return .subscribed(try queries.subscriptions(of: device, of: account), isNew: isNew)
  }

  func remove(
    _ name: Name, for device: DeviceID, of account: AccountID
  ) throws(StorageError) -> CommitResult {
    guard try isMember(device, of: account) else { return .refused(StoreRefusals.revokedDevice) }
    let standing = try queries.subscriptions(of: device, of: account)
    guard standing.contains(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    try remove.bind(account.rawValue).bind(device.rawValue).bind(name).run()
    return .subscribed(standing.filter { $0.id != name }, isNew: false)
  }

  private func isMember(
    _ device: DeviceID, of account: AccountID
  ) throws(StorageError) -> Bool {
    try member.bind(account.rawValue).bind(device.rawValue).first { _ in true } ?? false
  }
}
