import LockstepModel
import LockstepSealing
import LockstepStorage

/// Messages of the relay, applied in the order of arrival: pages of changes, and answers to
/// batches. One transaction with the cursor that covers them. Idempotent.
extension ReplicaState {
  mutating func applyArrivals(_ arrivals: [Arrival], _ clock: ClockReading) throws(StorageError)
    -> Applied
  {
    var applied = Applied(position: position)
    for arrival in arrivals {
      switch arrival {
      case .page(let page):
        if isApplied(page.token) { continue }
        let reachBefore = position.cursor?.reach ?? 0
        if try applyPage(page, &applied) { try renewKeyRing(clock) }
        endPage(page, reachBefore, &applied)
      case .answer(let id, let answer, let isLink):
        try applyAnswer(id, answer, &applied)
        try advanceByAnswer(answer, isLink: isLink, &applied)
        try applyOvertaken(&applied)
        if try sealAwaitedZones() { applied.foundGap = true }
      }
    }
    endRestore()
    try recordSyncTime(applied, clock)
    applied.position = position
    return applied
  }

  /// Records if the page was the last one. If the cursor has a tag of an answer now that it did not
  /// have when the page was requested (`reachBefore`), the relay is asked for it.
  private func endPage(_ page: ChangePage, _ reachBefore: ChangeTag, _ applied: inout Applied) {
    let isLast = !page.more && position.isCursor(at: page.token)
    let isAsked = (position.cursor?.reach ?? 0) <= max(reachBefore, page.token.reach)
    applied.isAtEnd = isLast && isAsked
    if isLast, !isAsked { applied.foundGap = true }
  }

  /// Returns true if the device has all changes up to the page's token now, and the page has the
  /// record of the account's keys, or new keys.
  private mutating func applyPage(
    _ page: ChangePage, _ applied: inout Applied
  ) throws(StorageError) -> Bool {
    guard position.isStart(of: page) || overlaps(page) else {
      // A page that ends at the device's position brings nothing new.
      if !position.isCursor(at: page.token) { applied.foundGap = true }
      return false
    }
    if try detectRestore(page) {
      applied.foundGap = true
      return false
    }
    let isSnapshot = position.cursor == nil
    if !page.lostTags.isEmpty { sealing.retryConflicts() }
    if !isSnapshot, try detectLosses(page) {
      applied.foundGap = true
      return false
    }
    if position == .nothing {
      beginSnapshot()
      try detectLosses(page.lostTags)
      try detectLosses(after: page.token)
    }
    let arrived = try opened(page, isSnapshot: isSnapshot)
    if isSnapshot { try recordRestoreQuestions(arrived.compactMap(\.record)) }
    for each in arrived {
      try apply(each, isSnapshot: isSnapshot, &applied)
      if isSnapshot, each.record != nil { transaction.markNamed(each.key, snapshot: snapshot) }
    }
    lockSealedAccount(arrived)
    let hasNewKeys = try takeHandovers(arrived)
    let hasRing = hasNewKeys || arrived.contains { $0.key == KeyRing.key }
    let sealsMore = hasRing ? try sealFurtherZones() : false
    if sealsMore || (hasNewKeys && sealing.hasUnreadable) {
      // What could not be read is read again, with the new keys.
      _ = movePositionBack(to: nil)
      applied.foundGap = true
      return false
    }
    guard isSnapshot else {
      try moveCursor(to: page.token)
      return hasRing && !page.more
    }
    guard !page.more else {
      recordHistory(of: page.token)
      position = .snapshot(page.token)
      return false
    }
    try finishSnapshot(&applied)
    endRestoreQuestions()
    position = .nothing
    try moveCursor(to: page.token)
    return hasRing
  }

  /// Detects held versions that the relay has lost, by a page of changes. Returns true if there are
  /// any: a snapshot is needed.
  private mutating func detectLosses(_ page: ChangePage) throws(StorageError) -> Bool {
    // Another device may hold a version of a file that was lost together with its chunks.
    if !page.lostTags.isEmpty { beginChunkOffer() }
    var isFound = try detectLosses(page.lostTags)
    // The token of the former history could not name what was saved since the relay's restore: the
    // relay may have lost it with its disk.
    if position.cursor?.generation != page.token.generation {
      isFound = try detectLosses(after: page.token) || isFound
    }
    guard isFound else { return false }
    try forgetCursor(restoredThrough: nil, in: page.token.generation)
    // The relay has accepted the lost cursor in this history.
    setLostCursor(
      lostCursor.map { LostCursor(token: $0.token, seenIn: page.token.generation) })
    return true
  }

