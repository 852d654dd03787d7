import LockstepJSON
import LockstepModel
import LockstepStorage

/// Queries on accounts and devices, on the connection of the writer or of a reader.
final class AccountQueries {
  private let connection: SQLiteConnection
  let residences: ResidenceQueries
  private let principal: SQLiteStatement
  private let token: SQLiteStatement
  private let member: SQLiteStatement
  private let subscriptions: SQLiteStatement
  private let total: SQLiteStatement
  private let list: SQLiteStatement
  private let exists: SQLiteStatement
  private let devices: SQLiteStatement

  init(
    _ connection: SQLiteConnection, _ residences: ResidenceQueries
  ) throws(StorageError) {
    self.connection = connection
    self.residences = residences
    principal = try connection.prepare(
      """
      SELECT account, device, plan, quota_bytes, quota_records, generation, newest, forgotten,
        EXISTS (
          SELECT 1 FROM subscriptions
          WHERE account = devices.account AND device = devices.device),
        EXISTS (
          SELECT 1 FROM wakes WHERE account = devices.account AND device = devices.device),
        scope, moving_until
      FROM devices JOIN accounts USING (account) WHERE token_hash = ?
      """)
    token = try connection.prepare("SELECT account FROM devices WHERE token_hash = ?")
    member = try connection.prepare("SELECT 1 FROM devices WHERE account = ? AND device = ?")
    subscriptions = try connection.prepare(
      "SELECT id, content FROM subscriptions WHERE account = ? AND device = ? ORDER BY id")
    total = try connection.prepare("SELECT count(*) FROM accounts")
    list = try connection.prepare(
      """
      SELECT account, label, plan, quota_bytes, quota_records, made_at,
        (SELECT count(*) FROM devices WHERE devices.account = accounts.account),
        newest, chunk_bytes, record_bytes, record_count,
        (SELECT max(last_seen) FROM devices WHERE devices.account = accounts.account),
        moving_until
      FROM accounts WHERE account >= ? AND account <= ? ORDER BY account LIMIT ?
      """)
    exists = try connection.prepare("SELECT 1 FROM accounts WHERE account = ?")
    devices = try connection.prepare(
      """
      SELECT device, device_name, platform, app_version, last_seen, scope FROM devices
      WHERE account = ? ORDER BY number
      """)
  }

  func principal(_ tokenHash: [UInt8]) throws(StorageError) -> ReadResult {
    var hasSubscriptions = false
    var isArriving = false
    let found = try principal.bind(tokenHash).first { (row) throws(StorageError) in
      hasSubscriptions = row.integer(8) != 0
      isArriving = row.integer(11) == .max
      return Principal(
        account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1)),
        scope: try row.scope(10), newest: AccountHead(row, from: 5).token, plan: try plan(row, 2),
        hasWakes: row.integer(9) != 0)
    }
    guard var found else { return .refused(try residences.absence(ofToken: tokenHash)) }
    if isArriving { return .refused(StoreRefusals.moving) }
    // Most devices have none, and need no second statement.
    if hasSubscriptions {
      found.subscriptions = try subscriptions(of: found.device, of: found.account)
    }
    return .principal(found)
  }

  /// Returns the account that the device of a token belongs to.
  func account(ofToken tokenHash: [UInt8]) throws(StorageError) -> AccountID? {
    try token.bind(tokenHash).first { AccountID(rawValue: $0.bits(0)) }
  }

  func isMember(_ device: DeviceID, of account: AccountID) throws(StorageError) -> Bool {
    try member.bind(account.rawValue).bind(device.rawValue).first { _ in true } ?? false
  }

  /// Returns a device's subscriptions, ordered by id.
  func subscriptions(
    of device: DeviceID, of account: AccountID
  ) throws(StorageError) -> [Subscription] {
    try subscriptions.bind(account.rawValue).bind(device.rawValue).all {
      (row) throws(StorageError) in
      guard let subscription = Subscription(id: try row.name(0), storedText: row.text(1)) else {
        throw connection.corruption("a subscription has an invalid format")
      }
      return subscription
    }
  }

  func count() throws(StorageError) -> ReadResult {
    .count(Int(clamping: try total.first { $0.integer(0) } ?? 0))
  }

  func list(after: AccountID?, limit: Int) throws(StorageError) -> ReadResult {
    let count = max(1, min(limit, Limits.listedAccounts))
    var summaries: [AccountSummary] = []
    // Ids are unsigned and the database's integers are signed: the upper half sorts before 0.
    var first = after.map { $0.rawValue &+ 1 } ?? 0
    if after != nil, first == 0 { return .accounts([], more: false) }
    while summaries.count <= count {
      let last: UInt64 = first >> 63 == 0 ? .max >> 1 : .max
      list.bind(first).bind(last).bind(Int64(count + 1 - summaries.count))
      summaries += try list.all { (row) throws(StorageError) in try summary(row) }
      if last == .max { break }
      first = last + 1
    }
    return .accounts(Array(summaries.prefix(count)), more: summaries.count > count)
  }

  func summary(of account: AccountID) throws(StorageError) -> ReadResult {
    let found = try list.bind(account.rawValue).bind(account.rawValue).bind(1 as Int64).first {
      (row) throws(StorageError) in try summary(row)
    }
    return found.map { .account($0) } ?? .refused(StoreRefusals.unknownAccount)
  }

  func devices(of account: AccountID) throws(StorageError) -> ReadResult {
    guard try exists.bind(account.rawValue).first({ _ in true }) ?? false else {
      return .refused(StoreRefusals.unknownAccount)
    }
    return .devices(
      try devices.bind(account.rawValue).all { (row) throws(StorageError) in
        Device(
          id: DeviceID(rawValue: row.bits(0)),
          description: DeviceDescription(
            deviceName: row.text(1), platform: row.text(2), appVersion: row.text(3)),
          lastSeen: row.integer(4), connected: false, scope: try row.scope(5))
      })
  }

  private func summary(_ row: SQLiteStatement) throws(StorageError) -> AccountSummary {
    AccountSummary(
      id: AccountID(rawValue: row.bits(0)), label: row.text(1), plan: try plan(row, 2),
      madeAt: row.integer(5), devices: Int(clamping: row.integer(6)), newestTag: row.integer(7),
      chunkBytes: row.integer(8), recordBytes: row.integer(9), records: row.integer(10),
      lastSeen: row.isNull(11) ? nil : row.integer(11), isArriving: row.integer(12) == .max)
  }

  /// Reads the plan from `plan`, `quota_bytes` and `quota_records`.
  private func plan(_ row: SQLiteStatement, _ column: Int32) throws(StorageError) -> Plan {
    let text = row.isNull(column) ? nil : row.text(column)
    guard var plan = Plan(storedText: text) else {
      throw connection.corruption("a plan has an invalid format")
    }
    plan.bytes = row.isNull(column + 1) ? nil : row.integer(column + 1)
    plan.records = row.isNull(column + 2) ? nil : row.integer(column + 2)
    return plan
  }
}

extension SQLiteStatement {
  /// Reads the scope of a device, or of a pairing code.
  func scope(_ column: Int32) throws(StorageError) -> DeviceScope {
    guard let scope = DeviceScope(storedText: isNull(column) ? nil : text(column)) else {
      throw corruption("a device's scope has an invalid format")
    }
    return scope
  }

  /// Binds names of zones as a JSON array, for `json_each`.
  @discardableResult func bind(_ zones: [Name]) -> SQLiteStatement {
    bind(JSONValue(zones).text)
  }
}
