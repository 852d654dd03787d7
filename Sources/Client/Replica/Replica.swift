import LockstepModel
import LockstepStorage

/// A device's records, cursor and outbox, on the worker's side: performs the agent's jobs, one
/// transaction each. Uses no network and no clock; its results depend only on the store and the
/// jobs.
public struct Replica<Store: ReplicaStore> {
  public let store: Store
  private var state: ReplicaState

  public init(store: Store, apps: [any App]) {
    self.store = store
    state = ReplicaState(store: store, apps: apps)
  }

  /// Performs one job. The reported outcome is durable; if the store failed, nothing was changed.
  public mutating func perform(_ job: ReplicaJob) -> ReplicaOutcome { state.perform(job) }
}

/// State of a replica in memory between its jobs. One file per topic: `ReplicaState+Answers`,
/// `+ChunkOffers`, `+Chunks`, `+Editing`, `+HeldChunks`, `+Incoming`, `+Orders`, `+Outgoing`,
/// `+Restore`, `+Settling`, `+Snapshot`, `+Stamps`, `+Welcome`, `+Zones`.
struct ReplicaState {
  let apps: [any App]
  var ledger: WriteTransaction
  var due = DueIndex()
  var identity: HomeIdentity?
  var position = ChangePosition.nothing
  /// Number of the last snapshot that was begun.
  var snapshot: Int64 = 0
  /// Set until all that a restored relay has lost is being saved again.
  var restore: Restore?
  /// Set until a snapshot has replaced a lost cursor.
  var former: LostCursor?
  /// Set after an answer has shown that the relay was restored, until the relay has reported how
  /// far back.
  var heldBefore: PreRestoreTag?
  /// True if records are marked as lost in the store.
  var hasLost = false
  /// Local changes that wait for chunks of files.
  var gate = ChunkGate()
  /// Set while chunks are offered to the relay.
  var offer: ChunkOffer?
  /// Records that arrived while a local change to them was in flight, and wait for its answer. Each
  /// record once, and not more than a batch has.
  var overtaken: [Record] = []
  /// Token of the newest answer that no cursor covers yet. The relay may lose what it answered
  /// before the device has read that far.
  var answered: ChangeToken?
  /// Relay time minus wall clock in milliseconds, as assumed by untrusted stamps in the outbox.
  var assumedOffset: Int64 = 0
  /// Steps of the wall clock that `assumedOffset` has followed, in milliseconds.
  var followedSteps: Int64 = 0
  var lastSync: Int64?
  /// Zones that are switched off, by name.
  var zonesOff: [ZoneOff] = []
  /// State of each zone whose app asks; nil: the first snapshot is not complete yet.
  var welcomes: [Name: RestoreConsent] = [:]
  /// Questions after the last job that the store completed.
  private var lastQuestions: [RestoreQuestion] = []
  private var isLoaded = false

  static let offsetKey = "clock.offset"
  static let deviceNamesKey = "devices"
  static let lastSyncKey = "sync.last"
  static let snapshotKey = "snapshot.number"
  static let restoreKey = "restore"
  static let heldBeforeKey = "restore.held"
  static let formerKey = "cursor.former"

  init(store: any ReplicaStore, apps: [any App]) {
    self.apps = apps
    ledger = WriteTransaction(store: store)
  }

  var merging: Merging { Merging(apps: apps, device: device) }

  /// Id of this device. Only valid in a home that has joined.
  var device: DeviceID { identity?.credentials.device ?? DeviceID(rawValue: 0) }

  mutating func perform(_ job: ReplicaJob) -> ReplicaOutcome {
    let stepsBefore = followedSteps
    do {
      if !isLoaded { try load() }
      var job = job
      followSteps(of: job.clock)
      if !job.clock.isMeasured { job.clock.offset = assumedOffset }
      let result = try run(job)
      var batch: SaveRequest?
      if let offer = job.offer, identity != nil, !result.mustNotSend {
        batch = try takeBatch(offer, job.clock)
      }
      try offerChunks()
      let needs = try takeNeeds()
      lastQuestions = try questions()
      let changed = try commit()
      return outcome(.success(result), changed: changed, batch: batch, needs: needs)
    } catch {
      // The transaction's changes in memory are not in the store: everything is read again.
      isLoaded = false
      followedSteps = stepsBefore
      return outcome(.failure(error), changed: [], batch: nil)
    }
  }