  /// True if the page ends before the cursor: it was applied already.
  private func isApplied(_ token: ChangeToken) -> Bool {
    position.cursor.map { $0.covers(token) && !$0.isSamePosition(as: token) } ?? false
  }

  /// True if the page begins before the cursor and ends after it: its known part is skipped by the
  /// tags. This happens on a stream if the device has fetched meanwhile.
  private func overlaps(_ page: ChangePage) -> Bool {
    guard let cursor = position.cursor, let since = page.since else { return false }
    return cursor.covers(since) && page.token.covers(cursor)
      && !page.token.isSamePosition(as: cursor)
  }

  /// Moves the cursor if the answer begins at it. An answer that begins after the cursor shows that
  /// other devices have saved in between. Its token is then kept until a cursor covers it, and is
  /// part of the token sent to the relay.
  private mutating func advanceByAnswer(
    _ answer: SaveAnswer, isLink: Bool, _ applied: inout Applied
  ) throws(StorageError) {
    guard let cursor = position.cursor else {
      answeredToken = answer.token
      return
    }
    let isReverted = showsReversal(answer, at: cursor)
    if isLink, cursor.isSamePosition(as: answer.since), !isReverted {
      applied.isLinked = true
      return try moveCursor(to: answer.token)
    }
    guard !cursor.covers(answer.token) else { return }
    if isLink { applied.foundGap = true }
    let keepsHorizon = isReverted || isUnconfirmed(cursor)
    answeredToken = answer.token
    if cursor.generation == answer.token.generation, !keepsHorizon {
      position = .cursor(cursor.extendingHorizon(to: answer.token.sequence))
    }
  }

  /// True if the batch was given tags on both sides of one that the device knows: the relay's store
  /// has reverted. The relay reports what it has lost to a request that names the known tag.
  private func showsReversal(_ answer: SaveAnswer, at cursor: ChangeToken) -> Bool {
    cursor.generation == answer.token.generation && answer.since.reach < cursor.reach
      && cursor.reach < answer.token.reach
  }

  /// True if the cursor's horizon is not the tag of an answer. If the relay's store has reverted to
  /// a state before it, it may have records that the device has passed over, and reports this only
  /// to a request that names the horizon. Tags of answers are held, and a page reports those that
  /// are lost.
  private func isUnconfirmed(_ cursor: ChangeToken) -> Bool {
    cursor.horizon.map { $0 != answeredToken?.sequence } ?? false
  }

  /// Moves the cursor. While a record is held back (`overtaken`), the store keeps a cursor that
  /// does not cover it yet: a crash then costs a fetch. But this cursor is of the new history, too,
  /// which has accepted it: what is received beyond it would else count, after a crash and another
  /// restore, as received before the first one, and as lost.
  private mutating func moveCursor(to token: ChangeToken) throws(StorageError) {
    var reached = token.keepingHorizon(of: position.cursor)
    if let answeredToken {
      if answeredToken.generation == token.generation {
        reached = reached.extendingHorizon(to: answeredToken.sequence)
      }
      if reached.horizon == nil { self.answeredToken = nil }
    }
    guard position != .cursor(reached) else { return }
    // A relay that was restored may have lost the record that a change was in conflict with.
    if let known = position.cursor, known.generation != reached.generation {
      sealing.retryConflicts()
      if !overtaken.isEmpty, let stored = try transaction.storedCursor() {
        storePosition(ChangeToken(generation: reached.generation, sequence: stored.sequence))
      }
    }
    position = .cursor(reached)
    if overtaken.isEmpty { storePosition(reached) }
  }

  private mutating func storePosition(_ cursor: ChangeToken) {
    transaction.setCursor(cursor)
    if preRestoreTag?.seenIn == cursor.generation { setPreRestoreTag(nil) }
  }

