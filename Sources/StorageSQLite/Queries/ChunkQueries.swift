import LockstepModel
import LockstepStorage

/// Queries on the chunks of files, on the connection of the writer or of a reader.
final class ChunkQueries {
  private let connection: SQLiteConnection
  private let chunk: SQLiteStatement
  private let file: SQLiteStatement
  private let lists: SQLiteStatement

  init(_ connection: SQLiteConnection) throws(StorageError) {
    self.connection = connection
    chunk = try connection.prepare(
      "SELECT file, bytes, doubtful FROM chunks WHERE account = ? AND hash = ?")
    file = try connection.prepare("SELECT doubtful FROM chunks WHERE account = ? AND file = ?")
    lists = try connection.prepare(
      """
      SELECT chunks FROM records INDEXED BY records_with_chunks
      WHERE account = ?1 AND zone IN (SELECT value FROM json_each(?2)) AND chunks IS NOT NULL
        AND fields IS NOT NULL
      """)
  }

  /// A chunk. It is doubtful if an older copy of the store was put back since the chunk arrived:
  /// its file may be missing, so the chunk is requested and accepted once more.
  struct Known {
    var stored: StoredChunk
    var isUnverified: Bool
  }

  func find(_ hash: ChunkHash, of account: AccountID) throws(StorageError) -> Known? {
    try chunk.bind(account.rawValue).bind(hash).first { row in
      Known(
        stored: StoredChunk(
          file: ChunkFile(account: account, number: row.bits(0)),
          bytes: Int(clamping: row.integer(1))),
        isUnverified: row.integer(2) != 0)
    }
  }

  func chunk(_ hash: ChunkHash, of account: AccountID) throws(StorageError) -> ReadResult {
    try find(hash, of: account).map { .chunk($0.stored) } ?? .refused(StoreRefusals.unknownChunk)
  }

  /// Returns the chunks as far as live records of these zones name them. A device of these zones
  /// must not learn by the time of the answer whether the account has a chunk for others, so the
  /// records are read also if the account has none of the chunks.
  func named(
    _ hashes: [ChunkHash], in zones: [Name], of account: AccountID
  ) throws(StorageError) -> ReadResult {
    var missing = Set(hashes)
    var named: [ChunkHash: StoredChunk] = [:]
    lists.bind(account.rawValue).bind(zones)
    defer { lists.reset() }
    while !missing.isEmpty, try lists.step() {
      for hash in try self.hashes(lists, 0) where missing.remove(hash) != nil {
        guard let chunk = try find(hash, of: account), !chunk.isUnverified else { continue }
        named[hash] = chunk.stored
      }
    }
    return .namedChunks(hashes.map { named[$0] })
  }

  func uses(of files: [ChunkFile]) throws(StorageError) -> ReadResult {
    var uses: [FileUse] = []
    for name in files {
      let use = try file.bind(name.account.rawValue).bind(name.number).first { row in
        row.integer(0) != 0 ? FileUse.unverified : .verified
      }
      uses.append(use ?? .none)
    }
    return .fileUses(uses)
  }

  /// Returns the hashes of the chunks that a record names, from this column of its row.
  func hashes(_ row: SQLiteStatement, _ column: Int32) throws(StorageError) -> [ChunkHash] {
    guard let hashes = row.chunks(column) else {
      throw connection.corruption("a record's list of chunks is truncated")
    }
    return hashes
  }
}
