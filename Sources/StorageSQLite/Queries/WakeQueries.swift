import LockstepModel
import LockstepStorage

/// Queries on devices' registrations for wakes, on the connection of the writer or of a reader.
final class WakeQueries {
  private let connection: SQLiteConnection
  private let accounts: AccountQueries
  private let row: SQLiteStatement
  private let exists: SQLiteStatement
  private let ofAccount: SQLiteStatement
  private let following: SQLiteStatement
  private let allKeys: SQLiteStatement

  init(_ connection: SQLiteConnection, accounts: AccountQueries) throws(StorageError) {
    self.connection = connection
    self.accounts = accounts
    row = try connection.prepare("SELECT content FROM wakes WHERE account = ? AND device = ?")
    exists = try connection.prepare("SELECT 1 FROM wakes WHERE account = ? LIMIT 1")
    let sleepers = """
      SELECT account, device, content, generation, newest, (
          SELECT scope FROM devices
          WHERE devices.account = wakes.account AND devices.device = wakes.device)
      FROM wakes CROSS JOIN accounts USING (account)
      """
    ofAccount = try connection.prepare("\(sleepers) WHERE account = ? ORDER BY device LIMIT ?")
    following = try connection.prepare(
      "\(sleepers) WHERE (account, device) >= (?, ?) ORDER BY account, device LIMIT ?")
    allKeys = try connection.prepare("SELECT made_at, private_key FROM wake_keys ORDER BY made_at")
  }

  /// Returns nil if the device has no registrations.
  func wakes(of id: SleeperID) throws(StorageError) -> DeviceWakes? {
    try row.bind(id.account.rawValue).bind(id.device.rawValue).first {
      (row) throws(StorageError) in try row.wakes(0)
    }
  }

  func statuses(of id: SleeperID) throws(StorageError) -> ReadResult {
    .wakes(try wakes(of: id)?.statuses ?? [])
  }

  /// True if a device of the account has registrations.
  func exist(in account: AccountID) throws(StorageError) -> Bool {
    try exists.bind(account.rawValue).first { _ in true } ?? false
  }

  func sleepers(_ query: SleeperQuery) throws(StorageError) -> ReadResult {
    var found: [Sleeper] = []
    switch query {
    case .accounts(let accounts):
      for account in accounts.uniqueInSortOrder where found.count < query.limit {
        found += try sleepers(
          ofAccount.bind(account.rawValue).bind(Int64(query.limit - found.count)))
      }
    case .after(let id, _):
      guard let first = id.map(\.next) ?? SleeperID.first else { break }
      found = try sleepers(
        following.bind(first.account.rawValue).bind(first.device.rawValue)
          .bind(Int64(query.limit)))
    }
    for index in found.indices {
      let id = found[index].id
      found[index].subscriptions = try accounts.subscriptions(of: id.device, of: id.account)
    }
    return .sleepers(found, next: found.count == query.limit ? found.last?.id : nil)
  }

  /// Returns the relay's keys, oldest first.
  func keys() throws(StorageError) -> [WakeKey] {
    try allKeys.all { WakeKey(madeAt: $0.integer(0), privateKey: $0.bytes(1)) }
  }

  /// Returns the devices, without their subscriptions.
  private func sleepers(_ statement: SQLiteStatement) throws(StorageError) -> [Sleeper] {
    try statement.all { (row) throws(StorageError) in
      Sleeper(
        id: SleeperID(
          account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1))),
        wakes: try row.wakes(2),
        newest: WakeMark(
          generation: UInt32(truncatingIfNeeded: row.integer(3)), sequence: row.integer(4)),
        scope: try row.scope(5), subscriptions: [])
    }
  }
}

extension SQLiteStatement {
  /// Reads the registrations of a device for wakes.
  func wakes(_ column: Int32) throws(StorageError) -> DeviceWakes {
    guard let wakes = DeviceWakes(storedText: text(column)) else {
      throw corruption("a device's registrations for wakes have an invalid format")
    }
    return wakes
  }
}
