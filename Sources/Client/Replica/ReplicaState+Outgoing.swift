import LockstepModel
import LockstepStorage

/// Choice of the next batch. Entries are frozen under a batch id before they are sent, so that the
/// same batch is sent again after a crash or a lost answer.
extension ReplicaState {
  /// Bytes of a record in a batch besides its fields: names, stamps and punctuation.
  private static let overheadBytes = 340
  /// Bytes of a hash in quotes, and a comma.
  private static let chunkBytes = 67
  /// Bytes for mutations; leaves room for the batch's own members.
  private static let batchBytes = Limits.batchBytes - (4 << 10)

  /// A change as it is sent to the relay.
  private struct OutgoingEntry {
    var entry: OutboxEntry
    var mutation: Mutation
    var bytes: Int
  }

  mutating func freezeBatch(_ offer: BatchOffer, _ clock: ClockReading) throws(StorageError)
    -> SaveRequest?
  {
    if let frozen = transaction.outbox.frozenBatch {
      return try sealed(ReplicaState.request(frozen.id, try outgoingEntries(frozen.entries)))
    }
    try restamp(clock)
    guard clock.isTrusted else { return nil }
    var random = SeededRandom(seed: offer.seed)
    var chosen = try chooseIdentified(offer.bounds, clock, &random)
    guard !chosen.isEmpty else { return nil }
    for index in chosen.indices {
      chosen[index].mutation.includes = try includes(chosen[index].entry)
      chosen[index].entry.includes = chosen[index].mutation.includes
      chosen[index].entry.state = .sent(offer.id)
      transaction.put(chosen[index].entry)
    }
    return try sealed(ReplicaState.request(offer.id, chosen))
  }

  /// Returns the changes to send, with their ids as versions. Parks those that a sealed zone cannot
  /// send.
  private mutating func chooseIdentified(
    _ bounds: BatchBounds, _ clock: ClockReading, _ random: inout SeededRandom
  ) throws(StorageError) -> [OutgoingEntry] {
    // Each turn but the last parks a change.
    while true {
      var chosen = try chooseEntries(bounds, clock)
      var isComplete = true
      for index in chosen.indices {
        guard let reason = identify(&chosen[index], &random) else { continue }
        isComplete = false
        parkUnsent(chosen[index].entry, Refusal(.badRequest, reason))
      }
      if isComplete { return chosen }
    }
  }

  /// Returns the reason that the change cannot be sent; nil if it can.
  private mutating func identify(
    _ outgoing: inout OutgoingEntry, _ random: inout SeededRandom
  ) -> String? {
    // Only a program that gives the greatest number at once leads to that.
    return identify(&outgoing.entry, &random)
      ? nil : "The record can have no further versions. Copy it."
  }

  /// Parks a change that waits. Others of its group go on without it.
  private mutating func parkUnsent(_ entry: OutboxEntry, _ refusal: Refusal) {
    if let group = entry.group {
      _ = ungroup(transaction.outbox.entries.filter { $0.group == group })
    }
    var parked = entry
    parked.state = .parked(refusal)
    parked.group = nil
    transaction.put(parked)
  }

  /// Returns the changes to send. Omits changes that name chunks of files which the relay may lack.
  private mutating func chooseEntries(_ bounds: BatchBounds, _ clock: ClockReading)
    throws(StorageError)
    -> [OutgoingEntry]
  {
    chunkDependencies.prune(transaction.outbox)
    for first in transaction.outbox.entries {
      guard first.state == .waiting, !bounds.blockedZones.contains(first.key.zone),
        !isOff(first.key.zone), scope.includesWrites(to: first.key.zone),
        !chunkDependencies.isBlocked(first)
      else { continue }
      let members =
        first.group.map { group in
          transaction.outbox.entries.filter { $0.group == group && $0.state == .waiting }
        } ?? [first]
      guard !members.contains(where: { sealing.isUnreadable($0.key) }) else { continue }
      let together = try outgoingEntries(members)
      guard admitIfComplete(together, clock) else { continue }
      if first.group == nil {
        let most = max(1, min(bounds.records, Limits.batchRecords))
        return try gatherEntries(
          from: first, at: most, bytes: min(bounds.bytes, ReplicaState.batchBytes), clock)
      }
      let bytes = together.reduce(0) { $0 + $1.bytes }
      let chunks = together.reduce(0) { $0 + $1.mutation.chunks.count }
      if members.count <= Limits.batchRecords, bytes <= ReplicaState.batchBytes,
        chunks <= Limits.chunksPerBatch
      {
        return together
      }
      return try outgoingEntries(Array(ungroup(members).prefix(1)))
    }
    return []
  }

