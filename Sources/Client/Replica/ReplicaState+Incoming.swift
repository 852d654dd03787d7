import LockstepModel
import LockstepStorage

/// Messages of the relay, applied in the order of arrival: pages of changes, and answers to
/// batches. One transaction with the cursor that covers them. Idempotent.
extension ReplicaState {
  mutating func apply(_ arrivals: [Arrival], _ clock: ClockReading) throws(StorageError) -> Applied
  {
    var applied = Applied(position: position)
    for arrival in arrivals {
      switch arrival {
      case .page(let page):
        if isPassed(page.token) { continue }
        try apply(page, &applied)
        applied.isAtEnd = !page.more && position.isCursor(at: page.token)
      case .answer(let id, let answer, let isLink):
        try apply(id, answer, &applied)
        follow(answer, isLink: isLink, &applied)
        try takeOvertaken(&applied)
      }
    }
    endRestore()
    try noteSync(applied, clock)
    applied.position = position
    return applied
  }

  private mutating func apply(_ page: ChangePage, _ applied: inout Applied) throws(StorageError) {
    guard position.isStart(of: page) || overlaps(page) else {
      // A page that ends at the device's position brings nothing new.
      if !position.isCursor(at: page.token) { applied.foundGap = true }
      return
    }
    if try noticeRestore(page) {
      applied.foundGap = true
      return
    }
    let isSnapshot = position.cursor == nil
    if !isSnapshot, !page.lostTags.isEmpty {
      // Another device may hold a version of a file that was lost together with its chunks.
      beginOffer()
      if try noticeLosses(page.lostTags) {
        try forgetCursor(restoredThrough: nil, in: page.token.generation)
        applied.foundGap = true
        return
      }
    }
    if position == .nothing {
      beginSnapshot()
      try noticeLosses(page.lostTags)
    }
    if isSnapshot { try meet(page) }
    for record in page.changes {
      try take(record, isSnapshot: isSnapshot, &applied)
      if isSnapshot { ledger.name(record.key, snapshot: snapshot) }
    }
    guard isSnapshot else { return move(to: page.token) }
    guard !page.more else {
      position = .snapshot(page.token)
      return
    }
    try finishSnapshot(&applied)
    endWelcomes()
    position = .nothing
    move(to: page.token)
  }

  /// True if the page ends before the cursor: it was applied already.
  private func isPassed(_ token: ChangeToken) -> Bool {
    position.cursor.map { $0.covers(token) && !$0.isSamePlace(as: token) } ?? false
  }

  /// True if the page begins before the cursor and ends after it: its known part is skipped by the
  /// tags. This happens on a stream if the device has fetched meanwhile.
  private func overlaps(_ page: ChangePage) -> Bool {
    guard let cursor = position.cursor, let since = page.since else { return false }
    return cursor.covers(since) && page.token.covers(cursor)
      && !page.token.isSamePlace(as: cursor)
  }

  /// Moves the cursor if the answer begins at it. An answer that begins after the cursor shows that
  /// other devices have saved in between. Its token is then kept until a cursor covers it, and is
  /// part of the token sent to the relay.
  private mutating func follow(
    _ answer: SaveAnswer, isLink: Bool, _ applied: inout Applied
  ) {
    guard let cursor = position.cursor else {
      answered = answer.token
      return
    }
    if isLink, cursor.isSamePlace(as: answer.since) {
      applied.isLinked = true
      return move(to: answer.token)
    }
    guard !cursor.covers(answer.token) else { return }
    if isLink { applied.foundGap = true }
    answered = answer.token
    if cursor.generation == answer.token.generation {
      position = .cursor(cursor.knowing(answer.token.sequence))
    }
  }

  /// Moves the cursor. While a record is held back (`overtaken`), the store keeps a cursor that
  /// does not cover it yet: a crash then costs a fetch.
  private mutating func move(to token: ChangeToken) {
    var reached = token.reached(from: position.cursor)
    if let answered {
      if answered.generation == token.generation { reached = reached.knowing(answered.sequence) }
      if reached.horizon == nil { self.answered = nil }
    }
    guard position != .cursor(reached) else { return }
    position = .cursor(reached)
    if overtaken.isEmpty { keep(reached) }
  }

  private mutating func keep(_ cursor: ChangeToken) {
    ledger.setCursor(cursor)
    if heldBefore?.seenIn == cursor.generation { setHeldBefore(nil) }
  }

  /// Applies the records that were held back, once the batch in flight is answered.
  mutating func takeOvertaken(_ applied: inout Applied) throws(StorageError) {
    guard !overtaken.isEmpty, ledger.outbox.frozenBatch == nil else { return }
    let records = overtaken
    overtaken = []
    for record in records { try take(record, isSnapshot: false, &applied) }
    if let token = position.cursor { keep(token) }
  }

  private mutating func take(_ server: Record, isSnapshot: Bool, _ applied: inout Applied)
    throws(StorageError)
  {
    let key = server.key
    // The change in flight is frozen, and its answer comes first: only the answer shows if this
    // version was made on top of it or independently.
    guard ledger.outbox.sent(key) == nil else {
      overtaken.removeAll { $0.key == key && $0.tag < server.tag }
      if !overtaken.contains(where: { $0.key == key }) { overtaken.append(server) }
      return
    }
    guard !isOff(key.zone) else { return try passOver(server) }
    if let entry = ledger.outbox.open(key) {
      let known = entry.knownTag
      // A tag of a lost history may have been assigned again, to another version.
      let isAnother = restore?.hasLost(known) == true && !entry.knows(server)
      guard isAnother || (isSnapshot ? server.tag != known : server.tag > known) else { return }
      return try settle(entry, server, &applied)
    }
    let held = try ledger.record(key)
    if let held, try isLost(held), !held.isSame(as: server) {
      return try bringBack(held, over: server, &applied)
    }
    // Tags grow. Only the snapshot of a relay restored from a backup may bring a smaller one.
    let known = held?.tag ?? 0
    guard isSnapshot ? server.tag != known : server.tag > known else { return }
    try ledger.put(server, snapshot: isSnapshot ? snapshot : nil, replacing: [held])
  }

  /// Stores the time of the sync for the status of a later process; not worth a separate write each
  /// time.
  private mutating func noteSync(_ applied: Applied, _ clock: ClockReading) throws(StorageError) {
    let isOld = clock.relayTime - (lastSync ?? 0) > Limits.syncNoteMilliseconds
    guard ledger.hasChanges || isOld, position.cursor != nil, !applied.foundGap, clock.isTrusted,
      unsentWhileOn == 0
    else { return }
    lastSync = clock.relayTime
    ledger.setValue(ReplicaState.lastSyncKey, String(clock.relayTime))
  }
}
