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
      UPDATE accounts SET newest = ?2, run = coalesce(?3, run),
        range_start = coalesce(?4, range_start), record_bytes = record_bytes + ?5,
        record_count = record_count + ?6, batch_count = batch_count + ?7
      WHERE account = ?1
      """)
    insertGap = try connection.prepare("INSERT INTO gaps VALUES (?1, ?3, ?2)")
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
      let deletedAt = record.isDeleted ? wall : nil
      try put(record, at: number, of: commit.account, deletedAt: deletedAt)
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
    _ record: Record, at number: Int64?, of account: AccountID, deletedAt: Int64?
  ) throws(StorageError) {
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
    try insert(batch, commit.request.id, of: commit.account, by: commit.device, wall: wall)
    return connection.changedRows > 0
  }

  private func insert(
    _ batch: RememberedBatch, _ id: BatchID, of account: AccountID, by device: DeviceID,
    wall: Int64
  ) throws(StorageError) {
    remember.bind(account.rawValue).bind(device.rawValue).bind(id.high).bind(id.low)
    try remember.bind(wall).bind(batch.firstTag).bind(batch.words).bind(batch.digest).run()
  }
}

/// Saves that go through the commit log.
extension RecordWriter {
  /// Decides a batch on the database and the saves that it lacks, and adds it to them. Writes
  /// nothing. Returns nil if the batch has to be performed in the database: it is not accepted in
  /// full, is large, or has to do with chunks of files, or the account has not saved in this run.
  func decide(
    _ commit: SaveCommit, after buffer: inout SaveBuffer, wall: Int64
  ) throws(StorageError) -> CommitResult? {
    guard commit.isLoggable, let account = try account(of: commit, after: &buffer),
      account.head.entering(queries.run, commit.account) == account.head,
      !buffer.hasBatch(of: commit), try batch(of: commit) == nil
    else { return nil }
    let newest = account.head.newest
    var rows: [LoggedSave.Row] = []
    var hasChunks = false
    let plan = try SavePlan(
      commit, after: newest, available: account.available
    ) { (name) throws(StorageError) in
      let held = try record(name, in: commit, after: buffer)
      rows.append(held.row)
      if let existing = held.existing, !existing.chunks.isEmpty { hasChunks = true }
      return held.existing
    } hasChunk: { _ in
      false
    }
    let changed = plan.records
    guard !hasChunks, plan.isRemembered, changed.count == plan.verdicts.count else { return nil }
    let batch = RememberedBatch(plan, after: newest, digest: commit.digest)
    var growth = plan.growth
    growth += batch.use
    var next = account
    next.head.newest = plan.newest
    next.available += -growth
    buffer.append(
      LoggedSave(
        account: commit.account, device: commit.device, batch: commit.request.id, wall: wall,
        digest: commit.digest, zone: commit.request.zone, firstTag: batch.firstTag, growth: growth,
        liveChange: plan.liveChange,
        items: zip(changed, rows).map { LoggedSave.Item(record: $0, row: $1) }),
      next)
    let answer = SaveAnswer(
      since: account.head.token, token: next.head.token,
      results: changed.map { .saved(name: $0.name, tag: $0.tag) })
    return .saved(SaveOutcome(answer: answer, changed: changed, events: plan.events))
  }

  /// Writes saves that were decided already, in the caller's transaction: their net effect, and all
  /// their batches.
  func apply(_ merged: MergedSaves, _ saves: [LoggedSave]) throws(StorageError) {
    for change in merged.records {
      let number: Int64? =
        switch change.row {
        case .none: nil
        case .number(let number): number
        case .unknown, .buffered: try number(of: change.record.key, of: change.account)
        }
      try put(change.record, at: number, of: change.account, deletedAt: change.deletedAt)
    }
    for save in saves {
      let batch = RememberedBatch(digest: save.digest, firstTag: save.firstTag, words: nil)
      try insert(batch, save.batch, of: save.account, by: save.device, wall: save.wall)
    }
    for change in merged.zones where change.live != 0 {
      try count(change.live, in: change.zone, of: change.account)
    }
    for change in merged.accounts {
      // Their accounts have saved in this run before.
      try advance.bind(change.id.rawValue).bind(change.newest).bind(Int64?.none)
        .bind(Int64?.none).bind(change.growth.bytes).bind(change.growth.records)
        .bind(change.growth.batches).run()
    }
  }

  /// Returns the account's position after all saves so far, or nil if the device does not belong to
  /// it.
  private func account(
    of commit: SaveCommit, after buffer: inout SaveBuffer
  ) throws(StorageError) -> SaveBuffer.Account? {
    if var account = buffer.account(commit.account) {
      if account.members.contains(commit.device) { return account }
      guard try queries.accounts.isMember(commit.device, of: commit.account) else { return nil }
      account.members.append(commit.device)
      buffer.keep(account, of: commit.account)
      return account
    }
    guard let (head, available) = try head(for: commit) else { return nil }
    let account = SaveBuffer.Account(head: head, available: available, members: [commit.device])
    buffer.keep(account, of: commit.account)
    return account
  }

  private func record(
    _ name: Name, in commit: SaveCommit, after buffer: SaveBuffer
  ) throws(StorageError) -> SaveBuffer.HeldRecord {
    if let held = buffer.record(name, in: commit) { return held }
    guard let (existing, number) = try existingRecord(name, in: commit) else {
      return SaveBuffer.HeldRecord(existing: nil, row: .none)
    }
    return SaveBuffer.HeldRecord(existing: existing, row: .number(number))
  }

  private func number(
    of key: RecordKey, of account: AccountID
  ) throws(StorageError) -> Int64? {
    try existingRecord.bind(account.rawValue).bind(key.zone).bind(key.name).first {
      $0.integer(4)
    }
  }
}

extension SaveCommit {
  /// True if the commit log may take the batch: it is small, names no chunks, and nothing in it is
  /// refused already.
  fileprivate var isLoggable: Bool {
    guard unlessKnown == nil, unlessDeleting == nil else { return false }
    var bytes = 0
    for mutation in request.mutations {
      guard mutation.refusal == nil, mutation.chunks.isEmpty else { return false }
      bytes += mutation.fields?.count ?? 0
    }
    return bytes <= Limits.loggedSaveBytes
  }
}
