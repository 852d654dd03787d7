import LockstepModel
import LockstepStorage

/// A fault in a relay's store.
package struct StoreFault: Hashable, Sendable {
  /// Stable identifier of the kind of fault.
  package var code: String
  /// Account that the fault belongs to; nil if it belongs to no single account.
  package var account: AccountID?
  package var detail: String

  package init(_ code: String, _ account: AccountID?, _ detail: String) {
    self.code = code
    self.account = account
    self.detail = detail
  }
}

/// Counts of a relay's database.
package struct StoreCounts: Hashable, Sendable {
  package var schema = 0
  package var accounts = 0
  package var devices = 0
  /// Number of records, without deleted ones.
  package var records = 0
  package var chunks = 0
  package var chunkBytes: Int64 = 0
  /// Bytes of the database, without its log.
  package var databaseBytes: Int64 = 0

  package init(schema: Int = 0) { self.schema = schema }
}

/// A chunk of a file, as stored in a relay's database.
package struct ExportedChunkContent: Hashable, Sendable {
  package var hash: ChunkHash
  package var file: ChunkFile
  package var bytes: Int
  /// True if a record names the chunk.
  package var isNamed: Bool
  /// True if an older copy of the store was put back since the chunk arrived: its file may be
  /// missing.
  package var isDoubtful: Bool
}

/// Reads a relay's database, which other processes may have open, and changes nothing. Supports
/// stores of every version up to the newest.
package final class ZoneInspector {
  let connection: SQLiteConnection
  package let schema: Int
  /// nil if the store is of version 1, which had no files.
  private let chunkQueries: ChunkOwnershipQueries?

  private struct ChunkOwnershipQueries {
    let page, standing, file: SQLiteStatement
  }

  /// Throws `tooNew`, `corrupt` or `failed` as their names say.
  package init(directory: String) throws(StorageError) {
    try SQLiteZoneStore.refuseHalf(of: directory)
    let path = SQLiteZoneStore.path(in: directory)
    connection = try SQLiteConnection(path: path, role: .reader, schema: .zones)
    schema = Int(clamping: try connection.number("PRAGMA user_version"))
    guard schema >= 2 else {
      chunkQueries = nil
      return
    }
    chunkQueries = ChunkOwnershipQueries(
      page: try connection.prepare(
        """
        SELECT account, hash, file, bytes, uses, doubtful FROM chunks
        WHERE (account, hash) > (?, ?) ORDER BY account, hash LIMIT ?
        """),
      standing: try connection.prepare(
        "SELECT 1 FROM chunks WHERE account = ? AND hash = ? AND file = ?"),
      file: try connection.prepare("SELECT 1 FROM chunks WHERE account = ? AND file = ?"))
  }

  deinit { close() }

  package func close() { connection.close() }

  package func counts() throws(StorageError) -> StoreCounts {
    try connection.read { () throws(StorageError) in
      var counts = StoreCounts(schema: schema)
      counts.databaseBytes =
        try connection.number("PRAGMA page_count") * connection.number("PRAGMA page_size")
      guard schema > 0 else { return counts }
      counts.accounts = Int(try connection.number("SELECT count(*) FROM accounts"))
      counts.devices = Int(try connection.number("SELECT count(*) FROM devices"))
      counts.records = Int(
        try connection.number("SELECT count(*) FROM records WHERE fields IS NOT NULL"))
      guard chunkQueries != nil else { return counts }
      counts.chunks = Int(try connection.number("SELECT count(*) FROM chunks"))
      counts.chunkBytes = try connection.number("SELECT sum(bytes) FROM chunks")
      return counts
    }
  }

  // MARK: chunks

  /// Returns at most `limit` chunks after `last`, in order.
  package func chunks(after last: ExportedChunkContent?, limit: Int) throws(StorageError)
    -> [ExportedChunkContent]
  {
    guard let page = chunkQueries?.page else { return [] }
    let account = last.map { Int64(bitPattern: $0.file.account.rawValue) } ?? .min
    return try page.bind(account).bind(last?.hash.bytes ?? []).bind(Int64(limit))
      .all { row throws(StorageError) in
        guard let hash = ChunkHash(bytes: row.bytes(1)) else {
          throw row.damage("a chunk's hash has not 32 bytes")
        }
        return ExportedChunkContent(
          hash: hash,
          file: ChunkFile(account: AccountID(rawValue: row.bits(0)), number: row.bits(2)),
          bytes: Int(clamping: row.integer(3)), isNamed: row.integer(4) > 0,
          isDoubtful: row.integer(5) != 0)
      }
  }

  /// True if the chunk is still stored in its file.
  package func has(_ chunk: ExportedChunkContent) throws(StorageError) -> Bool {
    guard let standing = chunkQueries?.standing else { return false }
    return try standing.bind(chunk.file.account.rawValue).bind(chunk.hash).bind(chunk.file.number)
      .first { _ in true } ?? false
  }

  /// True if the file holds a chunk.
  package func hasChunk(in file: ChunkFile) throws(StorageError) -> Bool {
    guard let statement = chunkQueries?.file else { return false }
    return try statement.bind(file.account.rawValue).bind(file.number).first { _ in true } ?? false
  }

  // MARK: copying

  /// Copies a consistent state of the database to a new one in `folder`. Returns false if `goesOn`
  /// returned false; it is called repeatedly with the number of pages copied and the total.
  package func copy(
    to folder: String, goesOn: (_ pages: Int, _ of: Int) -> Bool
  ) throws(StorageError) -> Bool {
    try connection.copy(to: SQLiteZoneStore.path(in: folder), goesOn: goesOn)
  }

  /// Turns a copy in `folder` into a backup: one durable file that any store treats as an older
  /// copy after a restore. `lacking`: chunks whose files are not complete; devices that hold them
  /// will be asked for them.
  package static func settleCopy(
    in folder: String, opening: UInt64, lacking: [ExportedChunkContent]
  ) throws(StorageError) {
    let path = SQLiteZoneStore.path(in: folder)
    let copy = try SQLiteConnection(path: path, role: .copy, schema: .zones)
    defer { copy.close() }
    guard try copy.number("PRAGMA user_version") >= 2 else { return }
    let put = try copy.prepare("INSERT OR REPLACE INTO opening VALUES (1, ?)")
    let doubt = try copy.prepare("UPDATE chunks SET doubtful = 1 WHERE account = ? AND hash = ?")
    try copy.write { () throws(StorageError) in
      try put.bind(opening).run()
      for chunk in lacking {
        try doubt.bind(chunk.file.account.rawValue).bind(chunk.hash).run()
      }
    }
  }
}