  /// Applies the records that were held back, once the batch in flight is answered.
  mutating func applyOvertaken(_ applied: inout Applied) throws(StorageError) {
    guard !overtaken.isEmpty, transaction.outbox.frozenBatch == nil else { return }
    let arrived = overtaken
    overtaken = []
    for each in arrived { try apply(each, isSnapshot: false, &applied) }
    if let token = position.cursor { storePosition(token) }
  }

  private mutating func apply(
    _ arrived: ArrivedRecord, isSnapshot: Bool, _ applied: inout Applied
  ) throws(StorageError) {
    // At the relay, it is another record than the sealed one of this name.
    if case .unsealed(let record) = arrived { return try handle(unsealed: record, &applied) }
    let key = arrived.key
    // The change in flight is frozen, and its answer comes first: only the answer shows if this
    // version was made on top of it or independently.
    guard transaction.outbox.sent(key) == nil else {
      overtaken.removeAll { $0.key == key && $0.tag < arrived.tag }
      if !overtaken.contains(where: { $0.key == key }) { overtaken.append(arrived) }
      return
    }
    switch arrived {
    case .plain(let record): try applyRecord(record, isSnapshot: isSnapshot, &applied)
    case .opened(let opened): try applyOpened(opened, isSnapshot: isSnapshot, &applied)
    case .missing(let key, let tag): try restoreAtRelay(key, deletedAt: tag)
    case .unsealed: break
    }
  }

  private mutating func applyRecord(_ server: Record, isSnapshot: Bool, _ applied: inout Applied)
    throws(StorageError)
  {
    let key = server.key
    guard !isOff(key.zone) else { return try skipRecord(server) }
    if let entry = transaction.outbox.open(key) {
      let server = try completed(server, over: entry.base)
      let known = entry.knownTag
      // A tag of a lost history may have been assigned again, to another version.
      let isOtherVersion = restore?.hasLost(known) == true && !entry.knows(server)
      guard isOtherVersion || (isSnapshot ? server.tag != known : server.tag > known) else {
        return
      }
      return try reconcile(entry, server, &applied)
    }
    let held = try transaction.record(key)
    if let held, try isLost(held), !held.isSame(as: server) {
      guard scope.includesWrites(to: key.zone) else { return }
      return try bringBack(held, over: server, &applied)
    }
    let server = try completed(server, over: held)
    // Tags grow. Only the snapshot of a relay restored from a backup may bring a smaller one.
    let known = held?.tag ?? 0
    guard isSnapshot ? server.tag != known : server.tag > known else { return }
    try transaction.put(server, snapshot: isSnapshot ? snapshot : nil, replacing: [held])
  }

  /// Returns the relay's version with the stamps that it lacks. Not while the relay is being
  /// restored: what it has then may precede what this device holds. Nor if it does so otherwise:
  /// another device may save an old version after the relay has forgotten that it had it.
  func completed(_ server: Record, over replaced: Record?) throws(StorageError) -> Record {
    guard restore == nil, let replaced, replaced.tag > 0, server.tag > replaced.tag else {
      return server
    }
    let completed = merging.completed(server, over: replaced)
    guard completed.fields != server.fields else { return server }
    let version = VersionFingerprint(of: server)
    guard version != VersionFingerprint(of: replaced) else { return completed }
    return try transaction.ancestors(server.key).contains(version) ? server : completed
  }

  /// Stores the time of the sync for the status of a later process; not worth a separate write each
  /// time.
  private mutating func recordSyncTime(_ applied: Applied, _ clock: ClockReading)
    throws(StorageError)
  {
    let isOld = clock.relayTime - (lastSync ?? 0) > Limits.syncNoteMilliseconds
    guard transaction.hasChanges || isOld, position.cursor != nil, !applied.foundGap,
      clock.isTrusted,
      unsentWhileOn == 0
    else { return }
    lastSync = clock.relayTime
    transaction.setValue(ReplicaState.lastSyncKey, String(clock.relayTime))
  }
}

