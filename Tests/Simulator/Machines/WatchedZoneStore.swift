import LockstepModel
import LockstepSimulation
import LockstepStorage

/// The relay's store with an eye on it: every commit is written down in the ledger, and it fails
/// when the fault plan says so.
package final class WatchedZoneStore: ZoneStore {
  private var backing: MemoryZoneStore
  private let ledger: WriteTransaction
  private let histories: (AccountID) -> Histories?
  private var failures = 0
  /// The failures to come have met nobody yet.
  private var isFailureDue = false
  /// Until when no commit finds room, and whether one has looked for some.
  private var fullUntil: Int64 = 0
  private var isFullnessMet = true
  /// Pairing codes that stand, and those that stood when a device of their account was signed out.
  private var codes: [(account: AccountID, pairing: NewPairing)] = []
  private var endedCodes: Set<[UInt8]> = []
  /// What a store that answers before its commit is durable would still hold after a crash.
  private var durable: MemoryZoneStore?
  private var commits = 0
  /// What is broken in it, to prove that the checkers see it.
  package var breakage: Breakage?
  private var breaks = SeededRandom(seed: 1)

  /// `isCareless`: a broken store, to prove that the checkers see it.
  package init(
    ledger: WriteTransaction, rules: StoreRules, isCareless: Bool,
    histories: @escaping (AccountID) -> Histories?
  ) {
    backing = MemoryZoneStore(rules: rules)
    self.ledger = ledger
    self.histories = histories
    durable = isCareless ? backing.copy() : nil
  }

  /// What stood before the world began, by nobody's hand.
  package func prefill(_ save: SaveCommit, wall: Int64) throws(StorageError) {
    for case .saved(let outcome) in try backing.commit([.save(save)], wall: wall) {
      ledger.committed(save, outcome)
      for record in outcome.changed { histories(save.account)?.stood(record) }
    }
    durable = durable.map { _ in backing.copy() }
  }

  /// Keeps a copy of what stands now.
  package func backUp() -> Backup {
    Backup(store: backing.copy(), page: ledger.page(), rollbacks: rollbacks)
  }

  /// How often a copy was put back unseen.
  private var rollbacks = 0

  /// Whether the copy may be put back. One that is older than a former rollback may be of a line of
  /// history that was left then: the model cannot tell what devices make of its coming back.
  package func mayRestore(_ backup: Backup, isSeen: Bool) -> Bool {
    backup.rollbacks == rollbacks && (isSeen || backup.page.restores == ledger.restores)
  }

  package struct Backup {
    fileprivate let store: MemoryZoneStore
    fileprivate let page: WriteTransaction.Page
    fileprivate let rollbacks: Int
  }

  /// Puts a copy back, as a relay finds it when it starts. `opening`: that start's random number;
  /// nil where nothing in the store tells.
  package func restore(_ backup: Backup, opening: UInt64?) {
    backing = backup.store.copy()
    if let opening, breakage != .reusesTags { backing.restored(opening: opening) }
    if opening == nil { rollbacks += 1 }
    durable = durable.map { _ in backing.copy() }
    let isBlind = backup.page.restores < ledger.restores
    ledger.restore(backup.page)
    for account in ledger.accountsEver {
      histories(account)?.relayLost(isBlind: isBlind) { ledger.isLost(account, tag: $0) }
    }
  }

  /// A relay opens it.
  package func begin(run: UInt64) {
    guard breakage != .trustsRolledBackTokens, breakage != .reusesTags else { return }
    backing.begin(run: run)
    ledger.beganRun()
  }

  /// The next `calls` commits fail.
  package func fail(calls: Int) {
    failures += calls
    isFailureDue = true
  }

  /// Until then no commit finds room.
  package func fill(until time: Int64) {
    fullUntil = time
    isFullnessMet = false
  }

  package func heal() {
    failures = 0
    fullUntil = 0
  }

  /// The process died. A careful store loses nothing by it.
  package func crash() {
    if let durable { backing = durable.copy() }
  }

  package func commit(
    _ requests: [CommitRequest], wall: Int64
  ) throws(StorageError) -> [CommitResult] {
    if failures > 0 {
      failures -= 1
      if isFailureDue { ledger.outside.struck(.failStore) }
      isFailureDue = false
      throw .diskFull(path: "simulated")
    }
    if ledger.outside.timeline.now < fullUntil {
      if !isFullnessMet { ledger.outside.struck(.fillRelayDisk) }
      isFullnessMet = true
      throw .diskFull(path: "simulated")
    }
    let results = try backing.commit(requests.map(broken), wall: wall)
    commits += 1
    if durable != nil, commits % 4 == 0 { durable = backing.copy() }
    for (request, result) in zip(requests, results) {
      tally(request, result)
      try watchCodes(request, result, wall: wall)
      if case .revokeDevice(let account, let device) = request, result == .done {
        revoked(device, of: account)
      }
      guard case .save(let save) = request else { continue }
      guard case .saved(let outcome) = result else {
        for mutation in ledger.refusedAnew(save) {
          histories(save.account)?.relayForgotSave(mutation, in: save)
        }
        continue
      }
      for mutation in ledger.forgottenSaves(of: save, outcome) {
        histories(save.account)?.relayForgotSave(mutation, in: save)
      }
      let forgotten = outcome.changed.filter { isDeletionForgotten($0, save, wall: wall) }
      for record in forgotten { deletionForgotten(record.key, save) }
      ledger.committed(save, outcome)
      for record in outcome.changed {
        let mutation = save.request.mutations.first { $0.name == record.name }
        histories(save.account)?.relaySaved(record, baseTag: mutation?.baseTag)
      }
    }
    return results
  }

  package func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    let result = try backing.read(request)
    tally(request, result)
    return broken(request, result)
  }

  /// What would come of commits that are not made yet.
  package func preview() -> MemoryZoneStore { backing.copy() }

  private func revoked(_ device: DeviceID, of account: AccountID) {
    ledger.revoked(device, of: account)
    histories(account)?.deviceRevoked(device, saved: ledger.newest(account))
  }

  /// A code that stood when a device of its account was signed out lets nobody in any more.
  private func watchCodes(
    _ request: CommitRequest, _ result: CommitResult, wall: Int64
  ) throws(StorageError) {
    switch (request, result) {
    case (.issuePairing(let account, let pairing), .done):
      codes.append((account, pairing))
    // A store that serves the revoked is found by what it serves them.
    case (.revokeDevice(let account, _), .done) where breakage != .servesRevoked:
      let ended = codes.filter { $0.account == account }.map(\.pairing)
      codes.removeAll { $0.account == account }
      for pairing in ended { endedCodes.insert(pairing.codeHash) }
      guard breakage == .keepsCodesOfTheRevoked else { return }
      _ = try backing.commit(ended.map { .issuePairing(account, $0) }, wall: wall)
    case (.redeemPairing(let codeHash, _), .redeemed(let account))
    where endedCodes.contains(codeHash):
      ledger.outside.fault(
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
    ledger.outside.tally.note(.deletionForgotten)
    histories(save.account)?.relayForgotDeletion(of: key)
  }

  /// What is saved as new was deleted before the history that the relay keeps.
  private func isDeletionForgotten(_ record: Record, _ save: SaveCommit, wall: Int64) -> Bool {
    let mutation = save.request.mutations.first { $0.name == record.name }
    guard !record.isDeleted, mutation?.baseTag == 0,
      let old = ledger.current(save.account, record.key), old.isDeleted
    else { return false }
    return wall - old.modifiedAt > Limits.historyMilliseconds
  }

  private func tally(_ request: ReadRequest, _ result: ReadResult) {
    guard case .changes(_, let since, _, _) = request else { return }
    switch result {
    case .refused(let refusal) where refusal.code == .tokenExpired:
      ledger.outside.tally.note(.cursorExpired)
    case .refused(let refusal) where refusal.code == .storeRestored:
      ledger.outside.tally.note(.cursorLost)
    case .refused(let refusal) where refusal.code == .badChangeToken:
      ledger.outside.tally.note(.cursorUnknown)
    case .page(let page):
      guard let since else { return ledger.outside.tally.note(.snapshot) }
      if since.generation != page.token.generation { ledger.outside.tally.note(.cursorKept) }
      guard let pinned = since.pinned else { return }
      ledger.outside.tally.note(.snapshotPage)
      if page.token.reach > pinned { ledger.outside.tally.note(.snapshotPageUnderWrites) }
    default: break
    }
  }
}

// What is broken in it.
extension WatchedZoneStore {
  private func broken(_ request: CommitRequest) -> CommitRequest {
    if breakage == .servesRevoked, case .revokeDevice = request { return .touchDevices([]) }
    guard breakage == .forgetsBatches, case .save(var save) = request else { return request }
    save.request.id = BatchID(random: &breaks)
    return .save(save)
  }

  private func broken(_ request: ReadRequest, _ result: ReadResult) -> ReadResult {
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
