import LockstepModel
import LockstepStorage

/// The chunks of files in the home.
extension ReplicaState {
  mutating func perform(_ task: ChunkTask, _ clock: ClockReading) throws(StorageError)
    -> ChunkTransferResult
  {
    switch task {
    case .add(let chunk): return try add(chunk, clock)
    case .find(let hash): return .found(try find(hash, clock))
    case .drop(let chunk):
      if try ledger.store.chunks([chunk.hash]).first?.file == chunk.file {
        ledger.removeChunk(chunk.hash)
      }
      return .done
    case .collect(let hash, let keep): return try collect(after: hash, keep: keep, clock)
    case .settle(let chunkStatus):
      try settle(chunkStatus, clock)
      return .done
    case .retry:
      gate.retry()
      offer?.isHeld = false
      return .done
    case .askForLacking:
      try askForLacking()
      return .done
    case .check:
      beginCheck()
      return .done
    case .sweep(let files):
      let known = Set(try ledger.store.chunkFiles(files))
      return .unknown(files.filter { !known.contains($0) })
    }
  }

  /// Adds a chunk. Its new file was verified just now, so it replaces an earlier one.
  private mutating func add(_ chunk: HeldChunk, _ clock: ClockReading) throws(StorageError)
    -> ChunkTransferResult
  {
    let before = try ledger.store.chunks([chunk.hash]).first
    var added = chunk
    // A record is about to name the chunk.
    added.idleSince = clock.wall
    ledger.putChunk(added)
    try reopen(naming: [chunk.hash])
    return .added(replaced: before?.file)
  }

  /// Finds a chunk, and extends the time for which an unnamed chunk is kept.
  private mutating func find(_ hash: ChunkHash, _ clock: ClockReading) throws(StorageError)
    -> HeldChunk?
  {
    guard var chunk = try ledger.store.chunks([hash]).first else { return nil }
    if chunk.idleSince != nil {
      chunk.idleSince = clock.wall
      ledger.putChunk(chunk)
    }
    return chunk
  }

  private mutating func collect(
    after hash: ChunkHash?, keep: Int64, _ clock: ClockReading
  ) throws(StorageError) -> ChunkTransferResult {
    let portion = try ledger.store.chunks(after: hash, limit: Limits.collectedChunks)
    var named = Set(try ledger.store.namedChunks(portion.map(\.hash)))
    if named.count < portion.count { named.formUnion(try chunksInOutbox()) }
    var gone: [UInt64] = []
    for var chunk in portion {
      let isNamed = named.contains(chunk.hash)
      // If the clock was set back, the wait begins again.
      if let since = chunk.idleSince, !isNamed, since <= clock.wall {
        guard clock.wall - since >= keep else { continue }
        ledger.removeChunk(chunk.hash)
        gone.append(chunk.file)
      } else if (chunk.idleSince == nil) != isNamed {
        chunk.idleSince = isNamed ? nil : clock.wall
        ledger.putChunk(chunk)
      }
    }
    let next = portion.count == Limits.collectedChunks ? portion.last?.hash : nil
    return .collected(gone, next: next)
  }

  /// Returns the chunks that entries of the outbox name, besides those of the held records, which
  /// show the last edits.
  private mutating func chunksInOutbox() throws(StorageError) -> [ChunkHash] {
    var named: [ChunkHash] = []
    for entry in ledger.outbox.entries {
      named += entry.base?.chunks ?? []
      if case .asking(let server) = entry.state { named += server.chunks }
      if entry.isSent { named += try chunks(of: entry) }
    }
    return named
  }

  // MARK: uploads before their records

  /// Returns the chunks that the last choice of a batch found missing.
  mutating func takeNeeds() throws(StorageError) -> [ChunkNeed] {
    let hashes = gate.takeNamed()
    if hashes.isEmpty { return [] }
    let held = try ledger.store.chunks(hashes)
    var needs: [ChunkNeed] = []
    var next = 0
    for hash in hashes {
      let isHeld = next < held.count && held[next].hash == hash
      needs.append(ChunkNeed(hash: hash, source: isHeld ? held[next] : nil))
      if isHeld { next += 1 }
    }
    return needs
  }

  private mutating func settle(
    _ chunkStatus: ChunkStatus, _ clock: ClockReading
  ) throws(StorageError) {
    for chunk in chunkStatus.unread {
      if try ledger.store.chunks([chunk.hash]).first?.file == chunk.file {
        ledger.removeChunk(chunk.hash)
      }
    }
    try park(gate.waiting(for: chunkStatus.nowhere), ReplicaState.nowhere)
    try park(gate.waiting(for: chunkStatus.damaged), ReplicaState.damaged)
    gate.settle(chunkStatus, at: clock.wall)
    advanceOffer(chunkStatus)
    try reopen(naming: chunkStatus.there)
  }

  /// Parks the changes, with all that were to be saved together. Deletions are not parked, because
  /// they lack no chunks.
  private mutating func park(_ numbers: [Int64], _ refusal: Refusal) throws(StorageError) {
    for number in numbers {
      guard var entry = ledger.outbox.entry(number), entry.state == .waiting else { continue }
      if try !chunks(of: entry).isEmpty { entry.state = .parked(refusal) }
      entry.group = nil
      ledger.put(entry)
    }
  }

  private static let nowhere = Refusal(
    .chunksMissing,
    "A chunk of a file that this record names is neither on this device nor at the relay; add the "
      + "file again.")
  private static let damaged = Refusal(
    .hashMismatch,
    "A chunk of a file that this record names is damaged on this device's disk; add the file "
      + "again.")

  /// Retries changes that were parked because one of these chunks was missing.
  private mutating func reopen(naming hashes: [ChunkHash]) throws(StorageError) {
    let come = Set(hashes)
    for var entry in ledger.outbox.parkedEntries where entry.lacksChunks {
      guard try chunks(of: entry).contains(where: come.contains) else { continue }
      entry.state = .waiting
      ledger.put(entry)
    }
  }

  mutating func namesChunks(_ entries: [OutboxEntry]) throws(StorageError) -> Bool {
    for entry in entries where try !chunks(of: entry).isEmpty { return true }
    return false
  }

  /// Handles the relay's report that it lacks chunks of a change: it is asked about all of them,
  /// and then the change is sent with a new id. Returns false if it said so before.
  mutating func suspect(_ entry: OutboxEntry) throws(StorageError) -> Bool {
    let open = reopen(entry)
    return gate.suspect(open.number, try chunks(of: open))
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

  /// Returns each chunk once. If no app knows the type, another version of the program made the
  /// edit: the chunks are then those of the held record.
  mutating func chunks(of entry: OutboxEntry) throws(StorageError) -> [ChunkHash] {
    guard let fields = entry.fields else { return [] }
    if let found = merging.chunks(in: fields, of: entry.type, zone: entry.key.zone) {
      return found
    }
    if let held = try ledger.record(entry.key), Merging.equal(held.fields, fields) {
      return held.chunks
    }
    return entry.base?.chunks ?? []
  }
}