  /// Returns true if the relay has all chunks that these changes name; otherwise blocks them. Parks
  /// those that name files which are not sealed, in a sealed zone.
  private mutating func admitIfComplete(
    _ outgoingEntries: [OutgoingEntry], _ clock: ClockReading
  )
    -> Bool
  {
    let unsealed = outgoingEntries.filter { namesUnsealedFiles($0) }
    guard unsealed.isEmpty else {
      // Before any of their chunks is uploaded.
      for outgoing in unsealed { parkUnsent(outgoing.entry, ReplicaState.fileNotSealed) }
      return false
    }
    var lacking: [ChunkHash] = []
    for outgoingEntry in outgoingEntries {
      lacking += chunkDependencies.lacking(
        outgoingEntry.entry, outgoingEntry.mutation.chunks, at: clock.wall)
    }
    if lacking.isEmpty { return true }
    chunkDependencies.block(outgoingEntries.map(\.entry), lacking: lacking)
    return false
  }

  private func namesUnsealedFiles(_ outgoing: OutgoingEntry) -> Bool {
    let entry = outgoing.entry
    guard let fields = entry.fields, !outgoing.mutation.chunks.isEmpty,
      sealing.isSealed(entry.key.zone)
    else { return false }
    return namesUnsealedFiles(fields, type: entry.type, at: entry.key)
  }

  private static let fileNotSealed = Refusal(
    .badRequest, "The zone is sealed, and a file of the record is not. Attach the file again.")

  /// Splits a group that cannot be one batch: its members are sent one after the other. The
  /// copies have the smaller numbers and go first, so that no content is overwritten before it is
  /// saved.
  private mutating func ungroup(_ members: [OutboxEntry]) -> [OutboxEntry] {
    var alone: [OutboxEntry] = []
    for var member in members {
      member.group = nil
      transaction.put(member)
      alone.append(member)
    }
    return alone
  }

  private mutating func gatherEntries(
    from first: OutboxEntry, at most: Int, bytes bytesMax: Int, _ clock: ClockReading
  ) throws(StorageError) -> [OutgoingEntry] {
    var gathered: [OutgoingEntry] = []
    var bytes = 0
    var chunks = 0
    for entry in transaction.outbox.entries {
      guard entry.number >= first.number, entry.state == .waiting, entry.group == nil,
        entry.key.zone == first.key.zone, !chunkDependencies.isBlocked(entry),
        !sealing.isUnreadable(entry.key)
      else { continue }
      let outgoingEntry = try self.outgoingEntry(entry)
      guard admitIfComplete([outgoingEntry], clock) else { continue }
      bytes += outgoingEntry.bytes
      chunks += outgoingEntry.mutation.chunks.count
      let isTooMuch = bytes > bytesMax || chunks > Limits.chunksPerBatch
      if !gathered.isEmpty, isTooMuch { break }
      gathered.append(outgoingEntry)
      if gathered.count == most { break }
    }
    return gathered
  }

  private mutating func outgoingEntries(_ entries: [OutboxEntry]) throws(StorageError)
    -> [OutgoingEntry]
  {
    var outgoingEntries: [OutgoingEntry] = []
    for entry in entries { outgoingEntries.append(try outgoingEntry(entry)) }
    return outgoingEntries
  }

