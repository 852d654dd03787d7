import LockstepModel
import LockstepStorage

/// Queries on the relay's tables, on the connection of the writer or of a reader.
final class ZoneQueries {
  let accounts: AccountQueries
  let chunks: ChunkQueries
  let wakes: WakeQueries
  let residences: ResidenceQueries
  /// Run of the store's writer.
  let run: UInt64
  private let connection: SQLiteConnection
  private let head: SQLiteStatement
  private let lineage: SQLiteStatement
  private let gap: SQLiteStatement
  private let gaps: SQLiteStatement
  private let zones: SQLiteStatement
  private let zonesWithin: SQLiteStatement
  private let record: SQLiteStatement
  private let scanned: SQLiteStatement
  private let pages: (all: PageQueries, zone: PageQueries, scope: PageQueries)

  private struct PageQueries {
    let changes: SQLiteStatement
    let snapshot: SQLiteStatement

    /// The query names the index: otherwise the planner might look up a zone by name, and sort all
    /// of it.
    init(_ connection: SQLiteConnection, where condition: String) throws(StorageError) {
      let columns = "\(RecordRow.columns), chunks, includes"
      let rows = "SELECT \(columns) FROM records INDEXED BY records_by_tag"
      let range = "WHERE account = ?1 AND tag > ?2 AND tag <= ?3 \(condition)"
      changes = try connection.prepare("\(rows) \(range) ORDER BY tag")
      snapshot = try connection.prepare("\(rows) \(range) AND fields IS NOT NULL ORDER BY tag")
    }
  }

  init(_ connection: SQLiteConnection, run: UInt64) throws(StorageError) {
    self.run = run
    self.connection = connection
    residences = try ResidenceQueries(connection)
    accounts = try AccountQueries(connection, residences)
    chunks = try ChunkQueries(connection)
    wakes = try WakeQueries(connection, accounts: accounts)
    head = try connection.prepare(
      "SELECT \(HeadRow.columns) FROM accounts WHERE account = ?")
    lineage = try connection.prepare(
      "SELECT ended_at FROM lineage WHERE account = ? AND generation = ?")
    gap = try connection.prepare(
      """
      SELECT after_tag, through_tag FROM gaps WHERE account = ? AND through_tag >= ?
      ORDER BY through_tag LIMIT 1
      """)
    gaps = try connection.prepare(
      """
      SELECT after_tag, through_tag FROM gaps WHERE account = ? AND through_tag > ?
      ORDER BY through_tag
      """)
    zones = try connection.prepare(
      "SELECT zone FROM zones WHERE account = ? AND zone > ? ORDER BY zone LIMIT ?")
    zonesWithin = try connection.prepare(
      """
      SELECT zone FROM zones
      WHERE account = ? AND zone > ? AND zone IN (SELECT value FROM json_each(?))
      ORDER BY zone LIMIT ?
      """)
    record = try connection.prepare(
      """
      SELECT \(RecordRow.columns), chunks, includes FROM records
      WHERE account = ? AND zone = ? AND name = ?
      """)
    // Reads only the index.
    scanned = try connection.prepare(
      """
      SELECT tag FROM records INDEXED BY records_by_tag WHERE account = ? AND tag > ?
      ORDER BY tag LIMIT 1 OFFSET \(Limits.scannedRecords - 1)
      """)
    pages = (
      all: try PageQueries(connection, where: ""),
      zone: try PageQueries(connection, where: "AND zone = ?4"),
      scope: try PageQueries(
        connection, where: "AND zone IN (SELECT value FROM json_each(?4))")
    )
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    // Requests with several statements read one consistent state of the database.
    try connection.read { () throws(StorageError) in
      let result = try answer(request)
      guard case .refused = result, let account = request.resident,
        let departure = try residences.departure(of: account)
      else { return result }
      return .refused(departure.refusal)
    }
  }

  private func answer(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    switch request {
    case .authenticate(let tokenHash): try accounts.principal(tokenHash)
    case .accountCount: try accounts.count()
    case .accounts(let after, let limit): try accounts.list(after: after, limit: limit)
    case .account(let account): try accounts.summary(of: account)
    case .devices(let account): try accounts.devices(of: account)
    case .newestToken(let account):
      try head(of: account).map { .token($0.token) } ?? .refused(StoreRefusals.unknownAccount)
    case .zones(let account, let after, let within, let limit):
      try zones(of: account, after: after, within: within, limit: limit)
    case .record(let account, let key): try live(key, of: account)
    case .changes(let account, let since, let zones, let limit):
      try page(of: account, since: since, zones: zones, limit: limit)
    case .chunk(let account, let hash): try chunks.chunk(hash, of: account)
    case .namedChunks(let account, let hashes, let zones):
      try chunks.named(hashes, in: zones, of: account)
    case .fileUses(let files): try chunks.uses(of: files)
    case .followAccounts(let accounts, _, _): try versions(of: accounts)
    case .wakes(let account, let device):
      try wakes.statuses(of: SleeperID(account: account, device: device))
    case .sleepers(let query): try wakes.sleepers(query)
    case .wakeKeys: .wakeKeys(try wakes.keys())
    case .residence(let account): .residence(try residences.residence(of: account))
    }
  }

