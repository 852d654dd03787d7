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
    /// Oldest first.
    var wakeKeys: [WakeKey] = []
    /// Accounts that have moved away, what is left of them, and the hashes of their tokens and
    /// pairing codes.
    var departures: [AccountID: Departure] = [:]
    var rests: [AccountID: MemoryAccount] = [:]
    var departedDevices: [[UInt8]: AccountID] = [:]
    var departedPairings: [[UInt8]: (account: AccountID, expiresAt: Int64)] = [:]
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
    let forgotten = requests.reduce(0) { $0 + $1.prunedRows }
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
    case .namedChunks(let id, let hashes, let zones):
      return state.accounts[id]?.namedChunks(hashes, in: zones)
        ?? .namedChunks(hashes.map { _ in nil })
    case .fileUses(let files): return .fileUses(files.map(fileUse))
    case .followAccounts(let ids, _, _):
      return .accountVersions(ids.compactMap(version), relays: [])
    case .wakes(let id, let device):
      return .wakes(wakes(of: SleeperID(account: id, device: device))?.statuses ?? [])
    case .sleepers(let query): return sleepers(query)
    case .wakeKeys: return .wakeKeys(state.wakeKeys)
    case .residence(let id): return .residence(residence(of: id))
    case .record(let id, let key):
      guard let record = state.accounts[id]?.record(key), !record.isDeleted else {
        return .refused(state.departures[id]?.refusal ?? StoreRefusals.unknownRecord)
      }
      return .record(record)
    case .zones(let id, _, _, _), .account(let id), .changes(let id, _, _, _),
      .newestToken(let id), .devices(let id):
      guard let account = state.accounts[id] else {
        return .refused(state.departures[id]?.refusal ?? StoreRefusals.unknownAccount)
      }
      return read(request, of: account, id)
    }
  }

  private func read(
    _ request: ReadRequest, of account: MemoryAccount, _ id: AccountID
  ) -> ReadResult {
    switch request {
    case .zones(_, let after, let zones, let limit):
      return account.zones(after: after, within: zones, limit: limit)
    case .account: return .account(account.summary(of: id))
    case .newestToken: return .token(account.head.token)
    case .devices: return .devices(account.members.map(\.device))
    case .changes(_, let since, let zones, let limit):
      do {
        return .page(
          try account.page(since: since, zones: zones, limit: limit, of: id, in: state.run))
      } catch {
        return .refused(error)
      }
    case .authenticate, .accountCount, .accounts, .record, .chunk, .namedChunks, .fileUses,
      .followAccounts, .wakes, .sleepers, .wakeKeys, .residence:
      preconditionFailure("this request is not about one account")
    }
  }

  private func perform(
    _ request: CommitRequest, wall: Int64
  ) throws(StorageError) -> CommitResult {
    if let refusal = request.resident.flatMap({ absence(of: $0, wall: wall) }) {
      return .refused(refusal)
    }
    return switch request {
    case .createAccount(let id, let generation, let label, let device, let pairing):
      createAccount(
        id,
        MemoryAccount(generation: generation, run: state.run, label: label, madeAt: wall), device,
        pairing, wall: wall)
    case .issuePairing(let id, let pairing): issuePairing(pairing, for: id, wall: wall)
    case .redeemPairing(let codeHash, let device): redeemPairing(codeHash, for: device, wall: wall)
    case .renameDevice(let id, let device, let name): renameDevice(device, of: id, to: name)
    case .revokeDevice(let id, let device): revokeDevice(device, of: id)
    case .touchDevices(let sightings): touchDevices(sightings)
    case .checkWritable: .done
    case .save(let commit): try save(commit, wall: wall)
    case .setPlan(let id, let plan): setPlan(plan, of: id)
    case .putSubscription(let id, let device, let subscription):
      putSubscription(subscription, for: device, of: id)
    case .removeSubscription(let id, let device, let name):
      removeSubscription(name, for: device, of: id)
    case .removeAccount(let id): removeAccount(id)
    case .addChunk(let id, let hash, let file, let bytes):
      addChunk(hash, of: id, StoredChunk(file: file, bytes: bytes), wall: wall)
    case .renewChunks(let id, let hashes): renewChunks(hashes, of: id, wall: wall)
    case .confirmChunks(let files): setUnverified(files, false)
    case .markChunksMissing(let files): setUnverified(files, true)
    case .collectChunks(let count): tidy(atMost: count, wall: wall)
    case .deleteZone(let id, let device, let zone, let through):
      deleteZone(zone, through: through, by: device, of: id, wall: wall)
    case .deleteZoneRest(let id, let device, let zone, let portion):
      deletePortion(portion, of: zone, by: device, of: id, wall: wall)
    case .putWake(let id, let device, let registration, let keyMadeAt, let codeHash):
      putWake(
        registration, for: SleeperID(account: id, device: device), keyMadeAt: keyMadeAt,
        codeHash: codeHash)
    case .removeWake(let id, let device, let name):
      removeWake(name, of: SleeperID(account: id, device: device))
    case .verifyWake(let id, let device, let name, let codeHash):
      verifyWake(
        name, of: SleeperID(account: id, device: device), codeHash: codeHash, wall: wall)
    case .claimWakes(let ids, let keys):
      claimWakes(ids, keys: keys, wall: wall)
    case .reportWakes(let reports): reportWakes(reports, wall: wall)
    case .addWakeKey(let key, let onlyFirst): addWakeKey(key, onlyFirst: onlyFirst)
    case .move(let step): move(step, wall: wall)
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
    let available = state.accounts[commit.account].map {
      $0.plan.remainingSpace(beside: $0.use, rules)
    }
    let plan = try SavePlan(
      commit, after: entered.newest, available: available ?? .unlimited
    ) { name in
      current(name).map(ExistingRecord.init)
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
    addTombstones(changed, of: commit.account, wall: wall)
    applyChunkChanges(plan.chunkChanges, to: commit.account, wall: wall)
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
    return deletePortion(ZonePortion(after: 0, end: end), of: zone, by: device, of: id, wall: wall)
  }

  private func deletePortion(
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
    addTombstones(tombstones, of: id, wall: wall)
    applyChunkChanges(uses.changes, to: id, wall: wall)
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

/// Accounts, their devices, and the devices' subscriptions.
extension MemoryZoneStore {
  // MARK: Accounts

  func createAccount(
    _ id: AccountID, _ account: MemoryAccount, _ device: NewDevice?, _ pairing: NewPairing?,
    wall: Int64
  ) -> CommitResult {
    guard state.accounts[id] == nil, isFree(device), isFree(pairing, wall: wall) else {
      return .refused(StoreRefusals.taken)
    }
    if let holder = holder(of: account.label) {
      return .refused(StoreRefusals.labelTaken(by: holder))
    }
    state.accounts[id] = account
    if let device { addDevice(device, .everything, to: id, wall: wall) }
    if let pairing { addPairing(pairing, by: id, wall: wall) }
    return .done
  }

  func holder(of label: String) -> AccountID? {
    guard !label.isEmpty else { return nil }
    return state.accounts.filter { AccountLabel.areSame($0.value.label, label) }.keys.min()
  }

  func setPlan(_ plan: Plan, of id: AccountID) -> CommitResult {
    guard state.accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    state.accounts[id]?.plan = plan
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func removeAccount(_ id: AccountID) -> CommitResult {
    guard let account = state.accounts[id] else {
      guard state.departures[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
      forget(id)
      return .done
    }
    for member in account.members { state.principals[member.tokenHash] = nil }
    for pairing in account.pairings { state.pairingOwners[pairing.codeHash] = nil }
    state.accounts[id]?.members = []
    state.accounts[id]?.pairings = []
    state.accounts[id]?.membershipVersion += 1
    let records = state.accounts[id]?.remove(atMost: rules.deletedPerCommit) ?? 0
    guard records < rules.deletedPerCommit else { return .removing }
    drop(id)
    return .done
  }

  /// Removes the account with its batches and tombstones.
  func drop(_ id: AccountID) {
    state.accounts[id] = nil
    state.batches = state.batches.filter { $0.key.account != id }
    state.batchOrder = state.batchOrder[state.batchHead...].filter { $0.key.account != id }
    state.batchHead = 0
    state.tombstones.removeAll { $0.account == id }
  }

  func accounts(after: AccountID?, limit: Int) -> ReadResult {
    let rest = state.accounts.keys.filter { id in after.map { $0 < id } ?? true }.sorted()
    let count = max(1, min(limit, Limits.listedAccounts))
    let summaries = rest.prefix(count).compactMap { state.accounts[$0]?.summary(of: $0) }
    return .accounts(summaries, more: rest.count > count)
  }

  func principal(_ tokenHash: [UInt8]) -> ReadResult {
    guard let owner = state.principals[tokenHash], let account = state.accounts[owner.account],
      let position = account.position(of: owner.device)
    else { return .refused(absence(ofToken: tokenHash)) }
    guard account.movingUntil != .max else { return .refused(StoreRefusals.moving) }
    return .principal(
      Principal(
        account: owner.account, device: owner.device,
        scope: account.members[position].device.scope, newest: account.head.token,
        plan: account.plan, subscriptions: account.members[position].subscriptions,
        membershipVersion: account.membershipVersion,
        hasWakes: account.members[position].wakes != nil))
  }

  func version(of id: AccountID) -> AccountVersion? {
    state.accounts[id].map {
      AccountVersion(account: id, token: $0.head.token, membershipVersion: $0.membershipVersion)
    }
  }

  // MARK: Pairing

  func issuePairing(_ pairing: NewPairing, for id: AccountID, wall: Int64) -> CommitResult {
    guard let account = state.accounts[id] else {
      return .refused(StoreRefusals.unknownAccount)
    }
    if let issuer = pairing.issuer, account.position(of: issuer) == nil {
      return .refused(StoreRefusals.revokedDevice)
    }
    guard isFree(pairing, wall: wall) else { return .refused(StoreRefusals.taken) }
    addPairing(pairing, by: id, wall: wall)
    return .done
  }

  func redeemPairing(_ codeHash: [UInt8], for device: NewDevice, wall: Int64) -> CommitResult {
    guard let id = pairingOwner(of: codeHash, wall: wall), let account = state.accounts[id],
      let pairing = account.pairings.first(where: { $0.codeHash == codeHash })
    else {
      return .refused(absence(ofPairing: codeHash, wall: wall))
    }
    if let refusal = absence(of: id, wall: wall) { return .refused(refusal) }
    guard device.mayJoin(id) else { return .refused(StoreRefusals.otherAccount) }
    guard account.members.count < rules.devicesPerAccount else {
      return .refused(StoreRefusals.tooManyDevices(rules.devicesPerAccount))
    }
    guard account.position(of: device.id) == nil, isFree(device) else {
      return .refused(StoreRefusals.taken)
    }
    state.pairingOwners[codeHash] = nil
    state.accounts[id]?.pairings.removeAll { $0.codeHash == codeHash }
    addDevice(device, pairing.scope, to: id, wall: wall)
    return .redeemed(id, pairing.scope, wrapped: pairing.wrapped)
  }

  private func addDevice(
    _ device: NewDevice, _ scope: DeviceScope, to id: AccountID, wall: Int64
  ) {
    let joined = Device(
      id: device.id, description: device.description, lastSeen: wall, connected: false,
      scope: scope)
    state.accounts[id]?.members.append(.init(device: joined, tokenHash: device.tokenHash))
    state.accounts[id]?.membershipVersion += 1
    state.principals[device.tokenHash] = Owner(account: id, device: device.id)
  }

  private func addPairing(_ pairing: NewPairing, by id: AccountID, wall: Int64) {
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
    return pairingOwner(of: pairing.codeHash, wall: wall) == nil
  }

  /// Returns the account of a pairing code, or nil if the code is unknown or has expired.
  private func pairingOwner(of codeHash: [UInt8], wall: Int64) -> AccountID? {
    guard let id = state.pairingOwners[codeHash],
      let pairing = state.accounts[id]?.pairings.first(where: { $0.codeHash == codeHash }),
      pairing.expiresAt > wall
    else { return nil }
    return id
  }

  // MARK: Devices

  func renameDevice(_ device: DeviceID, of id: AccountID, to name: String) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device) else {
      return .refused(StoreRefusals.unknownDevice)
    }
    state.accounts[id]?.members[position].device.description.deviceName = name
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func revokeDevice(_ device: DeviceID, of id: AccountID) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      let member = state.accounts[id]?.members.remove(at: position)
    else { return .refused(StoreRefusals.unknownDevice) }
    state.principals[member.tokenHash] = nil
    for pairing in state.accounts[id]?.pairings ?? [] {
      state.pairingOwners[pairing.codeHash] = nil
    }
    state.accounts[id]?.pairings = []
    state.accounts[id]?.membershipVersion += 1
    return .done
  }

  func touchDevices(_ sightings: [DeviceSighting]) -> CommitResult {
    recordContacts(of: sightings)
    for sighting in sightings {
      guard let position = state.accounts[sighting.account]?.position(of: sighting.device),
        let seen = state.accounts[sighting.account]?.members[position].device.lastSeen
      else { continue }
      state.accounts[sighting.account]?.members[position].device.connected = sighting.isConnected
      guard seen < sighting.lastSeen else { continue }
      state.accounts[sighting.account]?.members[position].device.lastSeen = sighting.lastSeen
    }
    return .done
  }

  // MARK: Subscriptions

  func putSubscription(
    _ subscription: Subscription, for device: DeviceID, of id: AccountID
  ) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      var subscriptions = state.accounts[id]?.members[position].subscriptions
    else { return .refused(StoreRefusals.revokedDevice) }
    let place = subscriptions.firstIndex { $0.id >= subscription.id } ?? subscriptions.count
    let isNew = place == subscriptions.count || subscriptions[place].id != subscription.id
    if isNew {
      guard subscriptions.count < Limits.subscriptionsPerDevice else {
        return .refused(StoreRefusals.tooManySubscriptions)
      }
      subscriptions.insert(subscription, at: place)
    } else {
      subscriptions[place] = subscription
    }
    state.accounts[id]?.members[position].subscriptions = subscriptions
    state.accounts[id]?.membershipVersion += 1
    return .subscribed(subscriptions, isNew: isNew)
  }

  func removeSubscription(
    _ name: Name, for device: DeviceID, of id: AccountID
  ) -> CommitResult {
    guard let position = state.accounts[id]?.position(of: device),
      var subscriptions = state.accounts[id]?.members[position].subscriptions
    else { return .refused(StoreRefusals.revokedDevice) }
    guard let place = subscriptions.firstIndex(where: { $0.id == name }) else {
      return .refused(StoreRefusals.unknownSubscription)
    }
    subscriptions.remove(at: place)
    state.accounts[id]?.members[position].subscriptions = subscriptions
    state.accounts[id]?.membershipVersion += 1
    return .subscribed(subscriptions, isNew: false)
  }
}

/// Chunk of a file that an account has.
struct MemoryChunk {
  var stored: StoredChunk
  /// Number of records that name it.
  var uses: Int
  /// End of the lease, in relay time. Until then the chunk stays even if no record names it.
  var leaseUntil: Int64
  /// True if an older copy of the store was restored since: the file may be gone, so the chunk is
  /// reported as missing and accepted again.
  var isUnverified = false
}

/// Metadata of the chunks of files.
extension MemoryZoneStore {
  func addChunk(
    _ hash: ChunkHash, of id: AccountID, _ stored: StoredChunk, wall: Int64
  ) -> CommitResult {
    guard let held = state.accounts[id]?.chunkBytes else {
      return .refused(StoreRefusals.unknownAccount)
    }
    let leaseUntil = wall + rules.chunkLeaseMilliseconds
    if let known = state.accounts[id]?.chunks[hash] {
      state.accounts[id]?.chunks[hash]?.leaseUntil = leaseUntil
      state.accounts[id]?.chunks[hash]?.stored.file = stored.file
      state.accounts[id]?.chunks[hash]?.isUnverified = false
      return .chunkReplaced(known.stored.file, wasLacking: known.isUnverified)
    }
    guard Int64(stored.bytes) <= rules.chunkBytesPerAccount - held else {
      return .refused(StoreRefusals.quotaExceeded)
    }
    state.accounts[id]?.chunks[hash] = MemoryChunk(
      stored: stored, uses: 0, leaseUntil: leaseUntil)
    state.accounts[id]?.chunkBytes += Int64(stored.bytes)
    return .chunkAdded
  }

  func renewChunks(_ hashes: [ChunkHash], of id: AccountID, wall: Int64) -> CommitResult {
    guard state.accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    return .renewed(
      bytes: hashes.map { hash in
        state.accounts[id]?.chunks[hash]?.leaseUntil = wall + rules.chunkLeaseMilliseconds
        guard let chunk = state.accounts[id]?.chunks[hash], !chunk.isUnverified else { return nil }
        return chunk.stored.bytes
      })
  }

  func applyChunkChanges(_ changes: [ChunkChange], to id: AccountID, wall: Int64) {
    for change in changes {
      guard var chunk = state.accounts[id]?.chunks[change.hash] else { continue }
      chunk.uses += change.change
      if chunk.uses == 0 { chunk.leaseUntil = wall + rules.chunkLeaseMilliseconds }
      state.accounts[id]?.chunks[change.hash] = chunk
    }
  }

  /// Removes chunks without records in the order in which their leases ended, then by account and
  /// hash in the sort order of a database.
  func collectChunks(atMost count: Int, wall: Int64) -> CommitResult {
    typealias Spent = (leaseUntil: Int64, account: Int64, id: AccountID, hash: ChunkHash)
    var spent: [Spent] = []
    for id in state.accounts.keys.sorted() {
      let chunks = state.accounts[id]?.chunks ?? [:]
      let ends = chunks.filter { $0.value.uses == 0 && $0.value.leaseUntil <= wall }
      spent += ends.map { ($0.value.leaseUntil, Int64(bitPattern: id.rawValue), id, $0.key) }
    }
    spent.sort { ($0.leaseUntil, $0.account, $0.hash) < ($1.leaseUntil, $1.account, $1.hash) }
    var files: [ChunkFile] = []
    for chunk in spent.prefix(max(0, count)) {
      guard let gone = state.accounts[chunk.id]?.chunks.removeValue(forKey: chunk.hash) else {
        continue
      }
      state.accounts[chunk.id]?.chunkBytes -= Int64(gone.stored.bytes)
      files.append(gone.stored.file)
    }
    return .collected(files)
  }

  func chunk(_ hash: ChunkHash, of id: AccountID) -> ReadResult {
    guard let chunk = state.accounts[id]?.chunks[hash] else {
      return .refused(StoreRefusals.unknownChunk)
    }
    return .chunk(chunk.stored)
  }

  func fileUse(of file: ChunkFile) -> FileUse {
    guard let chunk = chunk(in: file)?.chunk else { return .none }
    return chunk.isUnverified ? .unverified : .verified
  }

  func setUnverified(_ files: [ChunkFile], _ isUnverified: Bool) -> CommitResult {
    for file in files {
      guard let hash = chunk(in: file)?.hash else { continue }
      state.accounts[file.account]?.chunks[hash]?.isUnverified = isUnverified
    }
    return .done
  }

  private func chunk(in file: ChunkFile) -> (hash: ChunkHash, chunk: MemoryChunk)? {
    state.accounts[file.account]?.chunks.first { $0.value.stored.file == file }
      .map { ($0.key, $0.value) }
  }
}

/// Deleted record, and the time at which the relay accepted the deletion. Ordered as in a database,
/// where numbers are signed.
struct Tombstone: Comparable {
  var deletedAt: Int64
  var account: AccountID
  var tag: ChangeTag
  var key: RecordKey

  static func < (left: Tombstone, right: Tombstone) -> Bool {
    (left.deletedAt, Int64(bitPattern: left.account.rawValue), left.tag)
      < (right.deletedAt, Int64(bitPattern: right.account.rawValue), right.tag)
  }
}

/// Retention of history, and restores from an older copy.
extension MemoryZoneStore {
  /// Opens this state again under an `OpeningNumber`.
  package func begin(run: UInt64) { state.run = run }

  /// Marks this state as restored from an older copy. `opening`: an `OpeningNumber`, drawn for each
  /// restore.
  package func restored(opening: UInt64) {
    begin(run: opening)
    for id in state.accounts.keys.sorted() {
      state.accounts[id]?.restored(id, opening: opening)
    }
  }

  func addTombstones(_ records: [Record], of id: AccountID, wall: Int64) {
    for record in records where record.isDeleted {
      let tombstone = Tombstone(deletedAt: wall, account: id, tag: record.tag, key: record.key)
      var place = state.tombstones.count
      while place > 0, tombstone < state.tombstones[place - 1] { place -= 1 }
      state.tombstones.insert(tombstone, at: place)
    }
  }

  /// Drops at most `count` tombstones that are older than the retained history, oldest first.
  func forgetTombstones(_ count: Int, wall: Int64) {
    var forgotten = 0
    var passed = 0
    for tombstone in state.tombstones {
      guard forgotten < count, tombstone.deletedAt < wall - rules.historyMilliseconds else { break }
      passed += 1
      let isCurrent = state.accounts[tombstone.account]?.forget(tombstone.key, tag: tombstone.tag)
      if isCurrent == true { forgotten += 1 }
    }
    state.tombstones.removeFirst(passed)
  }
}
