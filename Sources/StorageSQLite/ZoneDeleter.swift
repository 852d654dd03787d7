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
  private let bury: SQLiteStatement

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
    bury = try connection.prepare(
      """
      UPDATE records SET fields = NULL, chunks = NULL, tag = ?2, device = ?3, modified_at = ?4,
        deleted_at = ?4
      WHERE number = ?1
      """)
  }

  func delete(
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
    return try delete(
      ZonePortion(after: 0, end: end), of: zone, by: device, of: account, wall: wall)
  }

  /// Deletes the first records of the portion; the result says what is left.
  func delete(
    _ portion: ZonePortion, of zone: Name, by device: DeviceID, of account: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let head = try head(of: account, for: device) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let scanned = try queries.scanEnd(of: account, after: portion.after)
    var rows = try rows(of: portion, in: zone, through: scanned, of: account)
    let rest = portion.rest(
      scanned: scanned, deleted: rows.count, last: rows.last?.tag, limit: rules.deletedPerCommit)
    try release(rows, of: account, wall: wall)
    var entered = head.entering(queries.run, account)
    try buryAll(&rows, after: entered, by: device, wall: wall)
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
  private func release(
    _ rows: [Row], of account: AccountID, wall: Int64
  ) throws(StorageError) {
    var uses = ChunkUses()
    for row in rows where !row.chunks.isEmpty { uses.replace(row.chunks, by: []) }
    try chunks.apply(uses.changes, to: account, wall: wall)
  }

  /// Assigns rising tags in the order in which the records were saved. Writes the rows in table
  /// order, which is twice as fast if that order differs from the order of saves.
  private func buryAll(
    _ rows: inout [Row], after head: AccountHead, by device: DeviceID, wall: Int64
  ) throws(StorageError) {
    for index in rows.indices { rows[index].newTag = head.newest + ChangeTag(index) + 1 }
    rows.sort { $0.number < $1.number }
    for row in rows {
      try bury.bind(row.number).bind(row.newTag).bind(device.rawValue).bind(wall).run()
    }
  }
}