  /// Makes the database contain all acknowledged saves that the request may show.
  func flush(_ log: CommitLog, for request: ReadRequest) throws(StorageError) {
    guard log.hasPending else { return }
    switch request {
    case .authenticate(let tokenHash):
      guard let account = try accounts.account(ofToken: tokenHash) else { return }
      try log.flush(for: account)
    case .changes(let account, _, _, _), .record(let account, _), .newestToken(let account),
      .zones(let account, _, _, _), .account(let account), .namedChunks(let account, _, _):
      try log.flush(for: account)
    case .followAccounts(let accounts, _, _):
      for account in accounts { try log.flush(for: account) }
    case .accounts, .sleepers(.after): try log.flushAll()
    case .sleepers(.accounts(let accounts)):
      // Most accounts have none.
      for account in accounts {
        if try wakes.exist(in: account) { try log.flush(for: account) }
      }
    // No save that is buffered changes these.
    case .chunk, .fileUses, .devices, .accountCount, .wakes, .wakeKeys, .residence: return
    }
  }

  /// Returns the record with this key, tombstones included.
  func record(_ key: RecordKey, of account: AccountID) throws(StorageError) -> Record? {
    try record.bind(account.rawValue).bind(key.zone).bind(key.name).first {
      (row) throws(StorageError) in try whole(row)
    }
  }

  /// Returns all records that were saved after a tag, in the order of tags.
  func records(of account: AccountID, after tag: ChangeTag) throws(StorageError) -> [Record] {
    try pages.all.changes.bind(account.rawValue).bind(tag).bind(Int64.max).all {
      (row) throws(StorageError) in try whole(row)
    }
  }

  /// Returns the tag of the last row that one scan from a tag on reads; nil if there are fewer rows
  /// than `Limits.scannedRecords`.
  func scanEnd(of account: AccountID, after tag: ChangeTag) throws(StorageError) -> ChangeTag? {
    try scanned.bind(account.rawValue).bind(tag).first { $0.integer(0) }
  }

  private func live(_ key: RecordKey, of account: AccountID) throws(StorageError) -> ReadResult {
    guard let record = try record(key, of: account), !record.isDeleted else {
      return .refused(StoreRefusals.unknownRecord)
    }
    return .record(record)
  }

  func head(of account: AccountID) throws(StorageError) -> AccountHead? {
    try head.bind(account.rawValue).first { row in HeadRow.head(row) }
  }

  private func versions(of accounts: [AccountID]) throws(StorageError) -> ReadResult {
    var versions: [AccountVersion] = []
    for account in accounts {
      guard let head = try head(of: account) else { continue }
      // One relay has the store, and made the membership changes itself.
      versions.append(AccountVersion(account: account, token: head.token, membershipVersion: 0))
    }
    return .accountVersions(versions, relays: [])
  }

  /// Returns the tag at which the token's generation ended, if it is one before the account's own.
  func end(
    of token: ChangeToken, in head: AccountHead, of account: AccountID
  ) throws(StorageError) -> ChangeTag? {
    if token.generation == head.generation { return nil }
    return try lineage.bind(account.rawValue).bind(Int64(token.generation)).first {
      $0.integer(0)
    }
  }

  /// Returns the gap that contains the tag, if any.
  func gap(
    at tag: ChangeTag, in head: AccountHead, of account: AccountID
  ) throws(StorageError) -> TagGap? {
    try head.gap(at: tag, in: run) { (tag) throws(StorageError) in
      try firstGap(from: tag, of: account)
    }
  }

  func gap(
    of token: ChangeToken, in head: AccountHead, of account: AccountID
  ) throws(StorageError) -> TagGap? {
    try head.gap(of: token, in: run) { (tag) throws(StorageError) in
      try firstGap(from: tag, of: account)
    }
  }

  private func firstGap(
    from tag: ChangeTag, of account: AccountID
  ) throws(StorageError) -> TagGap? {
    try gap.bind(account.rawValue).bind(tag).first {
      TagGap(after: $0.integer(0), through: $0.integer(1))
    }
  }

