import LockstepModel
import LockstepStorage

/// Answers of the relay to batches.
extension ReplicaState {
  mutating func apply(_ id: BatchID, _ answer: SaveAnswer, _ applied: inout Applied)
    throws(StorageError)
  {
    guard let frozen = ledger.outbox.frozenBatch, frozen.id == id else { return }
    applied.hasAnswer = true
    let isRestored = try noticeRestore(answer)
    if isRestored { applied.foundGap = true }
    var unanswered = frozen.entries
    for result in answer.results {
      guard let index = unanswered.firstIndex(where: { $0.key.name == result.name }) else {
        continue
      }
      let entry = unanswered.remove(at: index)
      switch result {
      case .saved(_, let tag): try acknowledge(entry, tag)
      case .conflict(_, let server):
        try conflict(entry, server, isRestored: isRestored, &applied)
      case .refused(_, let refusal): try refuse(entry, refusal, &applied)
      }
    }
    // Entries that the answer omits are sent again.
    for entry in unanswered { reopen(entry) }
  }

  /// Handles the refusal of a whole batch.
  mutating func refuseBatch(_ id: BatchID, _ refusal: Refusal) throws(StorageError) {
    guard let frozen = ledger.outbox.frozenBatch, frozen.id == id else { return }
    let isOneThing = frozen.entries.count == 1 || frozen.entries.first?.group != nil
    if refusal.code == .chunksMissing, try namesChunks(frozen.entries) {
      for entry in frozen.entries { _ = try suspect(entry) }
      return
    }
    let isTheirs = refusal.blamesContent
    for entry in frozen.entries {
      if isTheirs && isOneThing {
        park(entry, refusal)
      } else {
        reopen(entry, trusted: refusal.code != .clockAhead)
      }
    }
  }

  /// See `ReplicaTask.setAside`.
  mutating func setAside(_ id: BatchID) {
    guard let frozen = ledger.outbox.frozenBatch, frozen.id == id else { return }
    gate.setAside(frozen.entries.map { reopen($0) })
  }

  /// See `ReplicaTask.retryRefused`.
  mutating func retryRefused(withParked: Bool) {
    gate.retrySetAside()
    if withParked { reopenParked { !$0.lacksChunks } }
  }

  /// Retries parked changes.
  mutating func reopenParked(where isMeant: (OutboxEntry) -> Bool) {
    for var entry in ledger.outbox.parkedEntries where isMeant(entry) {
      entry.state = .waiting
      ledger.put(entry)
    }
  }

  private mutating func acknowledge(_ entry: OutboxEntry, _ tag: ChangeTag) throws(StorageError) {
    ledger.remove(entry)
    gate.forget(entry.number)
    let saved = try record(of: entry, tag: tag)
    guard var later = ledger.outbox.open(entry.key) else { return try ledger.put(saved) }
    later.base = saved
    // The version that the user is asked about has been replaced.
    if case .asking(let asked) = later.state, asked.tag < tag { later.state = .asking(saved) }
    ledger.put(later)
    try ledger.put(try record(of: later, tag: tag))
  }

  private mutating func conflict(
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
      reopen(entry)
      return
    }
    var server = server
    // A conflict with a tombstone that is no longer kept has no useful zone or type.
    if server.tag == 0 { server.type = entry.type }
    let open = reopen(entry)
    try settle(open, server, &applied)
  }

  private mutating func refuse(
    _ entry: OutboxEntry, _ refusal: Refusal, _ applied: inout Applied
  ) throws(StorageError) {
    if refusal.code == .chunksMissing, try namesChunks([entry]) {
      // A repeated report after a query about all chunks: wait and retry.
      if try !suspect(entry) { applied.retryLater = refusal }
      return
    }
    switch refusal.code.advice {
    case .stampAnew:
      applied.clockAhead = true
      reopen(entry, trusted: false)
    case .fetchFirst:
      // The relay's version was too large for the answer: it comes with the changes.
      if refusal.code == .conflictTooLarge { applied.foundGap = true }
      reopen(entry)
    case .retry:
      applied.retryLater = refusal
      reopen(entry)
    case .askPerson, .park, .fixRequest: park(entry, refusal)
    }
  }

  /// Takes back an entry that was not saved. An edit made on top of it replaces it: no other device
  /// has seen the entry, so the edit gets the entry's base. Only due edits may have been made by
  /// other devices too, so they stay recorded.
  @discardableResult
  mutating func reopen(_ entry: OutboxEntry, trusted: Bool = true) -> OutboxEntry {
    var open = entry
    open.state = .waiting
    open.isStampTrusted = trusted
    open.firstSent = entry.firstSent ?? entry.modifiedAt
    open.includes = []
    // An earlier request may still save it: a later deletion must reach the relay too.
    if open.base == nil { open.base = .nothing(at: open.key, type: open.type) }
    if let later = ledger.outbox.open(entry.key) {
      ledger.remove(entry)
      let (base, firstSent) = (open.base, open.firstSent)
      open = later
      open.base = base
      open.firstSent = firstSent
      open.timeMade = later.timeMade ?? entry.timeMade
      open.group = entry.group
    }
    ledger.put(open)
    return open
  }

  /// Parks an entry that was refused for good: it waits for the user. An edit made on top of it is
  /// tried separately.
  private mutating func park(_ entry: OutboxEntry, _ refusal: Refusal) {
    guard ledger.outbox.open(entry.key) == nil else {
      reopen(entry)
      return
    }
    var parked = entry
    parked.state = .parked(refusal)
    parked.group = nil
    ledger.put(parked)
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