/// Reconciliation of a local change, once the relay's version of its record is known.
extension ReplicaState {
  /// Resolves a local change against the relay's version.
  mutating func reconcile(_ entry: OutboxEntry, _ server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    if isAcknowledged(entry, by: server) {
      transaction.remove(entry)
      return try transaction.put(server)
    }
    if try isMade(entry, onTopOf: server) { return try rebase(entry, on: server) }
    if try isMade(entry, onAncestor: server) { return try rebase(entry, on: server) }
    if isIncluded(entry, in: server) {
      transaction.remove(entry)
      return try acceptServerVersion(server, for: entry.key)
    }
    var entry = entry
    let resolution: Resolution
    if let base = entry.base, restore?.hasLost(base.tag) == true,
      !server.includes.contains(VersionFingerprint(of: base))
    {
      resolution = merging.resolve(entry, madeOn: base, server)
      // The author of the relay's present version may not have known the base.
      entry.base = .nothing(at: entry.key, type: entry.type)
    } else {
      resolution = merging.resolve(entry, server)
    }
    try resolve(entry, server, by: resolution, &applied)
  }

  /// Applies the resolution of a conflict.
  ///
  /// - Parameters:
  ///   - entry: The local change; in a sealed zone, with the relay's version as `lineage.asked`.
  ///   - replaces: True if the relay's version must be replaced, also by the same content: it does
  ///     not include all that the change does.
  mutating func resolve(
    _ entry: OutboxEntry, _ server: Record, by resolution: Resolution, replaces: Bool = false,
    _ applied: inout Applied
  ) throws(StorageError) {
    applied.conflicts += 1
    switch resolution {
    case .ask:
      var asking = entry
      asking.state = .asking(server.plain)
      asking.group = nil
      if server.tag == 0 { asking.base = server.plain }
      transaction.put(asking)
    case .merged(let fields, let copies):
      transaction.remove(entry)
      let bytes = fields?.serialized()
      let isServerVersion =
        !replaces && Merging.equal(bytes, server.fields) && !merging.isLaterSame(entry, server)
      var wanted: [NewCopy] = []
      for copy in copies { try collectCopy(copy, of: entry, server, into: &wanted) }
      let group = isServerVersion || wanted.isEmpty ? nil : transaction.outbox.nextNumber
      // Copies first: they have the smaller numbers (see `ungroup`).
      for copy in wanted { try putCopy(copy, group: group) }
      guard !isServerVersion else {
        return try acceptServerVersion(server, entry.lineage?.asked, for: entry.key)
      }
      try putMerged(bytes, of: entry, server, group: group)
    }
  }

  /// True if the relay's version is this change: it was acknowledged, or another device has saved
  /// the same lost version again.
  private func isAcknowledged(_ entry: OutboxEntry, by server: Record) -> Bool {
    // A merge has the stamp of the newer side, so the stamp alone does not identify a version.
    guard server.tag > 0, server.modifiedAt == entry.modifiedAt,
      Merging.equal(entry.fields, server.fields)
    else { return false }
    return server.device == device || server.type == entry.type
  }

  /// True if the relay's version precedes the change, or repeats its base: there is no conflict.
  private func isMade(_ entry: OutboxEntry, onTopOf server: Record) throws(StorageError) -> Bool {
    if asksAboutOther(entry) { return false }
    let tag = entry.base?.tag ?? 0
    let isLost = restore?.hasLost(entry.knownTag) == true
    // Only a relay that has lost the base reports no record in its place.
    guard server.tag > 0 else { return isLost }
    // Tags grow. A version older than the base comes from a restored relay, unless that relay has
    // nothing of what gave the base its tag: its tags may be smaller then.
    let isOlder =
      if let restore, restore.hasLost(tag) {
        restore.precedes(server.tag, tag)
      } else {
        server.tag < tag
      }
    if isOlder { return true }
    // This device saved it, but the answer was lost: the waiting change was made after that.
    if isEarlierVersion(server, of: entry) { return true }
    if let restore, restore.precedesLoss(server.tag) {
      // Once the snapshot is complete, nothing refers to a lost version by its tag.
      if isLost || (restore.isSnapshotDone && entry.base?.isLost == true) { return true }
    }
    return entry.base.map { $0.tag > 0 && $0.isSame(as: server) } ?? false
  }

