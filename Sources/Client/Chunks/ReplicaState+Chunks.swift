import LockstepModel
import LockstepStorage

/// The chunks of files in the home.
extension ReplicaState {
  mutating func perform(_ task: ChunkTask, _ clock: ClockReading) throws(StorageError)
    -> ChunkTransferResult
  {
    switch task {
    case .add(let chunk, let isInHomeFolder):
      if isInHomeFolder { transaction.setValue(ChunkFolder.key, ChunkFolder.home.text) }
      return try add(chunk, clock)
    case .find(let hash): return .found(try find(hash, clock))
    case .drop(let chunk):
      if try transaction.store.chunks([chunk.hash]).first?.file == chunk.file {
        transaction.removeChunk(chunk.hash)
      }
      return .done
    case .collect(let hash, let keep): return try collect(after: hash, keep: keep, clock)
    case .applyStatus(let chunkStatus):
      try applyStatus(chunkStatus, clock)
      return .done
    case .retry:
      chunkDependencies.retry()
      offer?.isHeld = false
      return .done
    case .queryLackingChunks:
      try queryLackingChunks()
      return .done
    case .check:
      beginChunkCheck()
      return .done
    case .sweep(let files):
      let known = Set(try transaction.store.chunkFiles(files))
      return .unknown(files.filter { !known.contains($0) })
    }
  }

  /// Adds a chunk. Its new file was verified just now, so it replaces an earlier one.
  private mutating func add(_ chunk: HeldChunk, _ clock: ClockReading) throws(StorageError)
    -> ChunkTransferResult
  {
    let before = try transaction.store.chunks([chunk.hash]).first
    var added = chunk
    // A record is about to name the chunk.
    added.idleSince = clock.wall
    transaction.putChunk(added)
    try retryParked(naming: [chunk.hash])
    return .added(replaced: before?.file)
  }

  /// Finds a chunk, and extends the time for which an unnamed chunk is kept.
  private mutating func find(_ hash: ChunkHash, _ clock: ClockReading) throws(StorageError)
    -> HeldChunk?
  {
    guard var chunk = try transaction.store.chunks([hash]).first else { return nil }
    if chunk.idleSince != nil {
      chunk.idleSince = clock.wall
      transaction.putChunk(chunk)
    }
    return chunk
  }

  private mutating func collect(
    after hash: ChunkHash?, keep: Int64, _ clock: ClockReading
  ) throws(StorageError) -> ChunkTransferResult {
    let portion = try transaction.store.chunks(after: hash, limit: Limits.collectedChunks)
    var named = Set(try transaction.store.namedChunks(portion.map(\.hash)))
    if named.count < portion.count { named.formUnion(try chunksInOutbox()) }
    var removed: [UInt64] = []
    for var chunk in portion {
      let isNamed = named.contains(chunk.hash)
      // If the clock was set back, the wait begins again.
      if let since = chunk.idleSince, !isNamed, since <= clock.wall {
        guard clock.wall - since >= keep else { continue }
        transaction.removeChunk(chunk.hash)
        removed.append(chunk.file)
      } else if (chunk.idleSince == nil) != isNamed {
        chunk.idleSince = isNamed ? nil : clock.wall
        transaction.putChunk(chunk)
      }
    }
    let next = portion.count == Limits.collectedChunks ? portion.last?.hash : nil
    return .collected(removed, next: next)
  }

  /// Returns the chunks that entries of the outbox name, besides those of the held records, which
  /// show the last edits.
  private mutating func chunksInOutbox() throws(StorageError) -> [ChunkHash] {
    var named: [ChunkHash] = []
    for entry in transaction.outbox.entries {
      named += entry.base?.chunks ?? []
      if case .asking(let server) = entry.state { named += server.chunks }
      if entry.isSent { named += try chunks(of: entry) }
    }
    return named
  }

  /// Removes the chunks that nothing names when the home gets its first keys: parts of files that
  /// were attached without them, which must not be offered to the relay. Their files go when the
  /// home is next opened.
  mutating func removeUnnamedChunks() throws(StorageError) {
    let held = try transaction.store.chunks(after: nil, limit: .max).map(\.hash)
    let named = Set(try transaction.store.namedChunks(held) + chunksInOutbox())
    for hash in held where !named.contains(hash) { transaction.removeChunk(hash) }
  }

  // MARK: uploads before their records

