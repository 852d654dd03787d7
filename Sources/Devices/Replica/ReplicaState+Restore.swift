import Changes
import Storage

/// A relay that came back from a backup has lost what was saved after it. What this device holds of
/// that goes back through the outbox, as changes made on what the relay has now.
extension ReplicaState {
  /// An answer of another generation than the cursor's shows that the relay was restored, but not
  /// how far back: what is held by then is noted, to be told from what the relay gives from now on.
  mutating func noticeRestore(_ answer: SaveAnswer) throws(StorageError) -> Bool {
    guard let cursor = position.cursor, cursor.generation != answer.token.generation else {
      return false
    }
    setHeldBefore(try greatestTagBeforeRestore())
    return true
  }

  /// A restored relay still follows a cursor that its backup covers, by pages of a new generation.
  /// But what this device saved beyond that cursor may be lost: then a snapshot is needed as well.
  mutating func noticeRestore(_ page: ChangePage) throws(StorageError) -> Bool {
    guard let cursor = position.cursor, cursor.generation != page.token.generation else {
      return false
    }
    guard try greatestTagBeforeRestore() > cursor.sequence else {
      setHeldBefore(nil)
      return false
    }
    try forgetCursor(restoredThrough: cursor.sequence)
    return true
  }

  func greatestTagBeforeRestore() throws(StorageError) -> ChangeTag {
    if let heldBefore { return heldBefore }
    return try ledger.greatestTag()
  }

  func isLost(_ held: Record) throws(StorageError) -> Bool {
    if restore?.hasLost(held.tag) == true { return true }
    return try isMarkedAsLost(held.key)
  }

  func isMarkedAsLost(_ key: RecordKey) throws(StorageError) -> Bool {
    guard hasLost else { return false }
    return try ledger.isLost(key)
  }

  /// More of what is marked as lost fits into the outbox. Half of that is left to the person.
  var mayBringBack: Bool { hasLost && hasRoom }

  private var hasRoom: Bool {
    ledger.outbox.entries.count < Limits.outboxRecords / 2
      && ledger.outbox.bytes < Limits.outboxBytes / 2
  }

  /// What the relay has lost goes into the outbox, some of it at a time.
  mutating func bringBack() throws(StorageError) {
    guard mayBringBack else { return }
    let lost = try ledger.store.lostRecords(limit: Limits.pageRecords, bytes: Limits.pageBytes)
    hasLost = !lost.isEmpty
    for held in lost where hasRoom {
      try stand(entry(bringingBack: held), on: .nothing(at: held.key, type: held.type))
    }
  }

  /// The relay has lost what is held, and has `server` instead. Where there is no room for it, it
  /// waits, and learns of the server's version by a conflict.
  mutating func bringBack(_ held: Record, over server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    guard hasRoom else {
      hasLost = true
      return ledger.lose(held.key)
    }
    let entry = entry(bringingBack: held)
    if restore?.precedesLoss(server.tag) == true { return try stand(entry, on: server) }
    try settle(entry, server, &applied)
  }

  private mutating func entry(bringingBack held: Record) -> OutboxEntry {
    OutboxEntry(
      number: ledger.takeNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true,
      base: .nothing(at: held.key, type: held.type), state: .waiting)
  }

  /// All that was lost is acknowledged anew.
  mutating func endRestore() {
    guard restore?.isSnapshotDone == true, !hasLost, ledger.outbox.summary.unsent == 0 else {
      return
    }
    setRestore(nil)
  }

  mutating func setRestore(_ restore: Restore?) {
    self.restore = restore
    ledger.setValue(ReplicaState.restoreKey, restore?.text)
  }

  mutating func setHeldBefore(_ tag: ChangeTag?) {
    guard heldBefore != tag else { return }
    heldBefore = tag
    ledger.setValue(ReplicaState.heldBeforeKey, tag.map { String($0) })
  }
}
