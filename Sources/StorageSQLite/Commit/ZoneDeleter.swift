import LockstepModel
import LockstepStorage

/// Turns a zone's records into tombstones, in portions, one per commit.
final class ZoneDeleter {
  private let queries: ZoneQueries
  private let records: RecordWriter
  private let chunks: ChunkWriter
  private let rules: StoreRules
  private let member: SQLiteStatement
  private let live: SQLiteStatement
  private let makeTombstone: SQLiteStatement

  private struct Row {
    var number: Int64
    /// The record's tag, and the tag of its tombstone.
    var tag: ChangeTag
    var newTag: ChangeTag = 0
    /// Bytes by which the tombstone is smaller than the record.
    var bytes: Int64
    var chunks: [ChunkHash]
  }

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, records: RecordWriter,
    chunks: ChunkWriter, rules: StoreRules
  ) throws(StorageError) {
    self.queries = queries
    self.records = records
    self.chunks = chunks
    self.rules = rules
    member = try connection.prepare("SELECT 1 FROM devices WHERE account = ? AND device = ?")
    // In the order of tags, with the zone in the index: rows of other zones are skipped unread.
    live = try connection.prepare(
      """
      SELECT number, tag, coalesce(length(fields), 0) + coalesce(length(chunks), 0), chunks
      FROM records INDEXED BY records_by_tag
      WHERE account = ? AND tag > ? AND tag <= ? AND zone = ? AND fields IS NOT NULL
      ORDER BY tag LIMIT ?
      """)
    makeTombstone = try connection.prepare(
      """
      UPDATE records SET fields = NULL, chunks = NULL, tag = ?2, device = ?3, modified_at = ?4,
        deleted_at = ?4
      WHERE number = ?1
      """)
  }

  func deleteZone(
    _ zone: Name, through: ChangeToken?, by device: DeviceID, of account: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let head = try head(of: account, for: device) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let endedAt = try through.flatMap { (token) throws(StorageError) in
      try queries.end(of: token, in: head, of: account)
    }
    let gap = try through.flatMap { (token) throws(StorageError) in
      try queries.gap(of: token, in: head, of: account)
    }
    let end: ChangeTag
    do throws(Refusal) {
      end = try head.end(ofDeleting: zone, through: through, endedAt: endedAt, gap: gap)
    } catch {
      return .refused(error)
    }
    return try deletePortion(
      ZonePortion(after: 0, end: end), of: zone, by: device, of: account, wall: wall)
  }

  /// Deletes the first records of the portion; the result names the rest.
  func deletePortion(
    _ portion: ZonePortion, of zone: Name, by device: DeviceID, of account: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let head = try head(of: account, for: device) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let scanned = try queries.scanEnd(of: account, after: portion.after)
    var rows = try rows(of: portion, in: zone, through: scanned, of: account)
    let rest = portion.rest(
      scanned: scanned, deleted: rows.count, last: rows.last?.tag, limit: rules.deletedPerCommit)
    try releaseChunks(of: rows, of: account, wall: wall)
    var entered = head.entering(queries.run, account)
    try makeTombstones(&rows, after: entered, by: device, wall: wall)
    let deletion = try ZoneDeletion(
      head, entered, rows.count, rest: rest
    ) { () throws(StorageError) in
      try queries.records(of: account, after: head.newest)
    }
    if !rows.isEmpty {
      try records.count(-rows.count, in: zone, of: account)
      let fewer = AccountUse(bytes: -rows.reduce(0) { $0 + $1.bytes })
      entered.newest = deletion.token.sequence
      try records.advance(account, from: head, to: entered, fewer)
    }
    return .zoneDeleted(deletion)
  }

  private func head(
    of account: AccountID, for device: DeviceID
  ) throws(StorageError) -> AccountHead? {
    guard try member.bind(account.rawValue).bind(device.rawValue).first({ _ in true }) ?? false
    else { return nil }
    return try queries.head(of: account)
  }

  private func rows(
    of portion: ZonePortion, in zone: Name, through scanned: ChangeTag?, of account: AccountID
  ) throws(StorageError) -> [Row] {
    live.bind(account.rawValue).bind(portion.after).bind(min(portion.end, scanned ?? .max))
    return try live.bind(zone).bind(Int64(rules.deletedPerCommit)).all {
      (row) throws(StorageError) in
      Row(
        number: row.integer(0), tag: row.integer(1), bytes: row.integer(2),
        chunks: try queries.chunks.hashes(row, 3))
    }
  }

  /// Decrements the use counts of the chunks that the records name.
  private func releaseChunks(
    of rows: [Row], of account: AccountID, wall: Int64
  ) throws(StorageError) {
    var uses = ChunkUses()
    for row in rows where !row.chunks.isEmpty { uses.replace(row.chunks, by: []) }
    try chunks.applyChanges(uses.changes, to: account, wall: wall)
  }

  /// Assigns rising tags in the order in which the records were saved. Writes the rows in table
  /// order, which is twice as fast if that order differs from the order of saves.
  private func makeTombstones(
    _ rows: inout [Row], after head: AccountHead, by device: DeviceID, wall: Int64
  ) throws(StorageError) {
    for index in rows.indices { rows[index].newTag = head.newest + ChangeTag(index) + 1 }
    rows.sort { $0.number < $1.number }
    for row in rows {
      try makeTombstone.bind(row.number).bind(row.newTag).bind(device.rawValue).bind(wall).run()
    }
  }
}