  /// Returns the chunks that the last choice of a batch found missing.
  mutating func collectChunkNeeds() throws(StorageError) -> [ChunkNeed] {
    let hashes = chunkDependencies.drainNamedChunks()
    if hashes.isEmpty { return [] }
    let held = try transaction.store.chunks(hashes)
    var needs: [ChunkNeed] = []
    var next = 0
    for hash in hashes {
      let isHeld = next < held.count && held[next].hash == hash
      needs.append(ChunkNeed(hash: hash, source: isHeld ? held[next] : nil))
      if isHeld { next += 1 }
    }
    return needs
  }

  private mutating func applyStatus(
    _ chunkStatus: ChunkStatus, _ clock: ClockReading
  ) throws(StorageError) {
    for chunk in chunkStatus.fileMissing {
      if try transaction.store.chunks([chunk.hash]).first?.file == chunk.file {
        transaction.removeChunk(chunk.hash)
      }
    }
    try park(chunkDependencies.waiting(for: chunkStatus.unavailable), ReplicaState.chunkUnavailable)
    try park(chunkDependencies.waiting(for: chunkStatus.damaged), ReplicaState.chunkDamaged)
    chunkDependencies.apply(chunkStatus, at: clock.wall)
    advanceChunkOffer(chunkStatus)
    try retryParked(naming: chunkStatus.atRelay)
  }

  /// Parks the changes, with all that were to be saved together. Deletions are not parked, because
  /// they lack no chunks.
  private mutating func park(_ numbers: [Int64], _ refusal: Refusal) throws(StorageError) {
    for number in numbers {
      guard var entry = transaction.outbox.entry(number), entry.state == .waiting else { continue }
      if try !chunks(of: entry).isEmpty { entry.state = .parked(refusal) }
      entry.group = nil
      transaction.put(entry)
    }
  }

  private static let chunkUnavailable = Refusal(
    .chunksMissing,
    "A chunk of a file that this record names is neither on this device nor at the relay; add the "
      + "file again.")
  private static let chunkDamaged = Refusal(
    .hashMismatch,
    "A chunk of a file that this record names is damaged on this device's disk; add the file "
      + "again.")

  /// Retries changes that were parked because one of these chunks was missing.
  private mutating func retryParked(naming hashes: [ChunkHash]) throws(StorageError) {
    let available = Set(hashes)
    for var entry in transaction.outbox.parkedEntries where entry.lacksChunks {
      guard try chunks(of: entry).contains(where: available.contains) else { continue }
      entry.state = .waiting
      transaction.put(entry)
    }
  }

  mutating func namesChunks(_ entries: [OutboxEntry]) throws(StorageError) -> Bool {
    for entry in entries where try !chunks(of: entry).isEmpty { return true }
    return false
  }

  /// Handles the relay's report that it lacks chunks of a change: it is asked about all of them,
  /// and then the change is sent with a new id. Returns false if the relay has reported it before.
  mutating func recordMissingChunks(of entry: OutboxEntry) throws(StorageError) -> Bool {
    let open = returnToWaiting(entry)
    return chunkDependencies.recordMissingChunks(open.number, try chunks(of: open))
  }
}

/// The chunks of files that local changes name. The app finds them in the fields, so that the
/// outbox needs no list of them.
extension ReplicaState {
  /// Returns the record that an entry makes, with its chunks.
  mutating func record(of entry: OutboxEntry, tag: ChangeTag) throws(StorageError) -> Record {
    var record = entry.record(by: device, tag: tag)
    record.chunks = try chunks(of: entry)
    return record
  }

  /// Returns each chunk once. If no app knows the type, another version of the program or a program
  /// in another language made the edit: the chunks are then those of the references in the fields,
  /// and those that the version before named in another form.
  mutating func chunks(of entry: OutboxEntry) throws(StorageError) -> [ChunkHash] {
    guard let fields = entry.fields else { return [] }
    if let found = merging.chunks(in: fields, of: entry.type, zone: entry.key.zone) {
      return found
    }
    if let held = try transaction.record(entry.key), Merging.equal(held.fields, fields) {
      return held.chunks
    }
    let references = Merging.value(fields).map { FileReference.chunks(in: $0) } ?? []
    let before = entry.base?.fields.flatMap { Merging.value($0) }
    let dropped = Set(before.map { FileReference.chunks(in: $0) } ?? [])
    let others = (entry.base?.chunks ?? []).filter { !dropped.contains($0) }
    return others + references.filter { !others.contains($0) }
  }
}

/// An iteration over chunks in the home, which are offered to the relay in portions: all of them,
/// if the relay was restored from a backup; or periodically those that records name.
struct ChunkOffer {
  /// Last chunk up to which all have a status. Stored in the home, so that a crash does not end the
  /// iteration.
  var after: ChunkHash?
  /// Chunks of the portion without a status since the portion was offered.
  var unanswered: Set<ChunkHash> = []
  /// Last chunk of the portion.
  var last: ChunkHash?
  /// True if the relay accepts none until a user acts, or enough time has passed.
  var isHeld = false
  /// True to offer only chunks that records name. Not stored: the next check starts by itself.
  var isCheck = false
}

