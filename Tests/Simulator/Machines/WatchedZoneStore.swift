import LockstepModel
import LockstepSimulation
import LockstepStorage

/// The relay's store with checks: each commit is recorded in the ledger, and it fails if the fault
/// plan says so.
package final class WatchedZoneStore: ZoneStore {
  private var backing: MemoryZoneStore
  private let ledger: CommitLedger
  private let histories: (AccountID) -> Histories?
  private var failures = 0
  /// True if no commit has failed by the planned failures yet.
  private var isFailureDue = false
  /// Virtual time until which the disk is full. `isFullnessMet`: true if a commit has failed by it.
  private var fullUntil: Int64 = 0
  private var isFullnessMet = true
  /// Valid pairing codes. `endedCodes`: those that were valid when a device of their account was
  /// signed out.
  private var codes: [(account: AccountID, pairing: NewPairing)] = []
  private var endedCodes: Set<[UInt8]> = []
  /// State that is left after a crash of a store that answers before its commit is durable; nil if
  /// the store is correct.
  private var durable: MemoryZoneStore?
  private var commits = 0
  /// Injected bug, to prove that the checkers detect it.
  package var breakage: Breakage?
  private var breaks = SeededRandom(seed: 1)
  /// Batches that the relay itself has made, under the names of devices.
  private var forged: Set<BatchID> = []

  /// Called after each save that was committed.
  var onSave: (SaveCommit, SaveOutcome) -> Void = { _, _ in }

  /// Creates the store. `isCareless`: answers before commits are durable, to prove that the
  /// checkers detect it.
  package init(
    ledger: CommitLedger, rules: StoreRules, isCareless: Bool,
    histories: @escaping (AccountID) -> Histories?
  ) {
    backing = MemoryZoneStore(rules: rules)
    self.ledger = ledger
    self.histories = histories
    durable = isCareless ? backing.copy() : nil
  }

  /// Saves a record that exists before the simulation begins; no user makes it.
  package func prefill(_ save: SaveCommit, wall: Int64) throws(StorageError) {
    for case .saved(let outcome) in try backing.commit([.save(save)], wall: wall) {
      ledger.recordCommit(save, outcome)
      for record in outcome.changed {
        ledger.versionSaved(record, in: save.account).map {
          histories(save.account)?.addInitial($0.version)
        }
      }
    }
    durable = durable.map { _ in backing.copy() }
  }

  /// Returns a copy of the current state.
  package func backUp() -> Backup {
    Backup(store: backing.copy(), snapshot: ledger.snapshot(), rollbacks: rollbacks)
  }

  /// Copies an account from a store that has frozen it. `early`: the copy of a broken mover.
  func receive(_ move: AccountMove, from source: WatchedZoneStore, early: Backup?) -> Refusal? {
    let refusal = backing.receive(move, from: early?.store ?? source.backing)
    durable = durable.map { _ in backing.copy() }
    return refusal
  }

  /// Number of restores that nothing in the store shows.
  private var rollbacks = 0

  /// True if the copy may be restored. A copy that is older than an earlier rollback may belong to
  /// a history that was abandoned then: the model cannot predict how devices react to its return.
  package func mayRestore(_ backup: Backup, isSeen: Bool) -> Bool {
    backup.rollbacks == rollbacks && (isSeen || backup.snapshot.restores == ledger.restores)
  }

  package struct Backup {
    fileprivate let store: MemoryZoneStore
    fileprivate let snapshot: CommitLedger.Snapshot
    fileprivate let rollbacks: Int
  }

  /// Restores a copy, as a relay finds it when it starts. `opening`: the random number of that
  /// start; nil if nothing in the store shows the restore.
  package func restore(_ backup: Backup, opening: UInt64?) {
    backing = backup.store.copy()
    if let opening, breakage != .reusesTags { backing.restored(opening: opening) }
    if opening == nil { rollbacks += 1 }
    durable = durable.map { _ in backing.copy() }
    let isBlind = backup.snapshot.restores < ledger.restores
    ledger.restore(backup.snapshot)
    for account in ledger.accountsEver {
      histories(account)?.relayLost(isBlind: isBlind) { ledger.isLost(account, tag: $0) }
    }
  }

  /// Opens the store for a relay.
  package func begin(run: UInt64) {
    guard breakage != .trustsRolledBackTokens, breakage != .reusesTags else { return }
    backing.begin(run: run)
    ledger.recordOpen()
  }

  /// Makes the next `calls` commits fail.
  package func fail(calls: Int) {
    failures += calls
    isFailureDue = true
  }

  /// Makes all commits fail until this time, as on a full disk.
  package func fill(until time: Int64) {
    fullUntil = time
    isFullnessMet = false
  }

  package func heal() {
    failures = 0
    fullUntil = 0
  }

  /// Ends the process without warning. A correct store loses nothing by it.
  package func crash() {
    if let durable { backing = durable.copy() }
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if failures > 0 {
      failures -= 1
      if isFailureDue { ledger.environment.countFault(.failStore) }
      isFailureDue = false
      ledger.environment.tally.note(.commitFailed)
      throw .diskFull(path: "simulated")
    }
    if ledger.environment.timeline.now < fullUntil {
      if !isFullnessMet { ledger.environment.countFault(.fillRelayDisk) }
      isFullnessMet = true
      ledger.environment.tally.note(.commitFailed)
      throw .diskFull(path: "simulated")
    }
    let results = try backing.commit(requests.map(broken), wall: wall)
    commits += 1
    if durable != nil, commits % 4 == 0 { durable = backing.copy() }
    for (request, result) in zip(requests, results) {
      tally(request, result)
      try watchCodes(request, result, wall: wall)
      if case .revokeDevice(let account, let device) = request, result == .done {
        recordRevocation(device, of: account)
      }
      guard case .save(let save) = request else { continue }
      guard case .saved(let outcome) = result else {
        for mutation in ledger.savesRefusedNow(save) {
          histories(save.account)?.relayForgotSave(mutation, in: save)
        }
        continue
      }
      for mutation in ledger.forgottenSaves(of: save, outcome) {
        histories(save.account)?.relayForgotSave(mutation, in: save)
      }
      let forgotten = outcome.changed.filter { isDeletionForgotten($0, save, wall: wall) }
      for record in forgotten { deletionForgotten(record.key, save) }
      ledger.recordCommit(save, outcome)
      for record in outcome.changed { recordVersion(record, in: save) }
      onSave(save, outcome)
    }
    return results
  }

  /// Registers a batch that the relay itself makes, under the name of a device.
  func recordForgery(_ batch: BatchID) { forged.insert(batch) }

  private func recordVersion(_ record: Record, in save: SaveCommit) {
    if forged.contains(save.request.id) {
      guard let (version, tag) = ledger.versionForged(record, in: save.account) else { return }
      histories(save.account)?.relayRepeated(version, of: tag)
    } else if let (saved, former) = ledger.versionSaved(record, in: save.account) {
      var version = saved
      if let former {
        histories(save.account)?.relayRepeated(version, of: former)
        return
      }
      // What a device has in its outbox is looked up by that device, not by the author.
      version.device = record.device
      let mutation = save.request.mutations.first { $0.name == record.name }
      histories(save.account)?.relaySaved(version, baseTag: mutation?.baseTag)
    }
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    let result = try backing.read(request)
    tally(request, result)
    return broken(request, result)
  }

  /// Returns a copy on which commits can be tried before they are made.
  package func preview() -> MemoryZoneStore { backing.copy() }

  private func recordRevocation(_ device: DeviceID, of account: AccountID) {
    ledger.recordRevocation(device, of: account)
    histories(account)?.deviceRevoked(device, saved: ledger.newest(account))
  }

  /// Reports a violation if a code is redeemed that was valid when a device of its account was
  /// signed out.
  private func watchCodes(
    _ request: CommitRequest, _ result: CommitResult, wall: Int64
  ) throws(StorageError) {
    switch (request, result) {
    case (.issuePairing(let account, let pairing), .done):
      codes.append((account, pairing))
    // A store that serves revoked devices is detected by what it serves them.
    case (.revokeDevice(let account, _), .done) where breakage != .servesRevoked:
      let ended = codes.filter { $0.account == account }.map(\.pairing)
      codes.removeAll { $0.account == account }
      for pairing in ended { endedCodes.insert(pairing.codeHash) }
      guard breakage == .keepsCodesOfTheRevoked else { return }
      _ = try backing.commit(ended.map { .issuePairing(account, $0) }, wall: wall)
    case (.redeemPairing(let codeHash, _), .redeemed(let account, _, _))
    where endedCodes.contains(codeHash):
      ledger.environment.fault(
        "\(account.text) let a device in by a code that was made before a revocation")
    default: break
    }
  }

  private func tally(_ request: CommitRequest, _ result: CommitResult) {
    guard case .save(let save) = request, case .saved(let outcome) = result else { return }
    for case .conflict(let name, let record) in outcome.answer.results where record.tag == 0 {
      deletionForgotten(RecordKey(zone: save.request.zone, name: name), save)
    }
  }

  private func deletionForgotten(_ key: RecordKey, _ save: SaveCommit) {
    ledger.environment.tally.note(.deletionForgotten)
    histories(save.account)?.relayForgotDeletion(of: key)
  }

  /// True if the record is saved as new, but was deleted before the history that the relay keeps.
  private func isDeletionForgotten(_ record: Record, _ save: SaveCommit, wall: Int64) -> Bool {
    let mutation = save.request.mutations.first { $0.name == record.name }
    guard !record.isDeleted, mutation?.baseTag == 0,
      let old = ledger.stored(save.account, record.key), old.isDeleted
    else { return false }
    return wall - old.modifiedAt > Limits.historyMilliseconds
  }

  private func tally(_ request: ReadRequest, _ result: ReadResult) {
    guard case .changes(_, let since, _, _) = request else { return }
    switch result {
    case .refused(let refusal) where refusal.code == .tokenExpired:
      ledger.environment.tally.note(.cursorExpired)
    case .refused(let refusal) where refusal.code == .storeRestored:
      ledger.environment.tally.note(.cursorLost)
    case .refused(let refusal) where refusal.code == .badChangeToken:
      ledger.environment.tally.note(.cursorUnknown)
    case .page(let page):
      guard let since else { return ledger.environment.tally.note(.snapshot) }
      if since.generation != page.token.generation { ledger.environment.tally.note(.cursorKept) }
      guard let pinned = since.pinned else { return }
      ledger.environment.tally.note(.snapshotPage)
      if page.token.reach > pinned { ledger.environment.tally.note(.snapshotPageUnderWrites) }
    default: break
    }
  }
}

// Injected bugs.
extension WatchedZoneStore {
  private func broken(_ request: CommitRequest) -> CommitRequest {
    if breakage == .servesRevoked, case .revokeDevice = request { return .touchDevices([]) }
    guard breakage == .forgetsBatches, case .save(var save) = request else { return request }
    save.request.id = BatchID(random: &breaks)
    return .save(save)
  }

  private func broken(_ request: ReadRequest, _ result: ReadResult) -> ReadResult {
    if breakage == .widensScopes, case .principal(var principal) = result {
      principal.scope = .everything
      return .principal(principal)
    }
    guard let breakage, case .changes(let account, _, _, _) = request,
      case .page(var page) = result
    else { return result }
    switch breakage {
    case .hidesTombstones: page.changes.removeAll { $0.isDeleted }
    case .dropsTombstones:
      let forgotten = ledger.sequence(account, before: Span.seconds(3))
      page.changes.removeAll { $0.isDeleted && $0.tag <= forgotten }
    case .leaksAccounts:
      let other = ledger.accountsEver.first { $0 != account }
      if !page.changes.isEmpty, let record = other.flatMap({ ledger.newest($0).last }) {
        page.changes.append(record)
      }
    default: break
    }
    return .page(page)
  }
}