/// Deletes batches and tombstones that are older than the history kept.
final class HistoryPruner {
  private let rules: StoreRules
  private let oldestBatches: SQLiteStatement
  private let forgetBatch: SQLiteStatement
  private let oldTombstones: SQLiteStatement
  private let drop: SQLiteStatement
  private let recordDropped: SQLiteStatement
  private let recordForgotten: SQLiteStatement

  init(_ connection: SQLiteConnection, rules: StoreRules) throws(StorageError) {
    self.rules = rules
    // The oldest batches have the lowest numbers.
    oldestBatches = try connection.prepare(
      "SELECT number, made_at, account, length(words) FROM batches ORDER BY number LIMIT ?")
    forgetBatch = try connection.prepare("DELETE FROM batches WHERE number = ?")
    oldTombstones = try connection.prepare(
      """
      SELECT number, account, tag, \(RecordRow.storedBytes)
      FROM records INDEXED BY records_by_deletion
      WHERE deleted_at < ? ORDER BY deleted_at, account, tag LIMIT ?
      """)
    drop = try connection.prepare("DELETE FROM records WHERE number = ?")
    recordDropped = try connection.prepare(
      """
      UPDATE accounts SET forgotten = max(forgotten, ?2), record_bytes = record_bytes - ?3,
        record_count = record_count - 1
      WHERE account = ?1
      """)
    recordForgotten = try connection.prepare(
      """
      UPDATE accounts SET record_bytes = record_bytes - ?2, batch_count = batch_count - ?3
      WHERE account = ?1
      """)
  }

  /// Deletes at most `count` batches, and as many tombstones, that are older than the history kept,
  /// oldest first.
  func forget(_ count: Int, wall: Int64) throws(StorageError) {
    try forgetBatches(count, wall: wall)
    try forgetTombstones(count, wall: wall)
  }

  private func forgetBatches(_ count: Int, wall: Int64) throws(StorageError) {
    let old = try oldBatches(count, wall: wall)
    if old.isEmpty { return }
    // The batches usually belong to few accounts, so each account's counters are updated once.
    var uses: [UInt64: AccountUse] = [:]
    for batch in old {
      try forgetBatch.bind(batch.number).run()
      uses[batch.account, default: AccountUse()] += batch.use
    }
    for account in uses.keys.sorted() {
      let use = uses[account] ?? AccountUse()
      try recordForgotten.bind(account).bind(use.bytes).bind(use.batches).run()
    }
  }

  private func forgetTombstones(_ count: Int, wall: Int64) throws(StorageError) {
    let old = try oldTombstones.bind(wall - rules.historyMilliseconds).bind(Int64(count)).all {
      (number: $0.integer(0), account: $0.bits(1), tag: $0.integer(2), bytes: $0.integer(3))
    }
    for tombstone in old {
      try drop.bind(tombstone.number).run()
      try recordDropped.bind(tombstone.account).bind(tombstone.tag).bind(tombstone.bytes).run()
    }
  }

  private func oldBatches(
    _ count: Int, wall: Int64
  ) throws(StorageError) -> [(number: Int64, account: UInt64, use: AccountUse)] {
    var batches: [(number: Int64, account: UInt64, use: AccountUse)] = []
    oldestBatches.bind(Int64(count))
    defer { oldestBatches.reset() }
    while try oldestBatches.step(),
      oldestBatches.integer(1) < wall - rules.historyMilliseconds
    {
      let use = RememberedBatch.use(words: Int(clamping: oldestBatches.integer(3)))
      batches.append((oldestBatches.integer(0), oldestBatches.bits(2), use))
    }
    return batches
  }
}