  private func zones(
    of account: AccountID, after: Name?, within scope: [Name]?, limit: Int
  ) throws(StorageError) -> ReadResult {
    guard try head(of: account) != nil else { return .refused(StoreRefusals.unknownAccount) }
    let count = max(1, min(limit, Limits.listedZones))
    let query = (scope == nil ? zones : zonesWithin).bind(account.rawValue)
      .bind(after?.text ?? "")
    if let scope { query.bind(scope) }
    let names = try query.bind(Int64(count + 1)).all { (row) throws(StorageError) in
      try row.name(0)
    }
    return .zones(Array(names.prefix(count)), more: names.count > count)
  }

  private func page(
    of account: AccountID, since: ChangeToken?, zones: ZoneSelection, limit: Int
  ) throws(StorageError) -> ReadResult {
    guard let head = try head(of: account) else { return .refused(StoreRefusals.unknownAccount) }
    let endedAt = try since.flatMap { (token) throws(StorageError) in
      try end(of: token, in: head, of: account)
    }
    let passed = try since.flatMap { (token) throws(StorageError) in
      try gap(of: token, in: head, of: account)
    }
    var plan: PagePlan
    do {
      plan = try PagePlan(
        since: since, zones: zones, limit: limit, head: head, endedAt: endedAt, gap: passed)
    } catch {
      return .refused(error)
    }
    let queries =
      switch zones {
      case .all: pages.all
      case .zone: pages.zone
      case .scope: pages.scope
      }
    let query = plan.isSnapshot ? queries.snapshot : queries.changes
    if plan.isSparse { plan.endScan(at: try scanEnd(of: account, after: plan.after)) }
    query.bind(account.rawValue).bind(plan.after).bind(plan.last)
    switch zones {
    case .all: break
    case .zone(let zone): query.bind(zone)
    case .scope(let zones): query.bind(zones)
    }
    defer { query.reset() }
    while try query.step(), plan.addRecord(try whole(query)) {}
    guard let first = plan.gapsAfter else { return .page(plan.page()) }
    let gaps = try gaps(of: account, after: first)
    return .page(plan.page(gaps: head.gaps(gaps, in: run, account)))
  }

  private func gaps(
    of account: AccountID, after tag: ChangeTag
  ) throws(StorageError) -> [TagGap] {
    try gaps.bind(account.rawValue).bind(tag).all { (row) throws(StorageError) in
      TagGap(after: row.integer(0), through: row.integer(1))
    }
  }

  /// Returns the record with the chunks and the lost versions that it names.
  private func whole(_ row: SQLiteStatement) throws(StorageError) -> Record {
    var record = try row.record()
    record.chunks = try chunks.hashes(row, 7)
    record.includes = row.fingerprints(8)
    return record
  }
}

/// Column layout of an account's complete head.
enum HeadRow {
  static let columns = "generation, newest, forgotten, run, range_start"
  static let count: Int32 = 5

  static func head(_ row: SQLiteStatement) -> AccountHead {
    var head = AccountHead(row, from: 0)
    head.run = row.bits(3)
    head.rangeStart = row.integer(4)
    return head
  }
}

extension AccountHead {
  /// Reads `generation`, `newest` and `forgotten`, starting at a column.
  init(_ row: SQLiteStatement, from column: Int32) {
    self.init(
      generation: UInt32(truncatingIfNeeded: row.integer(column)),
      newest: row.integer(column + 1), forgotten: row.integer(column + 2))
  }
}

/// A read-only view of a relay's store for another thread than the writer's. Each `read` returns
/// all that was committed before it. It waits for a commit only if the account has saves that are
/// not in the database yet, and then has them written there.
package final class SQLiteZoneReader: ZoneReader {
  let connection: SQLiteConnection
  private let queries: ZoneQueries
  private let commitLog: CommitLog?
  /// True while reads share a view of the database that lacks no acknowledged save.
  private var sharesView = false

  /// `run`: the run of the writer. `commitLog`: the writer's, if it uses one.
  init(path: String, run: UInt64, commitLog: CommitLog?) throws(StorageError) {
    connection = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    queries = try ZoneQueries(connection, run: run)
    self.commitLog = commitLog
  }

  deinit { close() }

  package func close() { connection.close() }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    if !sharesView, let commitLog { try queries.flush(commitLog, for: request) }
    return try queries.read(request)
  }

  package func readTogether<Value>(_ body: () -> Value) -> Value {
    // Checked before the view begins: a save that is flushed during the view is not in it.
    if let commitLog, commitLog.hasPending { return body() }
    var value: Value?
    sharesView = true
    defer { sharesView = false }
    do throws(StorageError) {
      try connection.read { () throws(StorageError) in value = body() }
    } catch {
      // Each read reports its own error. The end of a view that only reads loses nothing.
    }
    return value ?? body()
  }
}
