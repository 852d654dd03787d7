import LockstepModel
import LockstepStorage

/// Writes an account's chunks of files, the number of records that name each chunk, and the lease
/// until which an unnamed chunk is kept.
final class ChunkWriter {
  private let queries: ChunkQueries
  private let rules: StoreRules
  private let held: SQLiteStatement
  private let insert: SQLiteStatement
  private let renew: SQLiteStatement
  private let replace: SQLiteStatement
  private let setUnverified: SQLiteStatement
  private let change: SQLiteStatement
  private let spent: SQLiteStatement
  private let delete: SQLiteStatement
  private let count: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: ChunkQueries, rules: StoreRules
  ) throws(StorageError) {
    self.queries = queries
    self.rules = rules
    held = try connection.prepare("SELECT chunk_bytes FROM accounts WHERE account = ?")
    insert = try connection.prepare("INSERT INTO chunks VALUES (?, ?, ?, ?, 0, ?, 0)")
    renew = try connection.prepare(
      "UPDATE chunks SET lease_until = ?3 WHERE account = ?1 AND hash = ?2")
    replace = try connection.prepare(
      "UPDATE chunks SET file = ?3, doubtful = 0 WHERE account = ?1 AND hash = ?2")
    setUnverified = try connection.prepare(
      "UPDATE chunks SET doubtful = ?3 WHERE account = ?1 AND file = ?2 AND doubtful <> ?3")
    change = try connection.prepare(
      """
      UPDATE chunks SET uses = uses + ?3,
        lease_until = CASE uses + ?3 WHEN 0 THEN ?4 ELSE lease_until END
      WHERE account = ?1 AND hash = ?2
      """)
    spent = try connection.prepare(
      """
      SELECT account, hash, file, bytes FROM chunks INDEXED BY chunks_unused
      WHERE uses = 0 AND lease_until <= ? ORDER BY lease_until, account, hash LIMIT ?
      """)
    delete = try connection.prepare("DELETE FROM chunks WHERE account = ? AND hash = ?")
    count = try connection.prepare(
      "UPDATE accounts SET chunk_bytes = chunk_bytes + ?2 WHERE account = ?1")
  }

  func addChunk(
    _ hash: ChunkHash, of account: AccountID, file: ChunkFile, bytes: Int, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard let held = try held.bind(account.rawValue).first({ $0.integer(0) }) else {
      return .refused(StoreRefusals.unknownAccount)
    }
    let leaseUntil = wall + rules.chunkLeaseMilliseconds
    if let known = try queries.find(hash, of: account) {
      try renew.bind(account.rawValue).bind(hash).bind(leaseUntil).run()
      try replace.bind(account.rawValue).bind(hash).bind(file.number).run()
      return .chunkReplaced(known.stored.file, wasLacking: known.isUnverified)
    }
    guard Int64(bytes) <= rules.chunkBytesPerAccount - held else {
      return .refused(StoreRefusals.quotaExceeded)
    }
    try insert.bind(account.rawValue).bind(hash).bind(file.number).bind(Int64(bytes))
      .bind(leaseUntil).run()
    try count.bind(account.rawValue).bind(Int64(bytes)).run()
    return .chunkAdded
  }

  func renewChunks(
    _ hashes: [ChunkHash], of account: AccountID, wall: Int64
  ) throws(StorageError) -> CommitResult {
    guard try held.bind(account.rawValue).first({ _ in true }) ?? false else {
      return .refused(StoreRefusals.unknownAccount)
    }
    var bytes: [Int?] = []
    bytes.reserveCapacity(hashes.count)
    for hash in hashes {
      let known = try queries.find(hash, of: account)
      bytes.append(known.flatMap { $0.isUnverified ? nil : $0.stored.bytes })
      if known == nil { continue }
      try renew.bind(account.rawValue).bind(hash).bind(wall + rules.chunkLeaseMilliseconds).run()
    }
    return .renewed(bytes: bytes)
  }

  func setUnverified(
    _ files: [ChunkFile], _ isUnverified: Bool
  ) throws(StorageError) -> CommitResult {
    for file in files {
      try setUnverified.bind(file.account.rawValue).bind(file.number)
        .bind(isUnverified ? 1 as Int64 : 0).run()
    }
    return .done
  }

  /// Changes the number of records that name each chunk. A chunk that no record names any more gets
  /// a new lease.
  func applyChanges(
    _ changes: [ChunkChange], to account: AccountID, wall: Int64
  ) throws(StorageError) {
    for change in changes {
      try self.change.bind(account.rawValue).bind(change.hash).bind(Int64(change.change))
        .bind(wall + rules.chunkLeaseMilliseconds).run()
    }
  }

  func collectChunks(atMost limit: Int, wall: Int64) throws(StorageError) -> CommitResult {
    typealias Spent = (account: AccountID, hash: [UInt8], file: UInt64, bytes: Int64)
    let gone = try spent.bind(wall).bind(Int64(max(0, limit))).all { row -> Spent in
      (AccountID(rawValue: row.bits(0)), row.bytes(1), row.bits(2), row.integer(3))
    }
    for chunk in gone { try removeChunk(chunk.hash, of: chunk.account, bytes: chunk.bytes) }
    return .collected(gone.map { ChunkFile(account: $0.account, number: $0.file) })
  }

  /// Removes the chunk from the account.
  func removeChunk(_ hash: [UInt8], of account: AccountID, bytes: Int64) throws(StorageError) {
    try delete.bind(account.rawValue).bind(hash).run()
    try count.bind(account.rawValue).bind(-bytes).run()
  }
}
