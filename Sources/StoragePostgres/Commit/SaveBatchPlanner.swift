import LockstepModel
import LockstepStorage

/// Plans all saves of one commit from a single lookup. Earlier saves of the commit are applied in
/// memory. The planned saves are then written with one statement per table.
final class SaveBatchPlanner {
  struct RecordID: Hashable {
    var account: AccountID
    var key: RecordKey
  }

  struct Batch: Hashable {
    var account: AccountID
    var device: DeviceID
    var id: BatchID
  }

  struct Chunk: Hashable {
    var account: AccountID
    var hash: ChunkHash
  }

  struct KnownChunk {
    /// `ChunkFile.columnValue`.
    var file: Int64
    var bytes: Int64
    var isUnverified: Bool
  }

  enum Decision {
    case answered(CommitResult)
    /// The account's head after the save, and the growth of its use. The answer follows once the
    /// records that it shows were read.
    case moved(AccountHead, AccountUse)
  }

  private let wall: Int64
  private let lease: Int64
  /// True if the rows read are valid: only this planner has changed them since.
  private(set) var isReady = false
  private var existingRecords: [RecordID: ExistingRecord] = [:]
  private var batches: [Batch: RememberedBatch] = [:]
  private var chunks: [Chunk: KnownChunk] = [:]
  private var changes = RecordChanges()
  private var planned: [PlannedSave] = []
  /// Records that a conflict shows and that no save of this planner has written: read before the
  /// writes.
  private var shown: [(save: Int, recordID: RecordID)] = []

  init(wall: Int64, lease: Int64) {
    self.wall = wall
    self.lease = lease
  }

  /// Approximate size of the pending writes.
  var bytes: Int { changes.bytes }

  func discardLookup() {
    precondition(planned.isEmpty, "planned saves must be written before their lookup is discarded")
    isReady = false
    existingRecords = [:]
    batches = [:]
    chunks = [:]
  }

  // MARK: Reading

  func addLookup(for requests: ArraySlice<CommitRequest>, in pipeline: inout PostgresPipeline) {
    let lookup = SaveLookup(requests)
    pipeline.add(SaveLookup.batches, lookup.batchParameters)
    pipeline.add(SaveLookup.records, lookup.recordParameters)
    pipeline.add(SaveLookup.chunks, lookup.chunkParameters)
    askedRecords = lookup.recordIDs
    askedBatches = lookup.batches
  }

  private var askedRecords: [RecordID] = []
  private var askedBatches: [Batch] = []

  /// Reads the rows of the statements that `addLookup` added.
  func readLookup(from rows: ArraySlice<PostgresRows>) throws(PostgresFault) {
    isReady = true
    guard let first = rows.indices.first else { return }
    for row in rows[first].all({ $0 }) {
      guard askedBatches.indices.contains(Int(row.integer(0)) - 1) else { continue }
      batches[askedBatches[Int(row.integer(0)) - 1]] = RememberedBatch(
        digest: row.bytes(1), firstTag: row.integer(2), words: row.isNull(3) ? nil : row.text(3))
    }
    existingRecords.reserveCapacity(rows[first + 1].count)
    for row in rows[first + 1].all({ $0 }) {
      guard askedRecords.indices.contains(Int(row.integer(0)) - 1) else { continue }
      let recordID = askedRecords[Int(row.integer(0)) - 1]
      let (type, chunks) = (try row.name(2), try row.chunks(4))
      let isDeleted = row.isNull(3)
      existingRecords[recordID] = ExistingRecord(
        tag: row.integer(1), type: type, isDeleted: isDeleted, modifiedAt: row.integer(6),
        chunks: chunks,
        bytes: Record.storedBytes(
          zone: recordID.key.zone, name: recordID.key.name, type: type,
          fields: isDeleted ? 0 : Int(clamping: row.integer(3)), chunks: chunks.count),
        includes: row.fingerprints(5))
    }
    for row in rows[first + 2].all({ $0 }) {
      let chunk = Chunk(account: AccountID(rawValue: row.bits(0)), hash: try row.hash(1))
      chunks[chunk] = KnownChunk(
        file: row.integer(2), bytes: row.integer(3), isUnverified: row.bool(4))
    }
    askedRecords = []
    askedBatches = []
  }

