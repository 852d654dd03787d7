import LockstepModel
import LockstepStorage

/// Removes an account and all its data in portions, one per commit: first its devices, then
/// records, remembered batches and chunks, and the account's own row last. After each commit the
/// remaining data is consistent, including the counters and the chunk reference counts. A removal
/// that is requested again after a crash continues at that point.
final class AccountRemover {
  private let queries: ZoneQueries
  private let records: RecordWriter
  private let chunks: ChunkWriter
  private let rules: StoreRules
  /// Deletes an account's rows from the tables that are small.
  private let access: [SQLiteStatement]
  private let ends: [SQLiteStatement]
  private let someRecords: SQLiteStatement
  private let deleteRecord: SQLiteStatement
  private let someBatches: SQLiteStatement
  private let deleteBatch: SQLiteStatement
  private let someChunks: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, records: RecordWriter,
    chunks: ChunkWriter, rules: StoreRules
  ) throws(StorageError) {
    self.queries = queries
    self.records = records
    self.chunks = chunks
    self.rules = rules
    func removals(_ tables: [String]) throws(StorageError) -> [SQLiteStatement] {
      var removals: [SQLiteStatement] = []
      for table in tables {
        removals.append(try connection.prepare("DELETE FROM \(table) WHERE account = ?"))
      }
      return removals
    }
    access = try removals(["devices", "pairings", "subscriptions"])
    ends = try removals(["zones", "lineage", "gaps", "accounts"])
    someRecords = try connection.prepare(
      """
      SELECT number, zone, fields IS NOT NULL, \(RecordRow.storedBytes), chunks
      FROM records INDEXED BY records_by_tag WHERE account = ? ORDER BY tag LIMIT ?
      """)
    deleteRecord = try connection.prepare("DELETE FROM records WHERE number = ?")
    someBatches = try connection.prepare(
      "SELECT number, length(words) FROM batches WHERE account = ? LIMIT ?")
    deleteBatch = try connection.prepare("DELETE FROM batches WHERE number = ?")
    someChunks = try connection.prepare("SELECT hash, bytes FROM chunks WHERE account = ? LIMIT ?")
  }

  func remove(_ id: AccountID, wall: Int64) throws(StorageError) -> CommitResult {
    guard let head = try queries.head(of: id) else {
      return .refused(StoreRefusals.unknownAccount)
    }
    for removal in access { try removal.bind(id.rawValue).run() }
    var left = rules.deletedPerCommit
    var gone = try removeRecords(left, of: id, wall: wall)
    left -= Int(gone.records)
    let batches = try removeBatches(left, of: id)
    left -= Int(batches.batches)
    gone += batches
    if left > 0 { left -= try removeChunks(left, of: id) }
    guard left > 0 else {
      try records.advance(id, from: head, to: head, -gone)
      return .removing
    }
    for removal in ends { try removal.bind(id.rawValue).run() }
    return .done
  }

  private func removeRecords(
    _ count: Int, of id: AccountID, wall: Int64
  ) throws(StorageError) -> AccountUse {
    typealias Row = (
      number: Int64, zone: Name, isLive: Bool, bytes: Int64, chunks: [ChunkHash]
    )
    let rows = try someRecords.bind(id.rawValue).bind(Int64(count)).all {
      (row) throws(StorageError) -> Row in
      (
        row.integer(0), try row.name(1), row.integer(2) != 0, row.integer(3),
        try queries.chunks.hashes(row, 4)
      )
    }
    var uses = ChunkUses()
    var live: [Name: Int] = [:]
    for row in rows {
      try deleteRecord.bind(row.number).run()
      uses.replace(row.chunks, by: [])
      if row.isLive { live[row.zone, default: 0] += 1 }
    }
    try chunks.apply(uses.changes, to: id, wall: wall)
    for zone in live.keys.sorted() { try records.count(-(live[zone] ?? 0), in: zone, of: id) }
    return AccountUse(bytes: rows.reduce(0) { $0 + $1.bytes }, records: Int64(rows.count))
  }

  private func removeBatches(_ count: Int, of id: AccountID) throws(StorageError) -> AccountUse {
    let rows = try someBatches.bind(id.rawValue).bind(Int64(count)).all { row in
      (number: row.integer(0), words: Int(clamping: row.integer(1)))
    }
    var gone = AccountUse()
    for row in rows {
      try deleteBatch.bind(row.number).run()
      gone += RememberedBatch.use(words: row.words)
    }
    return gone
  }

  private func removeChunks(_ count: Int, of id: AccountID) throws(StorageError) -> Int {
    let rows = try someChunks.bind(id.rawValue).bind(Int64(count)).all { row in
      (hash: row.bytes(0), bytes: row.integer(1))
    }
    for row in rows { try chunks.remove(row.hash, of: id, bytes: row.bytes) }
    return rows.count
  }
}
