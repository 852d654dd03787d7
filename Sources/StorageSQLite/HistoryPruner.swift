import LockstepModel
import LockstepStorage

/// Deletes batches and tombstones that are older than the history kept.
final class HistoryPruner {
  private let rules: StoreRules
  private let oldestBatches: SQLiteStatement
  private let forget: SQLiteStatement
  private let oldTombstones: SQLiteStatement
  private let drop: SQLiteStatement
  private let noteDropped: SQLiteStatement
  private let noteForgotten: SQLiteStatement

  init(_ connection: SQLiteConnection, rules: StoreRules) throws(StorageError) {
    self.rules = rules
    // The oldest batches have the lowest numbers.
    oldestBatches = try connection.prepare(
      "SELECT number, made_at, account, length(words) FROM batches ORDER BY number LIMIT ?")
    forget = try connection.prepare("DELETE FROM batches WHERE number = ?")
    oldTombstones = try connection.prepare(
      """
      SELECT number, account, tag, \(RecordRow.storedBytes)
      FROM records INDEXED BY records_by_deletion
      WHERE deleted_at < ? ORDER BY deleted_at, account, tag LIMIT ?
      """)
    drop = try connection.prepare("DELETE FROM records WHERE number = ?")
    noteDropped = try connection.prepare(
      """
      UPDATE accounts SET forgotten = max(forgotten, ?2), record_bytes = record_bytes - ?3,
        record_count = record_count - 1
      WHERE account = ?1
      """)
    noteForgotten = try connection.prepare(
      """
      UPDATE accounts SET record_bytes = record_bytes - ?2, batch_count = batch_count - ?3
      WHERE account = ?1
      """)
  }

  /// Deletes at most `count` batches that are older than the history kept, oldest first.
  func forgetBatches(_ count: Int, wall: Int64) throws(StorageError) {
    let old = try oldBatches(count, wall: wall)
    if old.isEmpty { return }
    // The batches usually belong to few accounts, so each account's counters are updated once.
    var uses: [UInt64: AccountUse] = [:]
    for batch in old {
      try forget.bind(batch.number).run()
      uses[batch.account, default: AccountUse()] += batch.use
    }
    for account in uses.keys.sorted() {
      let use = uses[account] ?? AccountUse()
      try noteForgotten.bind(account).bind(use.bytes).bind(use.batches).run()
    }
  }

  /// Deletes at most `count` tombstones that are older than the history kept, oldest first.
  func forgetTombstones(_ count: Int, wall: Int64) throws(StorageError) {
    let old = try oldTombstones.bind(wall - rules.historyMilliseconds).bind(Int64(count)).all {
      (number: $0.integer(0), account: $0.bits(1), tag: $0.integer(2), bytes: $0.integer(3))
    }
    for tombstone in old {
      try drop.bind(tombstone.number).run()
      try noteDropped.bind(tombstone.account).bind(tombstone.tag).bind(tombstone.bytes).run()
    }
  }

  private func oldBatches(
    _ count: Int, wall: Int64
  ) throws(StorageError) -> [(number: Int64, account: UInt64, use: AccountUse)] {
    var batches: [(number: Int64, account: UInt64, use: AccountUse)] = []
    oldestBatches.bind(Int64(count))
    defer { oldestBatches.reset() }
    while try oldestBatches.step(),
      oldestBatches.integer(1) < wall - rules.historyMilliseconds
    {
      let use = RememberedBatch.use(words: Int(clamping: oldestBatches.integer(3)))
      batches.append((oldestBatches.integer(0), oldestBatches.bits(2), use))
    }
    return batches
  }
}