  private mutating func run(_ job: ReplicaJob) throws(StorageError) -> ReplicaResult {
    switch job.task {
    case .load:
      reopenParked { $0.wasIntercepted }
      return .loaded(
        LoadedHome(
          identity: identity, position: position,
          clockOffset: try number(ReplicaState.offsetKey), lastSync: lastSync))
    case .edit(let order, let request):
      return .edited(order, try edit(request, job.clock))
    case .decide(let order, let key, let keepLocal):
      return .edited(order, try decide(key, keepLocal: keepLocal, job.clock))
    case .perform(let order, let app, let words):
      return .told(order, try performed(words, by: app, job.clock))
    case .show(let order, let app, let question):
      return .told(order, try shown(question, by: app, job.clock))
    case .nameDevices(let names):
      try nameDevices(names)
      return .done
    case .setSyncing(let order, let zone, let isOn):
      let (result, movedTo) = try setSyncing(zone, isOn)
      return .switched(order, result, movedTo: movedTo)
    case .answerRestore(let order, let app):
      return .switched(order, try answerRestore(of: app), movedTo: nil)
    case .makeDueEdits(let isConnected):
      try makeDueEdits(isConnected: isConnected, job.clock)
      return .done
    case .readRecord(let order, let key):
      let record = try ledger.record(key)
      return .read(order, [record].compactMap { $0 }.filter { !$0.isDeleted })
    case .readRecords(let order, let zone, let type):
      return .read(order, try ledger.store.records(zone: zone, type: type))
    case .readAll(let order):
      return .read(order, try ledger.store.allRecords())
    case .takeBatch:
      return .done
    case .apply(let arrivals):
      try restamp(job.clock)
      let applied = try apply(arrivals, job.clock)
      if overtaken.isEmpty, applied.isAtEnd || applied.isLinked { try trim(job.clock) }
      return .applied(applied)
    case .refuseBatch(let id, let refusal):
      try refuseBatch(id, refusal)
      return try turnedDown()
    case .setAside(let id):
      setAside(id)
      return try turnedDown()
    case .retryRefused(let withParked):
      retryRefused(withParked: withParked)
      return .applied(Applied(position: position))
    case .forgetCursor(let through, let lostThrough, let generation):
      try forgetCursor(restoredThrough: through, lostThrough: lostThrough, in: generation)
      return .applied(Applied(position: position))
    case .bringBack:
      try bringBack()
      endRestore()
      return .applied(Applied(position: position))
    case .chunks(let task): return .chunks(try perform(task, job.clock))
    }
  }

  /// Handles a batch that is no longer in flight.
  private mutating func turnedDown() throws(StorageError) -> ReplicaResult {
    var applied = Applied(position: position)
    try takeOvertaken(&applied)
    return .applied(applied)
  }

  /// Discards the transaction.
  mutating func discard() throws(StorageError) {
    try ledger.reload()
    // Its other changes in memory are read again with the next job.
    isLoaded = false
  }

  /// Writes the transaction, and returns the records that are shown differently now.
  private mutating func commit() throws(StorageError) -> [Record] {
    let outcome = try ledger.commit()
    var changed: [Record] = []
    for gone in outcome.dropped {
      due.set(nil, for: gone.key)
      if !gone.isDeleted { changed.append(gone.tombstone) }
    }
    for (key, before, now) in outcome.written {
      due.set(now.flatMap { merging.dueEdit(for: $0) }, for: key)
      if let record = ReplicaState.shown(before: before, now: now) { changed.append(record) }
    }
    return changed
  }

  /// Returns nil if the user sees no difference.
  private static func shown(before: Record?, now: Record?) -> Record? {
    let hadFields = before?.fields != nil
    guard let now else {
      guard var gone = before, hadFields else { return nil }
      gone.fields = nil
      return gone
    }
    if now.isDeleted { return hadFields ? now : nil }
    let isSame =
      before?.fields == now.fields && before?.modifiedAt == now.modifiedAt
      && before?.device == now.device && before?.type == now.type
    return isSame ? nil : now
  }

  private mutating func load() throws(StorageError) {
    try ledger.reload()
    identity = try ledger.store.identity()
    position = try ledger.store.cursor().map { .cursor($0) } ?? .nothing
    overtaken = []
    gate = ChunkGate()
    assumedOffset = try number(ReplicaState.offsetKey) ?? 0
    lastSync = try number(ReplicaState.lastSyncKey)
    snapshot = try number(ReplicaState.snapshotKey) ?? 0
    restore = try ledger.store.value(ReplicaState.restoreKey).flatMap { Restore(text: $0) }
    former = try ledger.store.value(ReplicaState.formerKey).flatMap { LostCursor(text: $0) }
    heldBefore = try ledger.store.value(ReplicaState.heldBeforeKey).flatMap {
      PreRestoreTag(text: $0)
    }
    offer = try storedOffer()
    hasLost = try !ledger.store.lostRecords(limit: 1, bytes: 0).isEmpty
    answered = nil
    // Records beyond the store's cursor are known; the relay may have lost them meanwhile.
    if let cursor = position.cursor, restore == nil, !hasLost {
      position = .cursor(cursor.knowing(try ledger.greatestTag()))
    }
    try loadZonesOff()
    try loadWelcomes()
    try loadDueEdits()
    isLoaded = true
  }

  private mutating func loadDueEdits() throws(StorageError) {
    due = DueIndex()
    for app in apps {
      for type in app.timedTypes {
        for record in try ledger.store.records(zone: app.zone, type: type) {
          guard let edit = merging.dueEdit(for: record) else { continue }
          due.set(edit, for: record.key)
        }
      }
    }
  }

  private func number(_ key: String) throws(StorageError) -> Int64? {
    try ledger.store.value(key).flatMap { Int64($0) }
  }

  private func outcome(
    _ result: Result<ReplicaResult, StorageError>, changed: [Record], batch: SaveRequest?,
    needs: [ChunkNeed] = []
  ) -> ReplicaOutcome {
    var outbox = ledger.outbox.summary
    outbox.heldBack = gate.counts(in: ledger.outbox)
    outbox.setAsideCount = gate.setAsideCount(in: ledger.outbox)
    outbox.mayBringBack = mayBringBack
    outbox.off = zonesOff.map(\.zone)
    outbox.questions = lastQuestions
    return ReplicaOutcome(
      result: result, changed: changed, batch: batch, outbox: outbox,
      due: due.times(on: device.text), needs: needs)
  }
}

extension UnnamedRecord {
  /// Tombstone that is reported when the record is gone.
  fileprivate var tombstone: Record {
    Record(
      zone: key.zone, name: key.name, type: type, fields: nil, modifiedAt: modifiedAt,
      device: device, tag: tag)
  }
}