  /// True if the relay's version is the change as it was sent before. The relay may also have
  /// versions of this device that are unknown here, if the home was restored from a backup.
  private func isEarlierVersion(_ server: Record, of entry: OutboxEntry) -> Bool {
    guard server.device == device, let first = entry.firstSent else { return false }
    return first <= server.modifiedAt && server.modifiedAt < entry.modifiedAt
  }

  /// Rebases the change onto `server`.
  mutating func rebase(_ entry: OutboxEntry, on server: Record) throws(StorageError) {
    var entry = entry
    entry.base = server.plain
    if case .asking(var asked) = entry.state, restore?.hasLost(asked.tag) == true {
      // The user may still choose the version that the relay has lost; see `decide`.
      asked.tag = 0
      entry.state = .asking(asked)
    }
    transaction.put(entry)
    guard var held = try transaction.record(entry.key) else { return }
    held.tag = server.tag
    let isKnown = try transaction.ancestors(entry.key).contains(VersionFingerprint(of: server))
    try transaction.put(held, replacing: isKnown ? [] : [server])
  }

  /// Accepts the relay's version. `version`: which one it is, in a sealed zone.
  mutating func acceptServerVersion(
    _ server: Record, _ version: RecordVersion? = nil, for key: RecordKey
  ) throws(StorageError) {
    guard server.tag > 0 else { return try transaction.removeRecord(key) }
    try transaction.put(server, replacing: [try transaction.record(key)], version: version)
  }

  private mutating func putMerged(
    _ fields: [UInt8]?, of entry: OutboxEntry, _ server: Record, group: Int64?
  ) throws(StorageError) {
    // The stamp is the newer of the two, so that a third version, made before the merge, is
    // compared with the time of the edits and not with the time of the merge. A version that only
    // the relay's has made keeps its stamp: a change that was made on it is newer. So does, in a
    // sealed zone, one that is saved again.
    let isServers =
      Merging.equal(fields, server.fields) && !Merging.equal(fields, entry.fields)
    let isOwn =
      entry.lineage != nil && Merging.equal(fields, entry.fields)
      && !Merging.equal(fields, server.fields)
    let newer = isOwn ? entry.modifiedAt : max(entry.modifiedAt, server.modifiedAt)
    let merged = OutboxEntry(
      number: transaction.allocateNumber(), key: entry.key,
      type: entry.fields == nil ? server.type : entry.type, fields: fields,
      modifiedAt: isServers ? server.modifiedAt : newer, isStampTrusted: true,
      base: server.plain, state: .waiting, group: group,
      lineage: entry.lineage?.resolved)
    transaction.put(merged)
    try transaction.put(
      try record(of: merged, tag: server.tag),
      replacing: [try transaction.record(entry.key), server])
  }

  /// A further record that keeps content that a merge could not keep.
  private struct NewCopy {
    var change: OutboxEntry
    /// Record that is held under its name.
    var held: Record?
  }

  /// Collects nothing if the copy exists already. If another record has its name, such as that of a
  /// version of the same instant, neither is overwritten: the two are merged as any two versions.
  /// `depth`: number of copies that led to this one. A copy of a copy may have the same name.
  private mutating func collectCopy(
    _ copy: Resolution.Copy, of entry: OutboxEntry, _ server: Record,
    into wanted: inout [NewCopy], depth: Int = 0
  ) throws(StorageError) {
    let key = RecordKey(zone: entry.key.zone, name: ReplicaState.copyName(copy.name))
    let fields = copy.fields.serialized()
    let held = try transaction.record(key)
    guard !Merging.equal(fields, held?.fields) else { return }
    var change = OutboxEntry(
      number: transaction.allocateNumber(), key: key,
      type: entry.fields == nil ? server.type : entry.type, fields: fields,
      modifiedAt: max(entry.modifiedAt, server.modifiedAt), isStampTrusted: true, base: nil,
      state: .waiting)
    var further: [Resolution.Copy] = []
    if let held, !held.isDeleted, max(depth, wanted.count) < Limits.copiesOfOneMerge,
      case .merged(let fields, let copies) = merging.resolve(change, held)
    {
      change.fields = fields?.serialized()
      further = copies
    }
    change.base = held
    if let newest = held?.modifiedAt { change.modifiedAt = max(change.modifiedAt, newest + 1) }
    if !Merging.equal(change.fields, held?.fields) {
      wanted.append(NewCopy(change: change, held: held))
    }
    for copy in further {
      try collectCopy(copy, of: entry, server, into: &wanted, depth: depth + 1)
    }
  }

