import LockstepModel
import LockstepStorage

/// An account's chunks of files, the number of records that name each chunk, and the lease until
/// which an unnamed chunk is kept.
extension CommitRun {
  func addChunk(
    _ hash: ChunkHash, of id: AccountID, file: ChunkFile, bytes: Int
  ) -> CommitResult {
    guard let account = accounts[id] else { return .refused(StoreRefusals.unknownAccount) }
    let chunk = SaveBatchPlanner.Chunk(account: id, hash: hash)
    let leaseUntil = wall + rules.chunkLeaseMilliseconds
    if var known = saves[chunk] {
      write(ChunkWriter.renew, renewal(of: [hash], in: id))
      let (old, wasLacking) = (ChunkFile(account: id, place: known.place), known.isDoubtful)
      write(
        ChunkWriter.replace,
        PostgresParameters().bind(id.rawValue).bind(hash.bytes).bind(file.place))
      known.place = file.place
      known.isDoubtful = false
      saves[chunk] = known
      return .chunkReplaced(old, wasLacking: wasLacking)
    }
    guard Int64(bytes) <= rules.chunkBytesPerAccount - account.chunkBytes else {
      return .refused(StoreRefusals.quotaExceeded)
    }
    write(
      ChunkWriter.insert,
      PostgresParameters().bind(id.rawValue).bind(hash.bytes).bind(file.place).bind(Int64(bytes))
        .bind(leaseUntil))
    write(ChunkWriter.count, PostgresParameters().bind(id.rawValue).bind(Int64(bytes)))
    accounts.addChunkBytes(Int64(bytes), to: id)
    saves[chunk] = SaveBatchPlanner.KnownChunk(
      place: file.place, bytes: Int64(bytes), isDoubtful: false)
    return .chunkAdded
  }

  func renewChunks(_ hashes: [ChunkHash], of id: AccountID) -> CommitResult {
    guard accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    let known = hashes.map { saves[SaveBatchPlanner.Chunk(account: id, hash: $0)] }
    if known.contains(where: { $0 != nil }) {
      write(ChunkWriter.renew, renewal(of: hashes, in: id))
    }
    return .renewed(
      bytes: known.map { chunk in
        chunk.flatMap { $0.isDoubtful ? nil : Int(clamping: $0.bytes) }
      })
  }

  func doubt(_ files: [ChunkFile], _ isDoubtful: Bool) -> CommitResult {
    guard !files.isEmpty else { return .done }
    readAnew()
    write(
      isDoubtful ? ChunkWriter.doubt : ChunkWriter.vouch,
      PostgresParameters().bind(files.map(\.account.rawValue)).bind(files.map(\.place)))
    return .done
  }

  /// Skips accounts that another relay has locked: a later collection removes their chunks.
  func collectChunks(atMost limit: Int) throws(PostgresFault) -> CommitResult {
    readAnew()
    let asked = PostgresParameters().bind(wall).bind(Int64(max(0, limit)))
    let gone = try ask { $0.add(ChunkWriter.collect, asked) }[0].all { row in
      (
        file: ChunkFile(account: AccountID(rawValue: row.bits(0)), place: row.integer(1)),
        bytes: row.integer(2)
      )
    }
    for chunk in gone { accounts.addChunkBytes(-chunk.bytes, to: chunk.file.account) }
    return .collected(gone.map(\.file))
  }

  private func renewal(of hashes: [ChunkHash], in id: AccountID) -> PostgresParameters {
    PostgresParameters().bind(id.rawValue).bind(hashes.map(\.bytes))
      .bind(wall + rules.chunkLeaseMilliseconds)
  }
}

/// SQL statements.
private enum ChunkWriter {
  static let insert = PostgresStatement(
    "insert chunk",
    """
    INSERT INTO chunks (account, hash, file, bytes, lease_until)
    VALUES ($1::bigint, $2::bytea, $3::bigint, $4::bigint, $5::bigint)
    """)
  static let count = PostgresStatement(
    "count chunks",
    """
    UPDATE accounts SET chunk_bytes = chunk_bytes + $2::bigint WHERE account = $1::bigint
    """)
  static let renew = PostgresStatement(
    "renew chunks",
    """
    UPDATE chunks SET lease_until = $3::bigint
    WHERE account = $1::bigint AND hash = ANY ($2::bytea[])
    """)
  static let replace = PostgresStatement(
    "replace chunk",
    """
    UPDATE chunks SET file = $3::bigint, doubtful = false
    WHERE account = $1::bigint AND hash = $2::bytea
    """)
  static let vouch = PostgresStatement(
    "vouch",
    """
    UPDATE chunks SET doubtful = false
    FROM unnest($1::bigint[], $2::bigint[]) AS seen (account, file)
    WHERE chunks.account = seen.account AND chunks.file = seen.file AND doubtful
    """)
  static let doubt = PostgresStatement(
    "doubt chunks",
    """
    UPDATE chunks SET doubtful = true
    FROM unnest($1::bigint[], $2::bigint[]) AS seen (account, file)
    WHERE chunks.account = seen.account AND chunks.file = seen.file AND NOT doubtful
    """)
  /// Deletes the chunks whose lease ended first.
  static let collect = PostgresStatement(
    "collect",
    """
    WITH spent AS MATERIALIZED (
      SELECT account, hash, lease_until FROM chunks WHERE uses = 0 AND lease_until <= $1::bigint
      ORDER BY lease_until, account, hash LIMIT $2::bigint),
    held AS MATERIALIZED (
      SELECT account FROM accounts WHERE account = ANY (ARRAY(SELECT account FROM spent))
      ORDER BY account FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM chunks USING spent, held
      WHERE spent.account = held.account AND chunks.account = spent.account
        AND chunks.hash = spent.hash AND chunks.uses = 0
        AND chunks.lease_until = spent.lease_until
      RETURNING chunks.account, chunks.hash, chunks.file, chunks.bytes, chunks.lease_until),
    counted AS (
      UPDATE accounts SET chunk_bytes = chunk_bytes - freed.bytes
      FROM (SELECT account, sum(bytes)::bigint AS bytes FROM gone GROUP BY account) AS freed
      WHERE accounts.account = freed.account)
    SELECT account, file, bytes FROM gone ORDER BY lease_until, account, hash
    """)
}