  private mutating func outgoingEntry(_ entry: OutboxEntry) throws(StorageError) -> OutgoingEntry {
    let mutation = Mutation(
      name: entry.key.name, type: entry.type, fields: entry.fields,
      modifiedAt: entry.modifiedAt, baseTag: entry.base?.tag ?? 0,
      unlessDeleted: entry.base?.isLost == true && !sealing.isSealed(entry.key.zone),
      includes: entry.includes,
      chunks: try chunks(of: entry))
    // A name may need an escape for every byte.
    let names = entry.key.name.text.utf8.count + entry.type.text.utf8.count
    return OutgoingEntry(
      entry: entry, mutation: mutation,
      bytes: relayFieldsCount(entry.fields, type: entry.type, at: entry.key) + 2 * names
        + ReplicaState.overheadBytes
        + mutation.chunks.count * ReplicaState.chunkBytes)
  }

  private static func request(_ id: BatchID, _ outgoingEntries: [OutgoingEntry]) -> SaveRequest? {
    guard let first = outgoingEntries.first else { return nil }
    return SaveRequest(
      id: id, zone: first.entry.key.zone, atomic: first.entry.group != nil,
      mutations: outgoingEntries.map(\.mutation))
  }
}

/// Answers of the relay to batches.
extension ReplicaState {
  mutating func applyAnswer(_ id: BatchID, _ answer: SaveAnswer, _ applied: inout Applied)
    throws(StorageError)
  {
    guard let frozen = transaction.outbox.frozenBatch, frozen.id == id else { return }
    applied.hasAnswer = true
    let isRestored = try detectRestore(answer)
    if isRestored { applied.foundGap = true }
    for (entry, result) in openedResults(answer.results, of: frozen.entries) {
      switch result {
      case .saved(let tag): try acknowledge(entry, tag)
      case .conflict(let server):
        try handleConflict(entry, server, isRestored: isRestored, &applied)
      case .opened(let server): try handleConflict(entry, server, &applied)
      case .absent: try handleAbsence(entry, &applied)
      case .refused(let refusal): try handleRefusal(entry, refusal, &applied)
      // Entries that the answer omits are sent again; those whose record cannot be read, once it
      // can.
      case .unreadable, .missing: returnToWaiting(entry)
      }
    }
  }

  /// Handles the refusal of a whole batch.
  mutating func refuseBatch(_ id: BatchID, _ refusal: Refusal) throws(StorageError) {
    guard let frozen = transaction.outbox.frozenBatch, frozen.id == id else { return }
    let isIndivisible = frozen.entries.count == 1 || frozen.entries.first?.group != nil
    if refusal.code == .chunksMissing, try namesChunks(frozen.entries) {
      for entry in frozen.entries { _ = try recordMissingChunks(of: entry) }
      return
    }
    let isContentRefused = refusal.blamesContent
    for entry in frozen.entries {
      if isContentRefused && isIndivisible {
        park(entry, refusal)
      } else {
        returnToWaiting(entry, trusted: refusal.code != .clockAhead)
      }
    }
  }

  /// See `ReplicaTask.setAside`.
  mutating func setAside(_ id: BatchID) {
    guard let frozen = transaction.outbox.frozenBatch, frozen.id == id else { return }
    chunkDependencies.setAside(frozen.entries.map { returnToWaiting($0) })
  }

  /// See `ReplicaTask.retryRefused`.
  mutating func retryRefused(withParked: Bool) {
    chunkDependencies.retrySetAside()
    guard withParked else { return }
    retryParked { !$0.lacksChunks }
    retryUnreadable()
  }

  /// Retries parked changes.
  mutating func retryParked(where isMeant: (OutboxEntry) -> Bool) {
    for var entry in transaction.outbox.parkedEntries where isMeant(entry) {
      entry.state = .waiting
      transaction.put(entry)
    }
  }

  mutating func acknowledge(_ entry: OutboxEntry, _ tag: ChangeTag) throws(StorageError) {
    transaction.remove(entry)
    chunkDependencies.forget(entry.number)
    let saved = try record(of: entry, tag: tag)
    let version = entry.lineage?.version
    guard var later = transaction.outbox.open(entry.key) else {
      return try transaction.put(saved, version: version)
    }
    later.base = saved
    if let version { later.lineage?.base = version }
    // The version that the user is asked about has been replaced.
    if case .asking(let asked) = later.state, asked.tag < tag { later.state = .asking(saved) }
    transaction.put(later)
    try transaction.put(try record(of: later, tag: tag))
  }