  private mutating func putCopy(_ copy: NewCopy, group: Int64?) throws(StorageError) {
    var change = copy.change
    change.group = group
    change.lineage = try newLineage(change.key)
    if let open = transaction.outbox.open(change.key) {
      change.base = open.base
      transaction.remove(open)
    }
    transaction.put(change)
    try transaction.put(try record(of: change, tag: copy.held?.tag ?? 0), replacing: [copy.held])
  }

  /// Shortens the name of a copy if it is too long. Keeps the end, which is unique.
  private static func copyName(_ text: String) -> Name {
    var room = Limits.nameBytes
    let kept = text.unicodeScalars.reversed().prefix { scalar in
      room -= UTF8.width(scalar)
      return room >= 0
    }
    let end = String(String.UnicodeScalarView(kept.reversed()))
    return Name(end) ?? Name(trusted: "copy")
  }
}

/// Stamps are relay time. An edit made while relay time was unknown has an estimated stamp, and is
/// stamped again before it is sent.
extension ReplicaState {
  /// Returns a stamp for a new edit: later than all known versions of the record, however wrong the
  /// clock is.
  func stamp(after held: Record?, _ clock: ClockReading) -> Int64 {
    guard let held else { return clock.relayTime }
    // A stamp that no clock made, from another program, must not lift the record's time beyond what
    // the relay accepts.
    let newest = min(
      merging.newestStamp(in: held), held.modifiedAt + Limits.stampLeadMilliseconds)
    return max(clock.relayTime, newest + 1)
  }

  /// Records the offset that untrusted stamps are made with, so that they can be corrected by the
  /// difference to the true offset.
  mutating func recordOffset(_ clock: ClockReading) {
    guard clock.offset != assumedOffset else { return }
    // A trusted offset varies by a few milliseconds; that is not worth a write.
    let isClose = abs(clock.offset - assumedOffset) < Limits.offsetNoteMilliseconds
    guard !(clock.isTrusted && isClose) else { return }
    assumedOffset = clock.offset
    transaction.setValue(ReplicaState.offsetKey, String(clock.offset))
  }

  /// Follows a step of the wall clock: the offset of the estimates so far is converted to the new
  /// wall clock, which the true offset will refer to.
  mutating func followSteps(of clock: ClockReading) {
    guard clock.wallSteps != followedSteps else { return }
    assumedOffset -= clock.wallSteps - followedSteps
    followedSteps = clock.wallSteps
    transaction.setValue(ReplicaState.offsetKey, String(assumedOffset))
  }

  /// Corrects the stamps that were estimates, now that relay time is known, and those in the
  /// relay's future. Entries in flight are not changed.
  mutating func restamp(_ clock: ClockReading) throws(StorageError) {
    guard clock.isTrusted else { return }
    if transaction.outbox.untrustedCount > 0 {
      let shift = clock.offset - assumedOffset
      for entry in transaction.outbox.entries where !entry.isStampTrusted && !entry.isSent {
        guard let entry = try rewind(entry, clock) else { continue }
        try restamp(entry, shift: shift, clock)
      }
    }
    recordOffset(clock)
  }

  /// Undoes due edits that were made too early because this device's clock was ahead: other devices
  /// would treat them as newer than all edits made until then. They are made again when they are
  /// due. Returns nil if nothing of the entry remains.
  private mutating func rewind(_ entry: OutboxEntry, _ clock: ClockReading) throws(StorageError)
    -> OutboxEntry?
  {
    guard entry.state == .waiting, entry.timeMade != nil, let base = entry.base else {
      return entry
    }
    var made = base
    var inTime = base
    var isEarly = false
    for _ in 0..<Limits.dueEdits {
      guard let edit = merging.dueEdit(for: made) else { return entry }
      isEarly = isEarly || edit.dueAt > clock.relayTime
      made.fields = edit.fields.serialized()
      if !isEarly { inTime = made }
      guard Merging.equal(made.fields, entry.fields) else { continue }
      return isEarly ? try rewind(entry, to: inTime, from: base) : entry
    }
    return entry
  }

