import LockstepModel
import LockstepStorage

/// A relay restored from a backup has lost later saves. Those that this device holds are saved
/// again through the outbox, as changes made on the relay's present versions.
extension ReplicaState {
  /// Detects a restore by an answer of another generation than the cursor's. The answer does not
  /// show how far back the relay went: the greatest held tag is recorded, to distinguish held
  /// records from those that the relay sends from now on.
  mutating func noticeRestore(_ answer: SaveAnswer) throws(StorageError) -> Bool {
    guard let known = position.cursor?.generation ?? former?.seenIn,
      known != answer.token.generation
    else { return false }
    if heldBefore?.seenIn == answer.token.generation { return true }
    // Records held back arrived before the answer, and are applied after it.
    let heldBack = overtaken.map(\.tag).max() ?? 0
    setHeldBefore(
      PreRestoreTag(
        tag: max(try ledger.greatestTag(), heldBack), seenIn: answer.token.generation))
    return true
  }

  /// Detects a restore by a page. A restored relay still accepts a cursor that its backup covers,
  /// and answers with pages of a new generation. But saves of this device beyond that cursor may be
  /// lost: the relay is asked with a token that includes them. If there is no such token, a
  /// snapshot is needed.
  mutating func noticeRestore(_ page: ChangePage) throws(StorageError) -> Bool {
    guard let cursor = position.cursor else { return try noticeRestore(bySnapshot: page) }
    guard cursor.generation != page.token.generation else { return false }
    let held = try greatestTag(before: page.token.generation)
    let vouched = max(cursor.sequence, page.since?.reach ?? 0)
    guard held > vouched else {
      // While the store's cursor stays behind (`move`), a crash may set the device back to it: what
      // arrived since does not count as held before.
      setHeldBefore(PreRestoreTag(tag: held, seenIn: page.token.generation))
      beginOffer()
      guard former != nil else { return false }
      // This fetch was only for possible losses: the snapshot is still required.
      setFormer(LostCursor(token: cursor, seenIn: page.token.generation))
      position = .nothing
      ledger.setCursor(nil)
      return true
    }
    if held > cursor.reach {
      try forgetCursor(restoredThrough: cursor.sequence, in: page.token.generation)
    }
    return true
  }

  /// Detects a restore by the first page of a snapshot, if its generation differs from that of the
  /// device's former position: records that the snapshot does not name may be lost rather than
  /// deleted. The relay reports how far back it went only to requests for changes after that
  /// position.
  private mutating func noticeRestore(bySnapshot page: ChangePage) throws(StorageError) -> Bool {
    guard position == .nothing, let former, let seenIn = former.seenIn,
      seenIn != page.token.generation
    else { return false }
    position = .cursor(former.token)
    ledger.setCursor(former.token)
    return true
  }

  /// Records the cursor before it is discarded.
  mutating func noteFormerPlace() {
    guard let cursor = position.cursor else { return }
    setFormer(LostCursor(token: cursor, seenIn: cursor.generation))
  }

  /// Begins a restore, joined with an earlier one.
  mutating func begin(_ found: Restore) throws(StorageError) {
    beginOffer()
    setRestore(restore?.joined(with: found) ?? found)
  }

  /// Returns the greatest tag that was held before anything of this generation arrived.
  func greatestTag(before generation: UInt32?) throws(StorageError) -> ChangeTag {
    if let heldBefore, generation == nil || heldBefore.seenIn == generation {
      return heldBefore.tag
    }
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

  /// True if more of what is marked as lost fits into the outbox. Half of the outbox is left to the
  /// user.
  var mayBringBack: Bool { hasLost && hasRoom }

  private var hasRoom: Bool {
    ledger.outbox.entries.count < Limits.outboxRecords / 2
      && ledger.outbox.bytes < Limits.outboxBytes / 2
  }

  /// Moves some of what the relay has lost into the outbox.
  mutating func bringBack() throws(StorageError) {
    guard mayBringBack else { return }
    let lost = try ledger.store.lostRecords(limit: Limits.pageRecords, bytes: Limits.pageBytes)
    hasLost = !lost.isEmpty
    for held in lost where hasRoom {
      try stand(entry(bringingBack: held), on: .lost(held))
    }
  }

  /// Saves a held record again that the relay has lost; it has `server` instead. If there is no
  /// room, the record waits, and a conflict brings the server's version later.
  mutating func bringBack(_ held: Record, over server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    guard hasRoom else {
      hasLost = true
      return ledger.lose(held.key)
    }
    let entry = entry(bringingBack: held)
    if restore?.precedes(server.tag, held.tag) == true { return try stand(entry, on: server) }
    try settle(entry, server, &applied)
  }

  private mutating func entry(bringingBack held: Record) -> OutboxEntry {
    OutboxEntry(
      number: ledger.takeNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true,
      base: .lost(held), state: .waiting)
  }

  /// Ends the restore once all that was lost is acknowledged again.
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

  mutating func setFormer(_ former: LostCursor?) {
    guard self.former != former else { return }
    self.former = former
    ledger.setValue(ReplicaState.formerKey, former?.text)
  }

  mutating func setHeldBefore(_ held: PreRestoreTag?) {
    guard heldBefore != held else { return }
    heldBefore = held
    ledger.setValue(ReplicaState.heldBeforeKey, held?.text)
  }
}
