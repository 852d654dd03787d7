import LockstepModel

/// Deleted record, and the time at which the relay accepted the deletion. Ordered as in a database,
/// where numbers are signed.
struct Tombstone: Comparable {
  var deletedAt: Int64
  var account: AccountID
  var tag: ChangeTag
  var key: RecordKey

  static func < (left: Tombstone, right: Tombstone) -> Bool {
    (left.deletedAt, Int64(bitPattern: left.account.rawValue), left.tag)
      < (right.deletedAt, Int64(bitPattern: right.account.rawValue), right.tag)
  }
}

/// Retention of history, and restores from an older copy.
extension MemoryZoneStore {
  /// Opens this state again under an `OpeningNumber`.
  package func begin(run: UInt64) { state.run = run }

  /// Marks this state as restored from an older copy. `opening`: an `OpeningNumber`, drawn for each
  /// restore.
  package func restored(opening: UInt64) {
    begin(run: opening)
    for id in state.accounts.keys.sorted() {
      state.accounts[id]?.restored(id, opening: opening)
    }
  }

  func bury(_ records: [Record], of id: AccountID, wall: Int64) {
    for record in records where record.isDeleted {
      let tombstone = Tombstone(deletedAt: wall, account: id, tag: record.tag, key: record.key)
      var place = state.tombstones.count
      while place > 0, tombstone < state.tombstones[place - 1] { place -= 1 }
      state.tombstones.insert(tombstone, at: place)
    }
  }

  /// Drops at most `count` tombstones that are older than the retained history, oldest first.
  func forgetTombstones(_ count: Int, wall: Int64) {
    var forgotten = 0
    var passed = 0
    for tombstone in state.tombstones {
      guard forgotten < count, tombstone.deletedAt < wall - rules.historyMilliseconds else { break }
      passed += 1
      let stood = state.accounts[tombstone.account]?.forget(tombstone.key, tag: tombstone.tag)
      if stood == true { forgotten += 1 }
    }
    state.tombstones.removeFirst(passed)
  }
}
