import Changes

/// The reference of a relay's store: what the others must do, in memory. Simple, deterministic, for
/// one thread. Every commit is atomic, so what a crash leaves behind is the state as it is; `copy`
/// keeps one aside.
package final class MemoryZoneStore: ZoneStore {
  private struct Owner {
    var account: AccountID
    var device: DeviceID
  }

  private struct BatchKey: Hashable {
    var account: AccountID
    var device: DeviceID
    var batch: BatchID
  }

  private struct State {
    var accounts: [AccountID: MemoryAccount] = [:]
    var accountCount = 0
    /// By the hash of a token, and of a pairing code.
    var principals: [[UInt8]: Owner] = [:]
    var pairingOwners: [[UInt8]: AccountID] = [:]
    var batches: [BatchKey: RememberedBatch] = [:]
    /// The remembered batches, oldest first, from `batchHead` on.
    var batchOrder: [(key: BatchKey, madeAt: Int64)] = []
    var batchHead = 0
  }

  private var state: State

  package convenience init() { self.init(State()) }

  private init(_ state: State) { self.state = state }

  /// A store of its own with the same content.
  package func copy() -> MemoryZoneStore { MemoryZoneStore(state) }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    var results: [CommitResult] = []
    results.reserveCapacity(requests.count)
    for request in requests { results.append(try perform(request, wall: wall)) }
    forgetBatches(Limits.forgottenPerRequest * requests.count, wall: wall)
    return results
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    switch request {
    case .authenticate(let tokenHash):
      guard let principal = state.principals[tokenHash] else {
        return .refused(StoreRefusals.unknownToken)
      }
      return .principal(Principal(account: principal.account, device: principal.device))
    case .accountCount:
      return .count(state.accountCount)
    case .changes(let id, let since, let zone, let limit):
      guard let account = state.accounts[id] else {
        return .refused(StoreRefusals.unknownAccount)
      }
      do {
        return .page(try account.page(since: since, zone: zone, limit: limit))
      } catch {
        return .refused(error)
      }
    case .record(let id, let key):
      guard let record = state.accounts[id]?.record(key), !record.isDeleted else {
        return .refused(StoreRefusals.unknownRecord)
      }
      return .record(record)
    case .newestToken(let id):
      guard let account = state.accounts[id] else {
        return .refused(StoreRefusals.unknownAccount)
      }
      return .token(account.head.token)
    case .devices(let id):
      guard let account = state.accounts[id] else {
        return .refused(StoreRefusals.unknownAccount)
      }
      return .devices(account.members.map(\.device))
    case .zones, .chunk, .accounts, .account, .knownFiles:
      return .refused(StoreRefusals.unknownAccount)
    }
  }

  private func perform(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      createAccount(
        id, MemoryAccount(generation: generation, label: label), device, pairing, wall: wall)
    case .issuePairing(let id, let pairing): issue(pairing, for: id, wall: wall)
    case .redeemPairing(let codeHash, let device): redeem(codeHash, for: device, wall: wall)
    case .renameDevice(let id, let device, let name): rename(device, of: id, to: name)
    case .revokeDevice(let id, let device): revoke(device, of: id)
    case .touchDevices(let sightings): touch(sightings)
    case .save(let commit): try save(commit, wall: wall)
    case .deleteZone, .putSubscription, .removeSubscription, .setPlan, .removeAccount, .addChunk,
      .renewChunks, .collectChunks:
      .refused(StoreRefusals.unknownAccount)
    }
  }

  // MARK: Accounts and devices

  private func createAccount(
    _ id: AccountID, _ account: MemoryAccount, _ device: NewDevice?, _ pairing: NewPairing?,
    wall: Int64
  ) -> CommitResult {
    guard state.accounts[id] == nil, isFree(device), isFree(pairing, wall: wall) else {
      return .refused(StoreRefusals.taken)
    }
    state.accounts[id] = account
    state.accountCount += 1
    if let device { admit(device, to: id, wall: wall) }
    if let pairing { offer(pairing, by: id, wall: wall) }
    return .done
  }

  private func issue(_ pairing: NewPairing, for id: AccountID, wall: Int64) -> CommitResult {
    guard state.accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    guard isFree(pairing, wall: wall) else { return .refused(StoreRefusals.taken) }
    offer(pairing, by: id, wall: wall)
    return .done
  }

  private func redeem(_ codeHash: [UInt8], for device: NewDevice, wall: Int64) -> CommitResult {
    guard let id = standingOwner(of: codeHash, wall: wall), let account = state.accounts[id] else {
      return .refused(StoreRefusals.badPairingCode)
    }
    guard account.members.count < Limits.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices)
    }
    guard account.position(of: device.id) == nil, isFree(device) else {
      return .refused(StoreRefusals.taken)
    }
    state.pairingOwners[codeHash] = nil
    state.accounts[id]?.pairings.removeAll { $0.codeHash == codeHash }
    admit(device, to: id, wall: wall)
    return .redeemed(id)
  }

  private func rename(_ device: DeviceID, of id: AccountID, to name: String) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device) else {
      return .refused(StoreRefusals.unknownDevice)
    }
    state.accounts[id]?.members[position].device.description.deviceName = name
    return .done
  }

  private func revoke(_ device: DeviceID, of id: AccountID) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      let member = state.accounts[id]?.members.remove(at: position)
    else { return .refused(StoreRefusals.unknownDevice) }
    state.principals[member.tokenHash] = nil
    return .done
  }

  private func touch(_ sightings: [DeviceSighting]) -> CommitResult {
    for sighting in sightings {
      guard let position = state.accounts[sighting.account]?.position(of: sighting.device),
        let seen = state.accounts[sighting.account]?.members[position].device.lastSeen,
        seen < sighting.lastSeen
      else { continue }
      state.accounts[sighting.account]?.members[position].device.lastSeen = sighting.lastSeen
    }
    return .done
  }

  private func admit(_ device: NewDevice, to id: AccountID, wall: Int64) {
    let joined = Device(
      id: device.id, description: device.description, lastSeen: wall, connected: false)
    state.accounts[id]?.members.append(.init(device: joined, tokenHash: device.tokenHash))
    state.principals[device.tokenHash] = Owner(account: id, device: device.id)
  }

  private func offer(_ pairing: NewPairing, by id: AccountID, wall: Int64) {
    if let former = state.pairingOwners[pairing.codeHash] {
      state.accounts[former]?.pairings.removeAll { $0.codeHash == pairing.codeHash }
    }
    var pairings = state.accounts[id]?.pairings ?? []
    for expired in pairings where expired.expiresAt <= wall {
      state.pairingOwners[expired.codeHash] = nil
    }
    pairings.removeAll { $0.expiresAt <= wall }
    while pairings.count >= Limits.pairingCodesPerAccount {
      state.pairingOwners[pairings.removeFirst().codeHash] = nil
    }
    pairings.append(pairing)
    state.accounts[id]?.pairings = pairings
    state.pairingOwners[pairing.codeHash] = id
  }

  private func isFree(_ device: NewDevice?) -> Bool {
    guard let device else { return true }
    return state.principals[device.tokenHash] == nil
  }

  private func isFree(_ pairing: NewPairing?, wall: Int64) -> Bool {
    guard let pairing else { return true }
    return standingOwner(of: pairing.codeHash, wall: wall) == nil
  }

  /// Whose pairing code this is, if it stands and has not expired.
  private func standingOwner(of codeHash: [UInt8], wall: Int64) -> AccountID? {
    guard let id = state.pairingOwners[codeHash],
      let pairing = state.accounts[id]?.pairings.first(where: { $0.codeHash == codeHash }),
      pairing.expiresAt > wall
    else { return nil }
    return id
  }

  // MARK: Records

  private func save(_ commit: SaveCommit, wall: Int64) throws(StorageError) -> CommitResult {
    guard state.accounts[commit.account]?.position(of: commit.device) != nil,
      let since = state.accounts[commit.account]?.head
    else { return .refused(StoreRefusals.revokedDevice) }
    // The account is asked where it lies: a second reference to it would make `write` copy it.
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
    let plan = try SavePlan(commit, after: since.newest) { name in
      current(name).map { Standing(tag: $0.tag, type: $0.type, isDeleted: $0.isDeleted) }
    }
    let results = try plan.results(of: commit.request, record: current)
    let changed = plan.records
    state.accounts[commit.account]?.write(changed)
    state.batches[key] = RememberedBatch(plan, after: since.newest, digest: commit.digest)
    state.batchOrder.append((key, wall))
    let head = AccountHead(generation: since.generation, newest: plan.newest)
    let answer = SaveAnswer(since: since.token, token: head.token, results: results)
    return .saved(SaveOutcome(answer: answer, changed: changed, events: plan.events))
  }

  /// Forgets at most `count` batches that are older than the history kept, the oldest first.
  private func forgetBatches(_ count: Int, wall: Int64) {
    for _ in 0..<count {
      guard state.batchHead < state.batchOrder.count else { break }
      let oldest = state.batchOrder[state.batchHead]
      guard oldest.madeAt < wall - Limits.historyMilliseconds else { break }
      state.batches[oldest.key] = nil
      state.batchHead += 1
    }
    guard state.batchHead > 1_024, 2 * state.batchHead > state.batchOrder.count else { return }
    state.batchOrder.removeFirst(state.batchHead)
    state.batchHead = 0
  }
}