/// Queries about chunks that no change waits for.
///
/// A relay that was restored from a backup may lack chunks that records name, or that other devices
/// are about to name: devices that hold them upload them. A change that is parked because of a
/// missing chunk is sent when the relay has the chunk after all.
extension ReplicaState {
  static let offerKey = "pieces.offer"

  func storedChunkOffer() throws(StorageError) -> ChunkOffer? {
    try transaction.store.value(ReplicaState.offerKey).map {
      ChunkOffer(after: ChunkHash(text: $0))
    }
  }

  /// Begins an offer of all chunks, because the relay may have lost some.
  mutating func beginChunkOffer() {
    chunkDependencies.discardConfirmedChunks()
    if scope.isReadOnly { return }
    offer = ChunkOffer()
    transaction.setValue(ReplicaState.offerKey, "")
  }

  /// Begins a check, because the relay may have found that a chunk's file is missing or incomplete.
  mutating func beginChunkCheck() {
    if offer == nil, !scope.isReadOnly { offer = ChunkOffer(isCheck: true) }
  }

  /// Offers the next portion, once the last one has a status.
  mutating func offerChunks() throws(StorageError) {
    guard var offer, offer.unanswered.isEmpty, !offer.isHeld, chunkDependencies.room > 0 else {
      return
    }
    let limit = min(Limits.collectedChunks, chunkDependencies.room)
    while true {
      let held = try transaction.store.chunks(after: offer.after, limit: limit).map(\.hash)
      guard let last = held.last else {
        self.offer = nil
        if !offer.isCheck { transaction.setValue(ReplicaState.offerKey, nil) }
        return
      }
      let offered = try mayBeOffered(held, isCheck: offer.isCheck)
      offer.last = last
      if !offered.isEmpty {
        // Chunks that changes wait for are already being uploaded, but only while this process
        // runs.
        _ = chunkDependencies.nameChunks(offered)
        offer.unanswered = Set(offered)
        self.offer = offer
        return
      }
      offer.after = last
    }
  }

  /// Returns those of the chunks that may be offered. In a home without the keys of a locked zone,
  /// a chunk that only a change in the outbox names, or nothing, may be a part of a file that must
  /// be sealed.
  private mutating func mayBeOffered(
    _ held: [ChunkHash], isCheck: Bool
  ) throws(StorageError) -> [ChunkHash] {
    guard isCheck || !sealing.lock.isEmpty else { return held }
    let named = try transaction.store.namedChunks(held)
    if sealing.lock.isEmpty { return named }
    var withheld: Set<ChunkHash> = []
    for entry in transaction.outbox.entries where sealing.isLocked(entry.key.zone) {
      withheld.formUnion(try chunks(of: entry))
    }
    return named.filter { !withheld.contains($0) }
  }

  mutating func advanceChunkOffer(_ chunkStatus: ChunkStatus) {
    guard var offer, let last = offer.last else { return }
    if !offer.unanswered.isDisjoint(with: chunkStatus.held) {
      self.offer = offer.isCheck ? nil : ChunkOffer(after: offer.after, isHeld: true)
      return
    }
    offer.unanswered.subtract(chunkStatus.hashes)
    if offer.unanswered.isEmpty {
      offer.after = last
      offer.last = nil
      if !offer.isCheck { transaction.setValue(ReplicaState.offerKey, last.text) }
    }
    self.offer = offer
  }

  /// Asks about the chunks that parked changes lack, and retries changes for which the account had
  /// no room.
  mutating func queryLackingChunks() throws(StorageError) {
    for var entry in transaction.outbox.parkedEntries where entry.lacksRoom {
      entry.state = .waiting
      transaction.put(entry)
    }
    for entry in transaction.outbox.parkedEntries
    where entry.lacksChunks && !sealing.isLocked(entry.key.zone) {
      _ = chunkDependencies.nameChunks(try chunks(of: entry))
    }
  }
}

extension OutboxEntry {
  /// True if it is parked because the account's records used up its quota.
  fileprivate var lacksRoom: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .quotaExceeded
  }

  /// True if it is parked because a chunk is missing.
  var lacksChunks: Bool {
    guard case .parked(let refusal) = state else { return false }
    return refusal.code == .chunksMissing || refusal.code == .hashMismatch
  }
}