  private mutating func handleConflict(
    _ entry: OutboxEntry, _ server: Record, isRestored: Bool, _ applied: inout Applied
  ) throws(StorageError) {
    let isOwn =
      server.device == device && server.modifiedAt == entry.modifiedAt && server.tag > 0
      && Merging.equal(entry.fields, server.fields)
    if isOwn { return try acknowledge(entry, server.tag) }
    // The order of the two versions is unknown until the relay has reported how far back it went. A
    // version in a zone that was switched off meanwhile is not applied either: it is read once the
    // zone is on.
    guard !isRestored, !isOff(entry.key.zone) else {
      returnToWaiting(entry)
      return
    }
    var server = server
    // A conflict with a tombstone that is no longer kept has no useful zone or type.
    if server.tag == 0 { server.type = entry.type }
    let open = returnToWaiting(entry)
    try reconcile(open, try completed(server, over: open.base), &applied)
  }

  private mutating func handleRefusal(
    _ entry: OutboxEntry, _ refusal: Refusal, _ applied: inout Applied
  ) throws(StorageError) {
    if refusal.code == .chunksMissing, try namesChunks([entry]) {
      // A repeated report after a query about all chunks: wait and retry.
      if try !recordMissingChunks(of: entry) { applied.retryLater = refusal }
      return
    }
    switch refusal.code.advice {
    case .stampAnew:
      applied.clockAhead = true
      returnToWaiting(entry, trusted: false)
    case .fetchFirst:
      // The relay's version was too large for the answer: it comes with the changes.
      if refusal.code == .conflictTooLarge { applied.foundGap = true }
      returnToWaiting(entry)
    case .retry, .followRelay:
      applied.retryLater = refusal
      returnToWaiting(entry)
    case .askPerson, .park, .fixRequest: park(entry, refusal)
    }
  }

  /// Makes an unsaved entry wait again. An edit made on top of it replaces it: no other device has
  /// seen the entry, so the edit gets the entry's base. Only due edits may have been made by other
  /// devices too, so they stay recorded.
  @discardableResult
  mutating func returnToWaiting(_ entry: OutboxEntry, trusted: Bool = true) -> OutboxEntry {
    var open = entry
    open.state = .waiting
    open.isStampTrusted = trusted
    open.firstSent = entry.firstSent ?? entry.modifiedAt
    open.includes = []
    // An earlier request may still save it: a later deletion must reach the relay too.
    if open.base == nil { open.base = .nothing(at: open.key, type: open.type) }
    if let later = transaction.outbox.open(entry.key) {
      transaction.remove(entry)
      let (base, firstSent) = (open.base, open.firstSent)
      open = later
      open.base = base
      if let lineage = entry.lineage {
        open.lineage?.base = lineage.base
        open.lineage?.given = lineage.given
      }
      open.firstSent = firstSent
      open.timeMade = later.timeMade ?? entry.timeMade
      open.group = entry.group
    }
    transaction.put(open)
    return open
  }

  /// Parks an entry that was refused for good: it waits for the user. An edit made on top of it is
  /// tried separately.
  private mutating func park(_ entry: OutboxEntry, _ refusal: Refusal) {
    guard transaction.outbox.open(entry.key) == nil else {
      returnToWaiting(entry)
      return
    }
    var parked = entry
    parked.state = .parked(refusal)
    parked.group = nil
    transaction.put(parked)
  }
}

extension OutboxEntry {
  /// True if an earlier version of the program parked it because of an intermediary's answer.
  var wasIntercepted: Bool {
    if case .parked(let refusal) = state { refusal.wasIntercepted } else { false }
  }
}

extension MutationResult {
  var name: Name {
    switch self {
    case .saved(let name, _), .conflict(let name, _), .refused(let name, _): name
    }
  }
}

extension Refusal {
  /// True if the batch's content is at fault, so that a retry would be refused again. Other faults
  /// of a request are more likely an intermediary's than this program's: they may be temporary.
  var blamesContent: Bool {
    switch code {
    case .badName, .chunksMissing, .recordTooLarge, .badJSON, .badRequest, .badMessage,
      .bodyTooLarge, .tooManyRecords:
      true
    default: false
    }
  }
}

