import LockstepModel

/// Reference implementation of a relay's store, in memory: it defines the behaviour of the others.
/// Simple, deterministic, for one thread. Every commit is atomic, so a crash leaves the state as it
/// is; `copy` keeps a copy of it.
package final class MemoryZoneStore: ZoneStore {
  struct Owner {
    var account: AccountID
    var device: DeviceID
  }

  struct BatchKey: Hashable {
    var account: AccountID
    var device: DeviceID
    var batch: BatchID
  }

  struct State {
    var accounts: [AccountID: MemoryAccount] = [:]
    /// Devices by the hash of their token; below, accounts by the hash of a pairing code.
    var principals: [[UInt8]: Owner] = [:]
    var pairingOwners: [[UInt8]: AccountID] = [:]
    var batches: [BatchKey: RememberedBatch] = [:]
    /// Remembered batches, oldest first, starting at `batchHead`.
    var batchOrder: [(key: BatchKey, madeAt: Int64)] = []
    var batchHead = 0
    /// Number of this run (`TagGap`).
    var run: UInt64 = 0
    /// Tombstones in the order of `Tombstone`, oldest first. Some are no longer current.
    var tombstones: [Tombstone] = []
  }

  let rules: StoreRules
  var state: State

  package convenience init(rules: StoreRules = StoreRules()) { self.init(State(), rules) }

  private init(_ state: State, _ rules: StoreRules) {
    self.state = state
    self.rules = rules
  }

  /// Returns an independent store with the same content.
  package func copy() -> MemoryZoneStore { MemoryZoneStore(state, rules) }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    var results: [CommitResult] = []
    results.reserveCapacity(requests.count)
    for request in requests { results.append(try perform(request, wall: wall)) }
    let forgotten = requests.reduce(0) { $0 + $1.forgets }
    forgetBatches(forgotten, wall: wall)
    forgetTombstones(forgotten, wall: wall)
    return results
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    switch request {
    case .authenticate(let tokenHash): return principal(tokenHash)
    case .accountCount: return .count(state.accounts.count)
    case .accounts(let after, let limit): return accounts(after: after, limit: limit)
    case .chunk(let id, let hash): return chunk(hash, of: id)
    case .fileUses(let files): return .fileUses(files.map(use))
    case .movements(let ids): return .movements(ids.compactMap(movement))
    case .record(let id, let key):
      guard let record = state.accounts[id]?.record(key), !record.isDeleted else {
        return .refused(StoreRefusals.unknownRecord)
      }
      return .record(record)
    case .zones(let id, _, _), .account(let id), .changes(let id, _, _, _), .newestToken(let id),
      .devices(let id):
      guard let account = state.accounts[id] else {
        return .refused(StoreRefusals.unknownAccount)
      }
      return read(request, of: account, id)
    }
  }

  private func read(
    _ request: ReadRequest, of account: MemoryAccount, _ id: AccountID
  ) -> ReadResult {
    switch request {
    case .zones(_, let after, let limit): return account.zones(after: after, limit: limit)
    case .account: return .account(account.summary(of: id))
    case .newestToken: return .token(account.head.token)
    case .devices: return .devices(account.members.map(\.device))
    case .changes(_, let since, let zone, let limit):
      do {
        return .page(
          try account.page(since: since, zone: zone, limit: limit, of: id, in: state.run))
      } catch {
        return .refused(error)
      }
    case .authenticate, .accountCount, .accounts, .record, .chunk, .fileUses, .movements:
      preconditionFailure("this is not asked of one account")
    }
  }

  private func perform(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      createAccount(
        id,
        MemoryAccount(generation: generation, run: state.run, label: label, madeAt: wall), device,
        pairing, wall: wall)
    case .issuePairing(let id, let pairing): issue(pairing, for: id, wall: wall)
    case .redeemPairing(let codeHash, let device): redeem(codeHash, for: device, wall: wall)
    case .renameDevice(let id, let device, let name): rename(device, of: id, to: name)
    case .revokeDevice(let id, let device): revoke(device, of: id)
    case .touchDevices(let sightings): touch(sightings)
    case .checkWritable: .done
    case .save(let commit): try save(commit, wall: wall)
    case .setPlan(let id, let plan): setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      put(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      removeSubscription(name, for: device, of: id)
    case .removeAccount(let id): removeAccount(id)
    case .addChunk(let id, let hash, let file, let bytes):
      addChunk(hash, of: id, StoredChunk(file: file, bytes: bytes), wall: wall)
    case .renewChunks(let id, let hashes): renewChunks(hashes, of: id, wall: wall)
    case .confirmChunks(let files): doubt(files, false)
    case .markChunksMissing(let files): doubt(files, true)
    case .collectChunks(let count): collectChunks(atMost: count, wall: wall)
    case .deleteZone(let id, let device, let zone, let through):
      deleteZone(zone, through: through, by: device, of: id, wall: wall)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      delete(portion, of: zone, by: device, of: id, wall: wall)
    }
  }

  // MARK: Records

  private func save(_ commit: SaveCommit, wall: Int64) throws(StorageError) -> CommitResult {
    guard state.accounts[commit.account]?.position(of: commit.device) != nil,
      let since = state.accounts[commit.account]?.head
    else { return .refused(StoreRefusals.revokedDevice) }
    // The account is read in place: a second reference to it would make `write` copy it.
    func current(_ name: Name) -> Record? {
      state.accounts[commit.account]?.record(RecordKey(zone: commit.request.zone, name: name))
    }

    let key = BatchKey(account: commit.account, device: commit.device, batch: commit.request.id)
    if let remembered = state.batches[key] {
      guard remembered.digest == commit.digest else { return .refused(StoreRefusals.otherBatch) }
      let results = try remembered.results(of: commit.request, wall: wall, record: current)
      let answer = SaveAnswer(since: since.token, token: since.token, results: results)
      return .saved(SaveOutcome(answer: answer, changed: [], events: []))
    }
    if let refusal = commit.unlessKnown { return .refused(refusal) }
    let entered = since.entering(state.run, commit.account)
    let room = state.accounts[commit.account].map { $0.plan.room(beside: $0.use, rules) }
    let plan = try SavePlan(commit, after: entered.newest, room: room ?? .unlimited) { name in
      current(name).map(Standing.init)
    } hasChunk: { hash in
      state.accounts[commit.account]?.chunks[hash] != nil
    }
    for tag in plan.conflictingBases(of: commit.request) {
      if let gap = state.accounts[commit.account]?.gap(at: tag, in: state.run) {
        return .refused(since.restored(from: gap))
      }
    }
    let results = try plan.results(of: commit.request, record: current)
    let changed = plan.records
    state.accounts[commit.account]?.write(changed, after: entered)
    bury(changed, of: commit.account, wall: wall)
    apply(plan.chunkChanges, to: commit.account, wall: wall)
    state.accounts[commit.account]?.use += plan.growth
    if plan.isRemembered {
      let batch = RememberedBatch(plan, after: entered.newest, digest: commit.digest)
      state.batches[key] = batch
      state.batchOrder.append((key, wall))
      state.accounts[commit.account]?.use += batch.use
    }
    let head = state.accounts[commit.account]?.head ?? since
    let answer = SaveAnswer(since: since.token, token: head.token, results: results)
    return .saved(SaveOutcome(answer: answer, changed: changed, events: plan.events))
  }

  private func deleteZone(
    _ zone: Name, through: ChangeToken?, by device: DeviceID, of id: AccountID, wall: Int64
  ) -> CommitResult {
    guard let account = state.accounts[id], account.position(of: device) != nil else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let since = account.head
    let end: ChangeTag
    do throws(Refusal) {
      end = try since.end(
        ofDeleting: zone, through: through,
        endedAt: through.flatMap { account.end(of: $0.generation) },
        gap: through.flatMap { account.gap(of: $0, in: state.run) })
    } catch {
      return .refused(error)
    }
    return delete(ZonePortion(after: 0, end: end), of: zone, by: device, of: id, wall: wall)
  }

  private func delete(
    _ portion: ZonePortion, of zone: Name, by device: DeviceID, of id: AccountID, wall: Int64
  ) -> CommitResult {
    guard let account = state.accounts[id], account.position(of: device) != nil else {
      return .refused(StoreRefusals.revokedDevice)
    }
    let since = account.head
    let entered = since.entering(state.run, id)
    let scanned = account.scanEnd(after: portion.after, Limits.scannedRecords)
    var uses = ChunkUses()
    var growth = AccountUse()
    var tombstones = Array(
      account.live(in: zone, after: portion.after, through: min(portion.end, scanned ?? .max))
        .prefix(rules.deletedPerCommit))
    let rest = portion.rest(
      scanned: scanned, deleted: tombstones.count, last: tombstones.last?.tag,
      limit: rules.deletedPerCommit)
    for index in tombstones.indices {
      uses.replace(tombstones[index].chunks, by: [])
      growth += -AccountUse(bytes: tombstones[index].storedBytes)
      tombstones[index].fields = nil
      tombstones[index].chunks = []
      growth += AccountUse(bytes: tombstones[index].storedBytes)
      tombstones[index].modifiedAt = wall
      tombstones[index].device = device
      tombstones[index].tag = entered.newest + ChangeTag(index) + 1
    }
    state.accounts[id]?.write(tombstones, after: entered)
    state.accounts[id]?.use += growth
    bury(tombstones, of: id, wall: wall)
    apply(uses.changes, to: id, wall: wall)
    return .zoneDeleted(
      ZoneDeletion(since, entered, tombstones.count, rest: rest) { tombstones })
  }

  /// Forgets at most `count` batches that are older than the retained history, oldest first.
  private func forgetBatches(_ count: Int, wall: Int64) {
    for _ in 0..<count {
      guard state.batchHead < state.batchOrder.count else { break }
      let oldest = state.batchOrder[state.batchHead]
      guard oldest.madeAt < wall - rules.historyMilliseconds else { break }
      if let batch = state.batches.removeValue(forKey: oldest.key) {
        state.accounts[oldest.key.account]?.use += -batch.use
      }
      state.batchHead += 1
    }
    guard state.batchHead > 1_024, 2 * state.batchHead > state.batchOrder.count else { return }
    state.batchOrder.removeFirst(state.batchHead)
    state.batchHead = 0
  }
}
