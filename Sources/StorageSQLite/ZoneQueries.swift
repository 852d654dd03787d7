import Changes
import Storage

/// What is asked of the relay's tables, on one connection: the writer's, or a reader's.
final class ZoneQueries {
  private let connection: SQLiteConnection
  private let principal: SQLiteStatement
  private let accountCount: SQLiteStatement
  private let head: SQLiteStatement
  private let devices: SQLiteStatement
  private let record: SQLiteStatement
  private let pages: (all: PageQueries, zone: PageQueries)

  private struct PageQueries {
    let changes: SQLiteStatement
    let snapshot: SQLiteStatement

    /// The index is named: the planner might otherwise find a zone by name, and sort all of it.
    init(_ connection: SQLiteConnection, where condition: String) throws(StorageError) {
      let rows = "SELECT \(RecordRow.columns) FROM records INDEXED BY records_by_tag"
      let range = "WHERE account = ?1 AND tag > ?2 AND tag <= ?3 \(condition)"
      changes = try connection.prepare("\(rows) \(range) ORDER BY tag")
      snapshot = try connection.prepare("\(rows) \(range) AND fields IS NOT NULL ORDER BY tag")
    }
  }

  init(_ connection: SQLiteConnection) throws(StorageError) {
    self.connection = connection
    principal = try connection.prepare("SELECT account, device FROM devices WHERE token_hash = ?")
    accountCount = try connection.prepare("SELECT count(*) FROM accounts")
    head = try connection.prepare("SELECT generation, newest FROM accounts WHERE account = ?")
    devices = try connection.prepare(
      """
      SELECT device, device_name, platform, app_version, last_seen FROM devices
      WHERE account = ? ORDER BY number
      """)
    record = try connection.prepare(
      "SELECT \(RecordRow.columns) FROM records WHERE account = ? AND zone = ? AND name = ?")
    pages = (
      all: try PageQueries(connection, where: ""),
      zone: try PageQueries(connection, where: "AND zone = ?4")
    )
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    switch request {
    case .authenticate(let tokenHash):
      try principal.bind(tokenHash).first { row in
        .principal(
          Principal(
            account: AccountID(rawValue: row.bits(0)), device: DeviceID(rawValue: row.bits(1))))
      } ?? .refused(StoreRefusals.unknownToken)
    case .accountCount:
      .count(Int(clamping: try accountCount.first { $0.integer(0) } ?? 0))
    case .newestToken(let account):
      try head(of: account).map { .token($0.token) } ?? .refused(StoreRefusals.unknownAccount)
    case .record(let account, let key): try live(key, of: account)
    case .devices(let account): try list(account)
    case .zones, .chunk, .accounts, .account, .knownFiles:
      .refused(StoreRefusals.unknownAccount)
    case .changes(let account, let since, let zone, let limit):
      try connection.read { () throws(StorageError) in
        try page(of: account, since: since, zone: zone, limit: limit)
      }
    }
  }

  /// What stands under a name, a tombstone too.
  func record(_ key: RecordKey, of account: AccountID) throws(StorageError) -> Record? {
    try record.bind(account.rawValue).bind(key.zone).bind(key.name).first {
      (row) throws(StorageError) in try row.record()
    }
  }

  private func live(_ key: RecordKey, of account: AccountID) throws(StorageError) -> ReadResult {
    guard let record = try record(key, of: account), !record.isDeleted else {
      return .refused(StoreRefusals.unknownRecord)
    }
    return .record(record)
  }

  private func head(of account: AccountID) throws(StorageError) -> AccountHead? {
    try head.bind(account.rawValue).first { row in
      AccountHead(generation: UInt32(truncatingIfNeeded: row.integer(0)), newest: row.integer(1))
    }
  }

  private func list(_ account: AccountID) throws(StorageError) -> ReadResult {
    guard try head(of: account) != nil else { return .refused(StoreRefusals.unknownAccount) }
    return .devices(
      try devices.bind(account.rawValue).all { row in
        Device(
          id: DeviceID(rawValue: row.bits(0)),
          description: DeviceDescription(
            deviceName: row.text(1), platform: row.text(2), appVersion: row.text(3)),
          lastSeen: row.integer(4), connected: false)
      })
  }

  private func page(
    of account: AccountID, since: ChangeToken?, zone: Name?, limit: Int
  ) throws(StorageError) -> ReadResult {
    guard let head = try head(of: account) else { return .refused(StoreRefusals.unknownAccount) }
    var plan: PagePlan
    do {
      plan = try PagePlan(since: since, zone: zone, limit: limit, head: head)
    } catch {
      return .refused(error)
    }
    let queries = zone == nil ? pages.all : pages.zone
    let query = plan.isSnapshot ? queries.snapshot : queries.changes
    query.bind(account.rawValue).bind(plan.after).bind(plan.through)
    if let zone { query.bind(zone) }
    defer { query.reset() }
    while try query.step(), plan.take(try query.record()) {}
    return .page(plan.page())
  }
}