  subscript(chunk: Chunk) -> KnownChunk? {
    get { chunks[chunk] }
    set { chunks[chunk] = newValue }
  }

  // MARK: Deciding

  /// Returns the base tags of a batch's conflicts, if the batch is new.
  func conflictingBases(of commit: SaveCommit) -> [ChangeTag] {
    let batch = Batch(account: commit.account, device: commit.device, id: commit.request.id)
    guard batches[batch] == nil, commit.unlessKnown == nil else { return [] }
    return commit.request.mutations.compactMap { mutation in
      guard mutation.refusal == nil, let tag = mutation.baseTag, tag > 0 else { return nil }
      let key = RecordKey(zone: commit.request.zone, name: mutation.name)
      return existingRecords[RecordID(account: commit.account, key: key)]?.tag == tag ? nil : tag
    }
  }

  /// `entered`: the head that new tags follow; `available`: the remaining quota of the account.
  func plan(
    _ commit: SaveCommit, at index: Int, since head: AccountHead, entered: AccountHead,
    available: AccountUse
  ) -> Decision {
    let batch = Batch(account: commit.account, device: commit.device, id: commit.request.id)
    if let known = batches[batch] {
      guard known.digest == commit.digest else {
        return .answered(.refused(StoreRefusals.otherBatch))
      }
      let answer = PlannedSave.Answer.remembered(known, wall: wall)
      plan(
        PlannedSave(index: index, commit: commit, since: head, reached: head, answer: answer))
      return .moved(head, AccountUse())
    }
    if let refusal = commit.unlessKnown { return .answered(.refused(refusal)) }
    let plan = decide(commit, after: entered.newest, available: available)
    var reached = plan.newest > entered.newest ? entered : head
    if plan.newest > entered.newest { reached.newest = plan.newest }
    self.plan(
      PlannedSave(
        index: index, commit: commit, since: head, reached: reached, answer: .plan(plan)))
    var growth = plan.growth
    if plan.isRemembered {
      let remembered = RememberedBatch(plan, after: entered.newest, digest: commit.digest)
      batches[batch] = remembered
      changes.remember(remembered, as: batch)
      growth += remembered.use
    }
    for record in plan.records {
      existingRecords[RecordID(account: commit.account, key: record.key)] = ExistingRecord(record)
      changes.put(record, of: commit.account, deletedAt: record.isDeleted ? wall : nil)
    }
    changes.count(plan.liveChange, in: commit.request.zone, of: commit.account)
    for change in plan.chunkChanges {
      changes.count(change.change, of: Chunk(account: commit.account, hash: change.hash))
    }
    return .moved(reached, growth)
  }

  private func decide(
    _ commit: SaveCommit, after newest: ChangeTag, available: AccountUse
  ) -> SavePlan {
    do throws(StorageError) {
      return try SavePlan(commit, after: newest, available: available) { name in
        let key = RecordKey(zone: commit.request.zone, name: name)
        return existingRecords[RecordID(account: commit.account, key: key)]
      } hasChunk: { hash in
        chunks[Chunk(account: commit.account, hash: hash)] != nil
      }
    } catch {
      preconditionFailure("the closures cannot throw")
    }
  }

  /// Records which rows the answer shows: the version from an earlier save of this commit if there
  /// is one, otherwise the version in the database.
  private func plan(_ save: PlannedSave) {
    var save = save
    for name in save.conflicts {
      let key = RecordKey(zone: save.commit.request.zone, name: name)
      let recordID = RecordID(account: save.commit.account, key: key)
      if let record = changes.record(at: recordID) {
        save.written[name] = record
      } else if existingRecords[recordID] != nil {
        shown.append((save.index, recordID))
      }
    }
    planned.append(save)
  }

