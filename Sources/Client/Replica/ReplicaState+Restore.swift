import LockstepModel
import LockstepStorage

/// A relay that came back from a backup has lost what was saved after it. What this device holds of
/// that goes back through the outbox, as changes made on what the relay has now.
extension ReplicaState {
  /// An answer of another generation than the cursor's shows that the relay was restored, but not
  /// how far back: what is held by then is noted, to be told from what the relay gives from now on.
  mutating func noticeRestore(_ answer: SaveAnswer) throws(StorageError) -> Bool {
    guard let known = position.cursor?.generation ?? former?.seenIn,
      known != answer.token.generation
    else { return false }
    if heldBefore?.seenIn == answer.token.generation { return true }
    // What is held back came before the answer, and is taken after it.
    let heldBack = overtaken.map(\.tag).max() ?? 0
    setHeldBefore(
      PreRestoreTag(
        tag: max(try ledger.greatestTag(), heldBack), seenIn: answer.token.generation))
    return true
  }

  /// A restored relay still follows a cursor that its backup covers, by pages of a new generation.
  /// But what this device saved beyond that cursor may be lost: the relay is asked by a token that
  /// tells of it. Where there is none, a snapshot is needed.
  mutating func noticeRestore(_ page: ChangePage) throws(StorageError) -> Bool {
    guard let cursor = position.cursor else { return try noticeRestore(bySnapshot: page) }
    guard cursor.generation != page.token.generation else { return false }
    let held = try greatestTag(before: page.token.generation)
    let vouched = max(cursor.sequence, page.since?.reach ?? 0)
    guard held > vouched else {
      // While the store's cursor stays behind (`move`), a crash may bring the device back to it:
      // what came since is not what was held before.
      setHeldBefore(PreRestoreTag(tag: held, seenIn: page.token.generation))
      beginOffer()
      guard former != nil else { return false }
      // It was asked for the sake of what it may have lost alone: the snapshot is still owed.
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

  /// The first page of a snapshot that is of another generation than the place where the device
  /// stood before: what the snapshot does not name may be lost rather than deleted. How far back
  /// the relay went is told to those who ask for what came after that place.
  private mutating func noticeRestore(bySnapshot page: ChangePage) throws(StorageError) -> Bool {
    guard position == .nothing, let former, let seenIn = former.seenIn,
      seenIn != page.token.generation
    else { return false }
    position = .cursor(former.token)
    ledger.setCursor(former.token)
    return true
  }

  /// The cursor is about to go.
  mutating func noteFormerPlace() {
    guard let cursor = position.cursor else { return }
    setFormer(LostCursor(token: cursor, seenIn: cursor.generation))
  }

  /// It joins what is known of an earlier one.
  mutating func begin(_ found: Restore) throws(StorageError) {
    beginOffer()
    setRestore(restore?.joined(with: found) ?? found)
  }

  /// The greatest tag that was held before anything of this generation came.
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
      try stand(entry(bringingBack: held), on: .lost(held))
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
    if restore?.precedes(server.tag, held.tag) == true { return try stand(entry, on: server) }
    try settle(entry, server, &applied)
  }

  private mutating func entry(bringingBack held: Record) -> OutboxEntry {
    OutboxEntry(
      number: ledger.takeNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true,
      base: .lost(held), state: .waiting)
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
