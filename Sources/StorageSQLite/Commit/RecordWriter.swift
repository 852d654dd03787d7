import LockstepModel
import LockstepStorage

/// Writes batches of records. A batch is decided in full (`SavePlan`) before its first write, so it
/// needs no savepoint in the shared transaction: after that only a disk error can occur, and it
/// fails the whole commit.
final class RecordWriter {
  private let connection: SQLiteConnection
  private let queries: ZoneQueries
  private let chunks: ChunkWriter
  private let rules: StoreRules
  private let head: SQLiteStatement
  private let remembered: SQLiteStatement
  private let existingRecord: SQLiteStatement
  private let insert: SQLiteStatement
  private let replace: SQLiteStatement
  private let count: SQLiteStatement
  private let dropEmpty: SQLiteStatement
  private let advance: SQLiteStatement
  private let insertGap: SQLiteStatement
  private let forgetGaps: SQLiteStatement
  private let remember: SQLiteStatement

  init(
    _ connection: SQLiteConnection, queries: ZoneQueries, chunks: ChunkWriter, rules: StoreRules
  ) throws(StorageError) {
    self.connection = connection
    self.queries = queries
    self.chunks = chunks
    self.rules = rules
    head = try connection.prepare(
      """
      SELECT \(HeadRow.columns), record_bytes, record_count, batch_count, quota_bytes,
        quota_records FROM accounts
      WHERE account = ?1 AND EXISTS (SELECT 1 FROM devices WHERE account = ?1 AND device = ?2)
      """)
    remembered = try connection.prepare(
      """
      SELECT digest, first_tag, words FROM batches
      WHERE account = ? AND device = ? AND batch_high = ? AND batch_low = ?
      """)
    existingRecord = try connection.prepare(
      """
      SELECT tag, type, length(fields), chunks, number, includes, modified_at FROM records
      WHERE account = ? AND zone = ? AND name = ?
      """)
    insert = try connection.prepare(
      """
      INSERT INTO records (account, deleted_at, chunks, includes, \(RecordRow.columns))
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    replace = try connection.prepare(
      """
      UPDATE records SET deleted_at = ?2, chunks = ?3, type = ?4, modified_at = ?5, device = ?6,
        tag = ?7, includes = ?8, fields = ?9 WHERE number = ?1
      """)
    count = try connection.prepare(
      """
      INSERT INTO zones (account, zone, live) VALUES (?, ?, ?)
      ON CONFLICT (account, zone) DO UPDATE SET live = live + excluded.live
      """)
    dropEmpty = try connection.prepare(
      "DELETE FROM zones WHERE account = ? AND zone = ? AND live = 0")
    advance = try connection.prepare(
      """
      UPDATE accounts SET newest = ?2, run = ?3, range_start = ?4, record_bytes = record_bytes + ?5,
        record_count = record_count + ?6, batch_count = batch_count + ?7
      WHERE account = ?1
      """)
    insertGap = try connection.prepare(
      "INSERT INTO gaps (account, after_tag, through_tag) VALUES (?, ?, ?)")
    forgetGaps = try connection.prepare(
      """
      DELETE FROM gaps WHERE account = ?1 AND through_tag <= (
        SELECT through_tag FROM gaps WHERE account = ?1 ORDER BY through_tag DESC LIMIT 1 OFFSET ?2)
      """)
    remember = try connection.prepare(
      """
      INSERT INTO batches (account, device, batch_high, batch_low, made_at, first_tag, words,
        digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (account, device, batch_high, batch_low) DO NOTHING
      """)
  }

  func save(_ commit: SaveCommit, wall: Int64) throws(StorageError) -> CommitResult {
    let request = commit.request
    guard let (since, available) = try head(for: commit) else {
      return .refused(StoreRefusals.revokedDevice)
    }
    if let refusal = commit.unlessKnown {
      return try known(commit, since: since, wall: wall) ?? .refused(refusal)
    }
    // Row numbers of the existing records, by name.
    var numbers: [Name: Int64] = [:]
    let entered = since.entering(queries.run, commit.account)
    let plan = try SavePlan(
      commit, after: entered.newest, available: available
    ) { (name) throws(StorageError) in
      guard let (existingRecord, number) = try existingRecord(name, in: commit) else { return nil }
      numbers[name] = number
      return existingRecord
    } hasChunk: { (hash) throws(StorageError) in
      try queries.chunks.find(hash, of: commit.account) != nil
    }
    for tag in plan.conflictingBases(of: request) {
      if let gap = try queries.gap(at: tag, in: since, of: commit.account) {
        return try known(commit, since: since, wall: wall)
          ?? .refused(since.restored(from: gap))
      }
    }
    var growth = plan.growth
    if plan.isRemembered {
      let batch = RememberedBatch(plan, after: entered.newest, digest: commit.digest)
      guard try remember(batch, of: commit, wall: wall) else {
        return try known(commit, since: since, wall: wall) ?? .refused(StoreRefusals.otherBatch)
      }
      growth += batch.use
    } else if let known = try known(commit, since: since, wall: wall) {
      return known
    }
    let results = try plan.results(of: request) { (name) throws(StorageError) in
      try current(name, in: commit)
    }
    let changed = plan.records
    for record in changed {
      let number = numbers.isEmpty ? nil : numbers[record.name]
      try put(record, at: number, of: commit.account, wall: wall)
    }
    try chunks.applyChanges(plan.chunkChanges, to: commit.account, wall: wall)
    if plan.liveChange != 0 { try count(plan.liveChange, in: request.zone, of: commit.account) }
    var head = since
    if !changed.isEmpty {
      head = entered
      head.newest = plan.newest
    }
    if !changed.isEmpty || growth != AccountUse() {
      try advance(commit.account, from: since, to: head, growth)
    }
    let answer = SaveAnswer(since: since.token, token: head.token, results: results)
    return .saved(SaveOutcome(answer: answer, changed: changed, events: plan.events))
  }

  /// Stores the account's new head and adds `growth` to its use.
  func advance(
    _ account: AccountID, from former: AccountHead, to head: AccountHead, _ growth: AccountUse
  ) throws(StorageError) {
    try advance.bind(account.rawValue).bind(head.newest).bind(head.run).bind(head.rangeStart)
      .bind(growth.bytes).bind(growth.records).bind(growth.batches).run()
    guard let gap = head.gap(since: former) else { return }
    try insertGap.bind(account.rawValue).bind(gap.after).bind(gap.through).run()
    try forgetGaps.bind(account.rawValue).bind(Int64(Limits.tagGaps)).run()
  }

  /// Changes the zone's number of live records by `change`.
  func count(
    _ change: Int, in zone: Name, of account: AccountID
  ) throws(StorageError) {
    try count.bind(account.rawValue).bind(zone).bind(Int64(change)).run()
    if change < 0 { try dropEmpty.bind(account.rawValue).bind(zone).run() }
  }

  /// Returns the account's head and its remaining quota. Returns nil if the device does not belong
  /// to the account, or no longer does.
  private func head(
    for commit: SaveCommit
  ) throws(StorageError) -> (head: AccountHead, available: AccountUse)? {
    try head.bind(commit.account.rawValue).bind(commit.device.rawValue).first { row in
      let next = HeadRow.count
      let plan = Plan(
        zones: nil, bytes: row.isNull(next + 3) ? nil : row.integer(next + 3),
        records: row.isNull(next + 4) ? nil : row.integer(next + 4))
      let use = AccountUse(
        bytes: row.integer(next), records: row.integer(next + 1), batches: row.integer(next + 2))
      return (HeadRow.head(row), plan.remainingSpace(beside: use, rules))
    }
  }

  /// Returns the repeated answer for a batch that was saved before; nil if the batch is new.
  private func known(
    _ commit: SaveCommit, since: AccountHead, wall: Int64
  ) throws(StorageError) -> CommitResult? {
    guard let batch = try batch(of: commit) else { return nil }
    guard batch.digest == commit.digest else { return .refused(StoreRefusals.otherBatch) }
    let results = try batch.results(of: commit.request, wall: wall) {
      (name) throws(StorageError) in try current(name, in: commit)
    }
    let answer = SaveAnswer(since: since.token, token: since.token, results: results)
    return .saved(SaveOutcome(answer: answer, changed: [], events: []))
  }

  private func current(_ name: Name, in commit: SaveCommit) throws(StorageError) -> Record? {
    try queries.record(RecordKey(zone: commit.request.zone, name: name), of: commit.account)
  }

  private func batch(of commit: SaveCommit) throws(StorageError) -> RememberedBatch? {
    let id = commit.request.id
    remembered.bind(commit.account.rawValue).bind(commit.device.rawValue)
    return try remembered.bind(id.high).bind(id.low).first { row in
      RememberedBatch(
        digest: row.bytes(0), firstTag: row.integer(1), words: row.isNull(2) ? nil : row.text(2))
    }
  }

  private func existingRecord(
    _ name: Name, in commit: SaveCommit
  ) throws(StorageError) -> (ExistingRecord, number: Int64)? {
    try existingRecord.bind(commit.account.rawValue).bind(commit.request.zone).bind(name).first {
      (row) throws(StorageError) in
      let (type, chunks) = (try row.name(1), try queries.chunks.hashes(row, 3))
      let bytes = Record.storedBytes(
        zone: commit.request.zone, name: name, type: type, fields: Int(clamping: row.integer(2)),
        chunks: chunks.count)
      let existingRecord = ExistingRecord(
        tag: row.integer(0), type: type, isDeleted: row.isNull(2), modifiedAt: row.integer(6),
        chunks: chunks, bytes: bytes, includes: row.fingerprints(5))
      return (existingRecord, row.integer(4))
    }
  }

  /// Inserts a record, or replaces the one with that number if there is one.
  private func put(
    _ record: Record, at number: Int64?, of account: AccountID, wall: Int64
  ) throws(StorageError) {
    let deletedAt = record.isDeleted ? wall : nil
    guard let number else {
      try insert.bind(account.rawValue).bind(deletedAt).bind(record.chunks).bind(record.includes)
        .bind(record)
        .run(last: record.fields)
      return
    }
    try replace.bind(number).bind(deletedAt).bind(record.chunks).bind(record.type)
      .bind(record.modifiedAt).bind(record.device.rawValue).bind(record.tag).bind(record.includes)
      .run(last: record.fields)
  }

  /// Returns false if the account's device has saved a batch with that id already.
  private func remember(
    _ batch: RememberedBatch, of commit: SaveCommit, wall: Int64
  ) throws(StorageError) -> Bool {
    let id = commit.request.id
    remember.bind(commit.account.rawValue).bind(commit.device.rawValue).bind(id.high).bind(id.low)
    try remember.bind(wall).bind(batch.firstTag).bind(batch.words).bind(batch.digest).run()
    return connection.changedRows > 0
  }
}
