import Changes
import Storage

/// Makes tombstones of all of a zone at once.
final class ZoneDeleter {
  private let queries: ZoneQueries
  private let records: RecordWriter
  private let chunks: ChunkWriter
  private let member: SQLiteStatement
  private let live: SQLiteStatement
  private let named: SQLiteStatement
  private let bury: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, records: RecordWriter,
    chunks: ChunkWriter
  ) throws(StorageError) {
    self.queries = queries
    self.records = records
    self.chunks = chunks
    member = try connection.prepare("SELECT 1 FROM devices WHERE account = ? AND device = ?")
    // The index by name holds a zone together; the one by tag holds the whole account.
    live = try connection.prepare(
      """
      SELECT number, tag FROM records INDEXED BY records_by_name
      WHERE account = ? AND zone = ? AND tag <= ? AND fields IS NOT NULL
      """)
    named = try connection.prepare(
      """
      SELECT chunks FROM records INDEXED BY records_by_name
      WHERE account = ? AND zone = ? AND tag <= ? AND chunks IS NOT NULL
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
    guard try member.bind(account.rawValue).bind(device.rawValue).first({ _ in true }) ?? false,
      let head = try queries.head(of: account)
    else { return .refused(StoreRefusals.revokedDevice) }
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
    try release(zone, through: end, of: account, wall: wall)
    var entered = head.entering(queries.run, account)
    let count = try buryAll(
      zone, through: end, after: entered, by: device, of: account, wall: wall)
    let deletion = try ZoneDeletion(head, entered, count) { () throws(StorageError) in
      try queries.records(of: account, after: head.newest)
    }
    if count > 0 {
      try records.count(-count, in: zone, of: account)
      entered.newest = deletion.token.sequence
      try records.advance(account, from: head, to: entered)
    }
    return .zoneDeleted(deletion)
  }

  /// The records let go of the pieces that they name.
  private func release(
    _ zone: Name, through end: ChangeTag, of account: AccountID, wall: Int64
  ) throws(StorageError) {
    var uses = ChunkUses()
    named.bind(account.rawValue).bind(zone).bind(end)
    defer { named.reset() }
    while try named.step() { uses.replace(try queries.chunks.hashes(named, 0), by: []) }
    try chunks.apply(uses.changes, to: account, wall: wall)
  }

  /// Tags rise in the order in which the records were saved. The rows are written in the order in
  /// which they lie, which is twice as fast once they have been saved in another one.
  private func buryAll(
    _ zone: Name, through end: ChangeTag, after head: AccountHead, by device: DeviceID,
    of account: AccountID, wall: Int64
  ) throws(StorageError) -> Int {
    var rows = try live.bind(account.rawValue).bind(zone).bind(end).all { row in
      (number: row.integer(0), tag: row.integer(1))
    }
    rows.sort { $0.tag < $1.tag }
    for index in rows.indices { rows[index].tag = head.newest + ChangeTag(index) + 1 }
    rows.sort { $0.number < $1.number }
    for row in rows {
      try bury.bind(row.number).bind(row.tag).bind(device.rawValue).bind(wall).run()
    }
    return rows.count
  }
}
