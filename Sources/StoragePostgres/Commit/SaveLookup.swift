import LockstepModel
import LockstepStorage

/// One lookup of all stored data that the saves of a commit depend on.
struct SaveLookup {
  private(set) var batches: [SaveBatchPlanner.Batch] = []
  /// Keys of the records that the saves would change.
  private(set) var recordIDs: [SaveBatchPlanner.RecordID] = []
  private var chunks: [SaveBatchPlanner.Chunk] = []

  init(_ requests: ArraySlice<CommitRequest>) {
    var known: Set<SaveBatchPlanner.Chunk> = []
    for request in requests {
      switch request {
      case .save(let commit): add(commit, &known)
      case .addChunk(let account, let hash, _, _): add([hash], of: account, &known)
      case .renewChunks(let account, let hashes): add(hashes, of: account, &known)
      case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
        .touchDevices, .checkWritable, .deleteZone, .deleteZoneRest, .putSubscription,
        .removeSubscription, .setPlan, .removeAccount, .confirmChunks, .markChunksMissing,
        .collectChunks, .putWake, .removeWake, .verifyWake, .claimWakes, .reportWakes, .addWakeKey,
        .move:
        break
      }
    }
  }

  private mutating func add(_ commit: SaveCommit, _ known: inout Set<SaveBatchPlanner.Chunk>) {
    let (account, request) = (commit.account, commit.request)
    batches.append(SaveBatchPlanner.Batch(account: account, device: commit.device, id: request.id))
    for mutation in request.mutations where mutation.refusal == nil {
      let key = RecordKey(zone: request.zone, name: mutation.name)
      recordIDs.append(SaveBatchPlanner.RecordID(account: account, key: key))
      if !mutation.chunks.isEmpty { add(mutation.chunks, of: account, &known) }
    }
  }

  private mutating func add(
    _ hashes: [ChunkHash], of account: AccountID, _ known: inout Set<SaveBatchPlanner.Chunk>
  ) {
    for hash in hashes {
      let chunk = SaveBatchPlanner.Chunk(account: account, hash: hash)
      if known.insert(chunk).inserted { chunks.append(chunk) }
    }
  }

  // MARK: Statements

  var batchParameters: PostgresParameters {
    PostgresParameters().bind(batches.map(\.account.rawValue)).bind(batches.map(\.device.rawValue))
      .bind(batches.map(\.id.high)).bind(batches.map(\.id.low))
  }

  static let batches = PostgresStatement(
    "known batches",
    """
    SELECT place, digest, first_tag, words
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
      WITH ORDINALITY AS asked (account, device, batch_high, batch_low, place)
    JOIN batches USING (account, device, batch_high, batch_low)
    """)

  var recordParameters: PostgresParameters {
    PostgresParameters().bind(recordIDs.map(\.account.rawValue))
      .bind(recordIDs.map(\.key.zone.text)).bind(recordIDs.map(\.key.name.text))
  }

  /// Reads the records without their fields, which may be large.
  static let records = PostgresStatement(
    "standing records",
    """
    SELECT place, tag, type, octet_length(fields)::bigint, chunks, includes, modified_at
    FROM unnest($1::bigint[], $2::text[], $3::text[])
      WITH ORDINALITY AS asked (account, zone, name, place)
    JOIN records USING (account, zone, name)
    """)

  var chunkParameters: PostgresParameters {
    PostgresParameters().bind(chunks.map(\.account.rawValue)).bind(chunks.map(\.hash.bytes))
  }

  static let chunks = PostgresStatement(
    "known chunks",
    """
    SELECT account, hash, file, bytes, doubtful
    FROM unnest($1::bigint[], $2::bytea[]) AS asked (account, hash)
    JOIN chunks USING (account, hash)
    """)
}
