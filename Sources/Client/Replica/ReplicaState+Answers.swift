import LockstepModel
import LockstepStorage

/// What the relay answered to a batch.
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
    // An answer that leaves some out is no answer for those: they go again.
    for entry in unanswered { reopen(entry) }
  }

  /// The whole batch was turned down.
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

  /// Parked changes have another try.
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
    // What the person is asked about stands there no more.
    if case .asking(let asked) = later.state, asked.tag < tag { later.state = .asking(saved) }
    ledger.put(later)
    try ledger.put(try record(of: later, tag: tag))
  }

  private mutating func conflict(
    _ entry: OutboxEntry, _ server: Record, isRestored: Bool, _ applied: inout Applied
  ) throws(StorageError) {
    let isOwn =
      server.device == device && server.modifiedAt == entry.modifiedAt && server.tag > 0
    if isOwn { return try acknowledge(entry, server.tag) }
    // Which of the two came first cannot be told before the relay has said how far back it went.
    // Nor is anything of a zone that was switched off meanwhile taken: it is read once that is on.
    guard !isRestored, !isOff(entry.key.zone) else {
      reopen(entry)
      return
    }
    var server = server
    // A conflict with a tombstone that is no longer kept names no zone or type worth keeping.
    if server.tag == 0 { server.type = entry.type }
    let open = reopen(entry)
    try settle(open, server, &applied)
  }

  private mutating func refuse(
    _ entry: OutboxEntry, _ refusal: Refusal, _ applied: inout Applied
  ) throws(StorageError) {
    if refusal.code == .chunksMissing, try namesChunks([entry]) {
      // Said twice of all that was asked about, it is to be waited out.
      if try !suspect(entry) { applied.retryLater = refusal }
      return
    }
    switch refusal.code.advice {
    case .stampAnew:
      applied.clockAhead = true
      reopen(entry, trusted: false)
    case .fetchFirst:
      // What stands there was too large to be told with the answer: it comes with the changes.
      if refusal.code == .conflictTooLarge { applied.foundGap = true }
      reopen(entry)
    case .retry:
      applied.retryLater = refusal
      reopen(entry)
    case .askPerson, .park, .fixRequest: park(entry, refusal)
    }
  }

  /// Takes an entry back that did not land. An edit made on top of it replaces it: nobody else has
  /// seen it, so that edit was made on what this one was made on. Only what time made others may
  /// have made too, and that stays known.
  @discardableResult
  mutating func reopen(_ entry: OutboxEntry, trusted: Bool = true) -> OutboxEntry {
    var open = entry
    open.state = .waiting
    open.isStampTrusted = trusted
    open.firstSent = entry.firstSent ?? entry.modifiedAt
    // It may yet land, with what was sent before: a deletion of it must reach the relay too.
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

  /// Refused for good: it waits for the person. An edit made on top of it gets its own try.
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
  /// An earlier version parked it for the answer of somebody between it and the relay.
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
  /// The batch's content is at fault, so that the same again would be refused again. Other faults
  /// of a request are more likely somebody's on the way than this program's: they may pass.
  var blamesContent: Bool {
    switch code {
    case .badName, .chunksMissing, .recordTooLarge, .badJSON, .badRequest, .badMessage,
      .bodyTooLarge, .tooManyRecords:
      true
    default: false
    }
  }
}