/// A relay restored from a backup has lost later saves. Those that this device holds are saved
/// again through the outbox, as changes made on the relay's present versions.
extension ReplicaState {
  /// Detects a restore by an answer of another generation than the cursor's. The answer does not
  /// show how far back the relay went: the greatest held tag is recorded, to distinguish held
  /// records from those that the relay sends from now on.
  mutating func detectRestore(_ answer: SaveAnswer) throws(StorageError) -> Bool {
    guard let known = position.cursor?.generation ?? lostCursor?.seenIn,
      known != answer.token.generation
    else { return false }
    if preRestoreTag?.seenIn == answer.token.generation { return true }
    // Records held back arrived before the answer, and are applied after it.
    let heldBack = overtaken.map(\.tag).max() ?? 0
    setPreRestoreTag(
      PreRestoreTag(
        tag: max(try transaction.greatestTag(), heldBack), seenIn: answer.token.generation))
    return true
  }

  /// Detects a restore by a page. A restored relay still accepts a cursor that its backup covers,
  /// and answers with pages of a new generation. But saves of this device beyond that cursor may be
  /// lost: the relay is asked with a token that includes them. If there is no such token, a
  /// snapshot is needed.
  mutating func detectRestore(_ page: ChangePage) throws(StorageError) -> Bool {
    guard let cursor = position.cursor else { return try detectRestore(bySnapshot: page) }
    guard cursor.generation != page.token.generation else { return false }
    let held = try greatestTag(before: page.token.generation)
    let coveredTag = max(cursor.sequence, page.since?.reach ?? 0)
    guard held > coveredTag else {
      // While the store's cursor stays behind (`moveCursor`), a crash may set the device back to
      // it: what arrived since does not count as held before.
      setPreRestoreTag(PreRestoreTag(tag: held, seenIn: page.token.generation))
      beginChunkOffer()
      guard lostCursor != nil else { return false }
      // This fetch was only for possible losses: the snapshot is still required.
      setLostCursor(LostCursor(token: cursor, seenIn: page.token.generation))
      position = .nothing
      transaction.setCursor(nil)
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
  private mutating func detectRestore(bySnapshot page: ChangePage) throws(StorageError) -> Bool {
    guard position == .nothing, let lostCursor, let seenIn = lostCursor.seenIn,
      seenIn != page.token.generation
    else { return false }
    position = .cursor(lostCursor.token)
    transaction.setCursor(lostCursor.token)
    return true
  }

  /// Records the history of a snapshot, for the case that it is not completed: a restart would
  /// leave records of this history without a position in it, and a restored relay could not be
  /// noticed.
  mutating func recordHistory(of token: ChangeToken) {
    guard lostCursor == nil else { return }
    setLostCursor(
      LostCursor(
        token: ChangeToken(generation: token.generation, sequence: 0), seenIn: token.generation))
  }

  /// Records the cursor before it is discarded.
  mutating func recordLostCursor() {
    guard let cursor = position.cursor else { return }
    setLostCursor(LostCursor(token: cursor, seenIn: cursor.generation))
  }

  /// Begins a restore, joined with an earlier one.
  mutating func beginRestore(_ found: Restore) throws(StorageError) {
    beginChunkOffer()
    setRestore(restore?.joined(with: found) ?? found)
  }

  /// Detects held versions whose tags are greater than the account's newest tag at `token`, of the
  /// first page of a snapshot or of another history. Returns true if there are such versions. No
  /// save is answered between the request for a page and the page, so a store that has reverted
  /// since assigned these tags. If a save is answered meanwhile on another connection, the snapshot
  /// names its version.
  @discardableResult
  mutating func detectLosses(after token: ChangeToken) throws(StorageError) -> Bool {
    let newest = token.reach
    let greatest = try transaction.greatestTag()
    guard greatest > newest else { return false }
    try beginRestore(
      Restore(lost: [TagGap(after: newest, through: greatest)], newest: newest))
    return true
  }

  /// Returns the greatest tag that was held before anything of this generation arrived.
  func greatestTag(before generation: UInt32?) throws(StorageError) -> ChangeTag {
    if let preRestoreTag, generation == nil || preRestoreTag.seenIn == generation {
      return preRestoreTag.tag
    }
    return try transaction.greatestTag()
  }

  /// False in zones in which this device cannot save anything: it follows the relay there.
  func isLost(_ held: Record) throws(StorageError) -> Bool {
    guard scope.includesWrites(to: held.zone) else { return false }
    if restore?.hasLost(held.tag) == true { return true }
    return try isMarkedAsLost(held.key)
  }

  func isMarkedAsLost(_ key: RecordKey) throws(StorageError) -> Bool {
    guard hasLostRecords else { return false }
    return try transaction.isLost(key)
  }

  /// True if more of what is marked as lost fits into the outbox. Half of the outbox is left to the
  /// user.
  var mayBringBack: Bool { hasLostRecords && hasRoomToBringBack }

  var hasRoomToBringBack: Bool {
    transaction.outbox.entries.count < Limits.outboxRecords / 2
      && transaction.outbox.bytes < Limits.outboxBytes / 2
  }

  /// Moves some of what the relay has lost into the outbox.
  mutating func bringBack() throws(StorageError) {
    guard mayBringBack else { return }
    let lost = try transaction.store.lostRecords(limit: Limits.pageRecords, bytes: Limits.pageBytes)
    hasLostRecords = !lost.isEmpty
    for held in lost where hasRoomToBringBack {
      if sealing.isSealed(held.zone) {
        try bringBackSealed(held, try transaction.version(held.key))
        continue
      }
      try rebase(entry(bringingBack: held), on: .lost(held))
    }
  }

  /// Saves a held record again that the relay has lost; it has `server` instead. If there is no
  /// room, the record waits, and a conflict brings the server's version later.
  mutating func bringBack(_ held: Record, over server: Record, _ applied: inout Applied)
    throws(StorageError)
  {
    guard hasRoomToBringBack else {
      hasLostRecords = true
      return transaction.markLost(held.key)
    }
    let entry = entry(bringingBack: held)
    if restore?.precedes(server.tag, held.tag) == true { return try rebase(entry, on: server) }
    try reconcile(entry, server, &applied)
  }

  private mutating func entry(bringingBack held: Record) -> OutboxEntry {
    OutboxEntry(
      number: transaction.allocateNumber(), key: held.key, type: held.type, fields: held.fields,
      modifiedAt: held.modifiedAt, isStampTrusted: true,
      base: .lost(held), state: .waiting)
  }

  /// Ends the restore once all that was lost is acknowledged again.
  mutating func endRestore() {
    guard restore?.isSnapshotDone == true, !hasLostRecords, transaction.outbox.summary.unsent == 0
    else {
      return
    }
    setRestore(nil)
  }

  mutating func setRestore(_ restore: Restore?) {
    self.restore = restore
    transaction.setValue(ReplicaState.restoreKey, restore?.text)
  }

  mutating func setLostCursor(_ lostCursor: LostCursor?) {
    guard self.lostCursor != lostCursor else { return }
    self.lostCursor = lostCursor
    transaction.setValue(ReplicaState.lostCursorKey, lostCursor?.text)
  }

  mutating func setPreRestoreTag(_ held: PreRestoreTag?) {
    guard preRestoreTag != held else { return }
    preRestoreTag = held
    transaction.setValue(ReplicaState.preRestoreTagKey, held?.text)
  }
}

/// Consent of the user to restored records. A new device receives records that other devices have
/// made: some apps ask the user whether to use them (`App.asksToRestore`). Until then the records
/// are stored in the home, and are neither shown nor overwritten.
extension ReplicaState {
  enum RestoreConsent: String {
    /// The first snapshot contained records of other devices, and the user has not answered.
    case asked
    /// The user has answered, or there was nothing to ask.
    case answered
  }

  private static let restoreConsentPrefix = "welcome."

  /// Loads the states. A home that was read completely before the question existed has nothing to
  /// ask, except about zones for which its device is not paired yet.
  mutating func loadRestoreConsents() throws(StorageError) {
    restoreConsents = [:]
    let hasRead = try transaction.store.cursor() != nil
    for app in apps where !app.asksToRestore.isEmpty {
      let hasRead = hasRead && scope.includes(app.zone)
      let text = try transaction.store.value(Self.restoreConsentPrefix + app.zone.text)
      restoreConsents[app.zone] =
        text.flatMap(RestoreConsent.init(rawValue:)) ?? (hasRead ? .answered : nil)
    }
  }

  /// Records the questions that a page of a snapshot raises, before it is applied.
  mutating func recordRestoreQuestions(_ records: [Record]) throws(StorageError) {
    var found: [Name: Set<Name>] = [:]
    for record in records where !record.isDeleted {
      found[record.zone, default: []].insert(record.type)
    }
    for app in apps where restoreConsents[app.zone] == nil && !isOff(app.zone) {
      guard app.asksToRestore.contains(where: { found[app.zone]?.contains($0) == true })
      else { continue }
      setRestoreConsent(app.zone, try hasContent(of: app) ? .answered : .asked)
    }
  }

  /// Handles the end of a snapshot: zones without a question by then have none.
  mutating func endRestoreQuestions() {
    for app in apps where !app.asksToRestore.isEmpty && scope.includes(app.zone) {
      if restoreConsents[app.zone] == nil, !isOff(app.zone) {
        setRestoreConsent(app.zone, .answered)
      }
    }
  }

  /// Records that the user has made an edit here before records of other devices were found: this
  /// device is not empty.
  mutating func recordOwnEdit(_ zone: Name) {
    let isAsking = apps.contains { $0.zone == zone && !$0.asksToRestore.isEmpty }
    if isAsking, restoreConsents[zone] != .answered { setRestoreConsent(zone, .answered) }
  }

  /// Returns true if there was a question.
  mutating func answerRestore(
    of name: String, wipes: Bool, _ clock: ClockReading
  ) throws(StorageError) -> Result<Bool, EditFailure> {
    guard let app = apps.first(where: { $0.name == name }) else {
      return .failure(.refused(EditRefusal("this home has no app \(name)")))
    }
    let isAsked = try question(of: app) != nil
    if restoreConsents[app.zone] == .asked { setRestoreConsent(app.zone, .answered) }
    if wipes, sealing.isSealed(app.zone) {
      for record in try transaction.records(zone: app.zone, type: nil) {
        _ = try writeChange(
          record.key, type: record.type, fields: nil, stamp: stamp(after: record, clock), clock)
      }
    }
    return .success(isAsked)
  }

  /// Returns nil if nothing is asked, or all records in question are gone.
  func question(of app: any App) throws(StorageError) -> RestoreQuestion? {
    guard restoreConsents[app.zone] == .asked else { return nil }
    var count = 0
    for type in app.asksToRestore {
      count += try transaction.records(zone: app.zone, type: type).count
    }
    return count == 0 ? nil : RestoreQuestion(app: app.name, zone: app.zone, count: count)
  }

  func questions() throws(StorageError) -> [RestoreQuestion] {
    var questions: [RestoreQuestion] = []
    for app in apps {
      if let question = try question(of: app) { questions.append(question) }
    }
    return questions
  }

  /// Returns the failure of orders and views while the question is unanswered; nil if there is
  /// none.
  func unansweredQuestion(of app: any App) throws(StorageError) -> EditFailure? {
    try question(of: app).map { .restoreFirst(app: $0.app, count: $0.count) }
  }

  private func hasContent(of app: any App) throws(StorageError) -> Bool {
    if transaction.outbox.entries.contains(where: { $0.key.zone == app.zone }) { return true }
    for type in app.asksToRestore {
      if try !transaction.records(zone: app.zone, type: type).isEmpty { return true }
    }
    return false
  }

  private mutating func setRestoreConsent(_ zone: Name, _ consent: RestoreConsent) {
    restoreConsents[zone] = consent
    transaction.setValue(Self.restoreConsentPrefix + zone.text, consent.rawValue)
  }
}