  // MARK: Writing

  /// Adds the planned writes to the pipeline. If any save was planned, the first step is one whose
  /// rows `readConflictRecords` reads. Returns the saves to answer with them.
  func addWrites(to pipeline: inout PostgresPipeline) -> [PlannedSave] {
    defer {
      planned = []
      shown = []
      changes = RecordChanges()
    }
    guard !planned.isEmpty else { return [] }
    pipeline.add(
      SaveBatchPlanner.conflictRecords,
      PostgresParameters().bind(shown.map { Int64($0.save) })
        .bind(shown.map(\.recordID.account.rawValue)).bind(shown.map(\.recordID.key.zone.text))
        .bind(shown.map(\.recordID.key.name.text)))
    changes.add(to: &pipeline, wall: wall, lease: lease)
    return planned
  }

  static func readConflictRecords(
    _ rows: PostgresRows
  ) throws(PostgresFault) -> [RecordID: Record] {
    var found: [RecordID: Record] = [:]
    for row in rows.all({ $0 }) {
      let record = try row.record(at: 1)
      found[RecordID(account: AccountID(rawValue: row.bits(0)), key: record.key)] = record
    }
    return found
  }

  /// For each save, at most the bytes that fit into an answer, plus the first record that does not
  /// fit.
  private static let conflictRecords = PostgresStatement(
    "conflicts",
    """
    SELECT account, \(RecordRow.columns) FROM (
      SELECT records.*, sum(octet_length(fields))
        OVER (PARTITION BY save ORDER BY place
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[])
        WITH ORDINALITY AS asked (save, account, zone, name, place)
      JOIN records USING (account, zone, name)
    ) AS found WHERE coalesce(before, 0) <= \(Limits.pageBytes)
    """)
}

/// A planned save, answered once the records that it shows were read.
struct PlannedSave {
  enum Answer {
    case plan(SavePlan)
    /// A retry.
    case remembered(RememberedBatch, wall: Int64)
  }

  /// Index of the request in the commit.
  let index: Int
  let commit: SaveCommit
  let since: AccountHead
  /// The account's head after the save.
  let reached: AccountHead
  let answer: Answer
  /// Records that its conflicts show, written by earlier saves of the same commit.
  var written: [Name: Record] = [:]

  init(
    index: Int, commit: SaveCommit, since: AccountHead, reached: AccountHead, answer: Answer
  ) {
    self.index = index
    self.commit = commit
    self.since = since
    self.reached = reached
    self.answer = answer
  }

  /// The names of the records that are shown, in the order of the lookup.
  var conflicts: [Name] {
    var names: [Name] = []
    _ = results { name in
      names.append(name)
      return nil
    }
    return names
  }

  func outcome(showing shown: [SaveBatchPlanner.RecordID: Record]) -> SaveOutcome {
    let results = results { name in
      let key = RecordKey(zone: commit.request.zone, name: name)
      return written[name] ?? shown[SaveBatchPlanner.RecordID(account: commit.account, key: key)]
    }
    switch answer {
    case .remembered:
      let answer = SaveAnswer(since: since.token, token: since.token, results: results)
      return SaveOutcome(answer: answer, changed: [], events: [])
    case .plan(let plan):
      let answer = SaveAnswer(since: since.token, token: reached.token, results: results)
      return SaveOutcome(answer: answer, changed: plan.records, events: plan.events)
    }
  }

  private func results(_ record: (Name) -> Record?) -> [MutationResult] {
    do throws(StorageError) {
      switch answer {
      case .plan(let plan):
        return try plan.results(of: commit.request) { name in record(name) }
      case .remembered(let batch, let wall):
        return try batch.results(of: commit.request, wall: wall) { name in record(name) }
      }
    } catch {
      preconditionFailure("the closures cannot throw")
    }
  }
}