  private mutating func rewind(_ old: OutboxEntry, to inTime: Record, from base: Record)
    throws(StorageError) -> OutboxEntry?
  {
    let tag = try transaction.record(old.key)?.tag ?? base.tag
    // A version that has left the device is not undone by silence.
    let mustBeSent = old.lineage.map { $0.isOwnVersion || tag == 0 } ?? false
    guard inTime != base || mustBeSent else {
      transaction.remove(old)
      var held = base
      held.tag = tag
      try transaction.put(held, version: old.lineage?.base)
      return nil
    }
    var entry = old
    entry.lineage = old.lineage?.changed
    entry.fields = inTime.fields
    entry.timeMade = inTime == base ? nil : entry.record(by: device, tag: 0)
    transaction.put(entry)
    try transaction.put(try record(of: entry, tag: tag))
    return entry
  }

  private mutating func restamp(_ old: OutboxEntry, shift: Int64, _ clock: ClockReading)
    throws(StorageError)
  {
    let seen = [old.base?.modifiedAt, transaction.outbox.sent(old.key)?.modifiedAt].compactMap {
      $0
    }
    var stamp = min(old.modifiedAt + shift, clock.relayTime)
    if let newest = seen.max() { stamp = max(stamp, newest + 1) }
    var entry = old
    entry.isStampTrusted = true
    if stamp != old.modifiedAt {
      entry.lineage = old.lineage?.changed
      entry.fields = merging.restamped(old, to: stamp)
      entry.modifiedAt = stamp
      entry.timeMade = restamped(old, by: stamp - old.modifiedAt)
      let tag = try transaction.record(old.key)?.tag ?? 0
      try transaction.put(try record(of: entry, tag: tag))
    }
    transaction.put(entry)
  }

  /// Returns the result of due edits after the entry's stamp moves by `shift` milliseconds.
  private func restamped(_ entry: OutboxEntry, by shift: Int64) -> Record? {
    guard var made = entry.timeMade else { return nil }
    var twin = entry
    twin.fields = made.fields
    twin.modifiedAt = made.modifiedAt
    made.fields = merging.restamped(twin, to: made.modifiedAt + shift)
    made.modifiedAt += shift
    return made
  }
}

/// Relation of versions after a restore of the relay, where tags no longer show it: devices save
/// again what they hold, and some of them hold older versions than others.
extension ReplicaState {
  /// True if the local change was made on this version, or on a later one: another device that has
  /// not seen the later one has saved it again.
  func isMade(_ entry: OutboxEntry, onAncestor server: Record) throws(StorageError) -> Bool {
    guard server.tag > 0, server.modifiedAt <= entry.modifiedAt, !asksAboutOther(entry) else {
      return false
    }
    let known = VersionFingerprint(of: server)
    guard known != fingerprint(of: entry) else { return false }
    return try transaction.ancestors(entry.key).contains(known)
  }

  /// True if the relay's version was made on the entry's own version, which the relay has lost: the
  /// entry saves it again.
  func isIncluded(_ entry: OutboxEntry, in server: Record) -> Bool {
    server.tag > 0 && entry.state == .waiting
      && server.includes.contains(fingerprint(of: entry))
  }

  /// True if the user is asked about a version that the relay still has.
  func asksAboutOther(_ entry: OutboxEntry) -> Bool {
    guard case .asking(let asked) = entry.state else { return false }
    return asked.tag > 0 && restore?.hasLost(asked.tag) != true
  }

  /// Returns the lost versions that the entry includes, for the relay; empty unless the relay has
  /// lost some, and in sealed zones, whose records name all that they include (`RecordVersion`).
  func includes(_ entry: OutboxEntry) throws(StorageError) -> [VersionFingerprint] {
    guard restore != nil, !sealing.isSealed(entry.key.zone) else { return [] }
    return (try transaction.ancestors(entry.key) + [fingerprint(of: entry)]).suffix(Limits.includes)
  }

  private func fingerprint(of entry: OutboxEntry) -> VersionFingerprint {
    VersionFingerprint(of: entry.record(by: device, tag: 0))
  }
}
