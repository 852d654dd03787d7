import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepStorage

/// A device's records, cursor and outbox, on the worker's side: performs the agent's jobs, one
/// transaction each. Uses no network and no clock; its results depend only on the store and the
/// jobs.
package struct Replica<Store: ReplicaStore> {
  package let store: Store
  private var state: ReplicaState

  /// - Parameter editsBeforeJoining: True if edits are possible before the home has joined an
  ///   account. The apps' fields must then name no device, except as `MergeRules` do.
  package init(store: Store, apps: [any App], editsBeforeJoining: Bool = false) {
    self.store = store
    state = ReplicaState(store: store, apps: apps)
    state.editsBeforeJoining = editsBeforeJoining
  }

  /// Performs one job. The reported outcome is durable; if the store failed, nothing was changed.
  package mutating func perform(_ job: ReplicaJob) -> ReplicaOutcome { state.perform(job) }
}

/// State of a replica in memory between its jobs. This file has jobs and edits,
/// `ReplicaState+Incoming` changes from the relay, `ReplicaState+Outgoing` saves, their answers and
/// restores, `ReplicaState+Chunks` the chunks of files.
struct ReplicaState {
  let apps: [any App]
  /// See `Replica.init`.
  fileprivate(set) var editsBeforeJoining = false
  var transaction: WriteTransaction
  var due = DueIndex()
  var identity: HomeIdentity?
  var position = ChangePosition.nothing
  /// Number of the last snapshot that was begun.
  var snapshot: Int64 = 0
  /// Set until all that a restored relay has lost is being saved again.
  var restore: Restore?
  /// Set until a snapshot has replaced a lost cursor.
  var lostCursor: LostCursor?
  /// Set after an answer has shown that the relay was restored, until the relay has reported how
  /// far back.
  var preRestoreTag: PreRestoreTag?
  /// Zones in which records were written since surplus ones were last removed there.
  private var zonesToTrim: Set<Name> = []
  /// True if records are marked as lost in the store.
  var hasLostRecords = false
  /// Local changes that wait for chunks of files.
  var chunkDependencies = ChunkDependencyTracker()
  /// Set while chunks are offered to the relay.
  var offer: ChunkOffer?
  /// Records that arrived while a local change to them was in flight, and wait for its answer. Each
  /// record once, and not more than a batch has.
  var overtaken: [ArrivedRecord] = []
  /// Token of the newest answer that no cursor covers yet. The relay may lose what it answered
  /// before the device has read that far.
  var answeredToken: ChangeToken?
  /// Relay time minus wall clock in milliseconds, as assumed by untrusted stamps in the outbox.
  var assumedOffset: Int64 = 0
  /// Steps of the wall clock that `assumedOffset` has followed, in milliseconds.
  var followedSteps: Int64 = 0
  var lastSync: Int64?
  /// Zones that are switched off, by name.
  var zonesOff: [ZoneOff] = []
  /// Zones whose records are sealed, and the keys.
  var sealing = SealedZones()
  /// State of each zone whose app asks; nil: the first snapshot is not complete yet.
  var restoreConsents: [Name: RestoreConsent] = [:]
  /// Questions after the last job that the store completed.
  private var lastQuestions: [RestoreQuestion] = []
  private var isLoaded = false

  static let offsetKey = "clock.offset"
  static let deviceNamesKey = "devices"
  static let lastSyncKey = "sync.last"
  static let snapshotKey = "snapshot.number"
  static let restoreKey = "restore"
  static let preRestoreTagKey = "restore.held"
  static let lostCursorKey = "cursor.former"

  init(store: any ReplicaStore, apps: [any App]) {
    self.apps = apps
    transaction = WriteTransaction(store: store)
  }

  var merging: Merging { Merging(apps: apps, device: device) }

  /// Part of the account that this device may use. Before the home has joined, edits are made as if
  /// it will have everything.
  var scope: DeviceScope { identity?.credentials.scope ?? .everything }

  /// Id of this device; 0 until the home has joined.
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
        batch = try freezeBatch(offer, job.clock)
      }
      try offerChunks()
      let needs = try collectChunkNeeds()
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
      retryParked { $0.wasIntercepted }
      return .loaded(try loadedHome())
    case .follow(let relay): return .followed(try follow(relay))
    case .edit(let order, let request):
      return .edited(order, try edit(request, job.clock))
    case .transact(let order, let script):
      return .transacted(order, try transact(script, job.clock))
    case .join(let order, let identity, let keys):
      return .joined(order, try join(identity, keys, job.clock))
    case .decide(let order, let key, let keepLocal):
      return .edited(order, try decide(key, keepLocal: keepLocal, job.clock))
    case .perform(let order, let app, let appOrder):
      return .answered(order, try performAppOrder(appOrder, by: app, job.clock))
    case .show(let order, let app, let question):
      return .answered(order, try answerAppQuery(question, by: app, job.clock))
    case .nameDevices(let names):
      try storeDeviceNames(names)
      return .done
    case .setSyncing(let order, let zone, let isOn):
      let (result, movedTo) = try setSyncing(zone, isOn)
      return .switched(order, result, movedTo: movedTo)
    case .seal(let order, let keys, let plain, let secret):
      return try seal(order, keys, plain, deviceSecret: secret, job.clock)
    case .answerRestore(let order, let app, let wipes):
      return .switched(order, try answerRestore(of: app, wipes: wipes, job.clock), movedTo: nil)
    case .makeDueEdits(let isConnected):
      try makeDueEdits(isConnected: isConnected, job.clock)
      return .done
    case .readRecord(let order, let key): return .read(order, try liveRecord(key))
    case .readState(let order, let key): return .stateRead(order, transaction.outbox.state(of: key))
    case .readRecords(let order, let zone, let type):
      return .read(order, try transaction.store.records(zone: zone, type: type))
    case .readAll(let order):
      return .read(order, try transaction.store.allRecords())
    case .freezeBatch: return .done
    case .apply(let arrivals): return .applied(try apply(arrivals, job.clock))
    case .refuseBatch(let id, let refusal):
      try refuseBatch(id, refusal)
      return try finishRefusedBatch()
    case .setAside(let id):
      setAside(id)
      return try finishRefusedBatch()
    case .retryRefused(let withParked):
      retryRefused(withParked: withParked)
      return .applied(Applied(position: position))
    case .forgetCursor(let through, let lostThrough, let generation):
      try forgetCursor(restoredThrough: through, lostThrough: lostThrough, in: generation)
      return .applied(Applied(position: position))
    case .makeDeviceKey(let secret): return try makeDeviceKey(secret, job.clock)
    case .reseal: return try reseal()
    case .bringBack:
      try bringBack()
      endRestore()
      return .applied(Applied(position: position))
    case .chunks(let task): return .chunks(try perform(task, job.clock))
    }
  }

  /// See `AgentOrder.seal`.
  private mutating func seal(
    _ order: OrderID, _ keys: SealingKeys, _ plain: PlainRecords, deviceSecret: [UInt8]?,
    _ clock: ClockReading
  ) throws(StorageError) -> ReplicaResult {
    let (result, movedTo) = try adoptSeals(keys, plain: plain)
    if let deviceSecret, case .success = result { _ = try makeDeviceKey(deviceSecret, clock) }
    return .switched(order, result, movedTo: movedTo)
  }

  private mutating func apply(_ arrivals: [Arrival], _ clock: ClockReading) throws(StorageError)
    -> Applied
  {
    try restamp(clock)
    let applied = try applyArrivals(arrivals, clock)
    for app in apps where transaction.hasWritten(in: app.zone) { zonesToTrim.insert(app.zone) }
    if overtaken.isEmpty, applied.isAtEnd || applied.isLinked { try removeSurplus(clock) }
    return applied
  }

  private mutating func liveRecord(_ key: RecordKey) throws(StorageError) -> [Record] {
    [try transaction.record(key)].compactMap { $0 }.filter { !$0.isDeleted }
  }

  private mutating func join(
    _ identity: HomeIdentity, _ joined: JoinedKeys, _ clock: ClockReading
  ) throws(StorageError) -> Result<LoadedHome, EditFailure> {
    try join(identity)
    if let keys = joined.held {
      if case (.failure(let failure), _) = try adoptSeals(keys, plain: .replaced) {
        try discard()
        try load()
        return .failure(failure)
      }
    } else if sealing.isEmpty, let sealed = joined.sealed {
      lock(sealed)
    }
    if let secret = joined.deviceSecret { _ = try makeDeviceKey(secret, clock) }
    return .success(try loadedHome())
  }

  func loadedHome() throws(StorageError) -> LoadedHome {
    LoadedHome(
      identity: identity, position: position, clockOffset: try number(ReplicaState.offsetKey),
      lastSync: lastSync,
      chunkFolder: try transaction.store.value(ChunkFolder.key).flatMap { AccountID(text: $0) })
  }

  /// Handles a batch that is no longer in flight.
  private mutating func finishRefusedBatch() throws(StorageError) -> ReplicaResult {
    var applied = Applied(position: position)
    try applyOvertaken(&applied)
    if try sealAwaitedZones() { applied.foundGap = true }
    applied.position = position
    return .applied(applied)
  }

  /// Discards the transaction.
  mutating func discard() throws(StorageError) {
    try transaction.reload()
    // Its other changes in memory are read again with the next job.
    isLoaded = false
  }

  /// Writes the transaction, and returns the records that are shown differently now.
  private mutating func commit() throws(StorageError) -> [Record] {
    let outcome = try transaction.commit()
    var changed: [Record] = []
    for dropped in outcome.dropped {
      due.set(nil, for: dropped.key)
      if !dropped.isDeleted { changed.append(dropped.tombstone) }
    }
    for (key, before, now) in outcome.written {
      due.set(now.flatMap { dueEdit(for: $0) }, for: key)
      if let record = ReplicaState.shownChange(before: before, now: now) { changed.append(record) }
    }
    return changed
  }

  /// Returns nil if the user sees no difference.
  private static func shownChange(before: Record?, now: Record?) -> Record? {
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
    try transaction.reload()
    identity = try transaction.store.identity()
    position = try transaction.store.cursor().map { .cursor($0) } ?? .nothing
    overtaken = []
    chunkDependencies = ChunkDependencyTracker()
    assumedOffset = try number(ReplicaState.offsetKey) ?? 0
    lastSync = try number(ReplicaState.lastSyncKey)
    snapshot = try number(ReplicaState.snapshotKey) ?? 0
    restore = try transaction.store.value(ReplicaState.restoreKey).flatMap { Restore(text: $0) }
    lostCursor = try transaction.store.value(ReplicaState.lostCursorKey).flatMap {
      LostCursor(text: $0)
    }
    preRestoreTag = try transaction.store.value(ReplicaState.preRestoreTagKey).flatMap {
      PreRestoreTag(text: $0)
    }
    offer = try storedChunkOffer()
    hasLostRecords = try !transaction.store.lostRecords(limit: 1, bytes: 0).isEmpty
    answeredToken = nil
    zonesToTrim = Set(apps.map(\.zone))
    if let cursor = position.cursor, restore == nil, !hasLostRecords {
      try addHeldTags(to: cursor)
    }
    try loadZonesOff()
    try loadSealing()
    try adoptScope()
    _ = try sealFurtherZones()
    try loadRestoreConsents()
    try loadDueEdits()
    isLoaded = true
  }

  /// Adds the records beyond the store's cursor, which the relay may have lost meanwhile. A cursor
  /// with a horizon is first sent as it is (`advanceByAnswer`).
  private mutating func addHeldTags(to cursor: ChangeToken) throws(StorageError) {
    let greatest = try transaction.greatestTag()
    guard greatest > cursor.reach else { return }
    if cursor.horizon == nil {
      position = .cursor(cursor.extendingHorizon(to: greatest))
    } else {
      answeredToken = ChangeToken(generation: cursor.generation, sequence: greatest)
    }
  }

  mutating func loadDueEdits() throws(StorageError) {
    due = DueIndex()
    for app in apps {
      for type in app.timedTypes {
        for record in try transaction.store.records(zone: app.zone, type: type) {
          guard let edit = dueEdit(for: record) else { continue }
          due.set(edit, for: record.key)
        }
      }
    }
  }

  /// Returns nil if no edit is due, or other devices have to make it.
  private func dueEdit(for record: Record) -> DueEdit? {
    scope.includesWrites(to: record.zone) ? merging.dueEdit(for: record) : nil
  }

  /// Number of waiting entries of each zone that are not sent: for chunks of files, or because the
  /// relay's version cannot be read.
  private var heldBack: [OutboxSummary.ZoneCount] {
    var counts = chunkDependencies.counts(in: transaction.outbox)
    guard sealing.hasUnreadable else { return counts }
    let waiting = transaction.outbox.entries.filter { $0.state == .waiting }
    let blocked = waiting.filter { sealing.isUnreadable($0.key) }
    let numbers = Set(blocked.map(\.number))
    let groups = Set(blocked.compactMap(\.group))
    for entry in waiting {
      let zone = entry.key.zone
      let waitsForGroup = entry.group.map { groups.contains($0) } ?? false
      guard numbers.contains(entry.number) || waitsForGroup, !chunkDependencies.isBlocked(entry)
      else { continue }
      if let index = counts.firstIndex(where: { $0.zone == zone }) {
        counts[index].count += 1
      } else {
        counts.append(OutboxSummary.ZoneCount(zone: zone, count: 1))
      }
    }
    return counts
  }

  private func number(_ key: String) throws(StorageError) -> Int64? {
    try transaction.store.value(key).flatMap { Int64($0) }
  }

  private func outcome(
    _ result: Result<ReplicaResult, StorageError>, changed: [Record], batch: SaveRequest?,
    needs: [ChunkNeed] = []
  ) -> ReplicaOutcome {
    var outbox = transaction.outbox.summary
    outbox.heldBack = heldBack
    outbox.setAsideCount = chunkDependencies.setAsideCount(in: transaction.outbox)
    outbox.mayBringBack = mayBringBack
    outbox.isResealing = sealing.resealing != nil
    outbox.off = zonesOff.map(\.zone)
    outbox.outOfScope = outbox.waiting.map(\.zone).filter { !scope.includesWrites(to: $0) }
    outbox.unreadableCount = sealing.unreadableCount
    outbox.unreadable = sealing.firstUnreadable(Limits.statusRecords)
    outbox.isLocked = !sealing.lock.isEmpty
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

extension Language {
  /// Language of the person who sends an order or a query to an app or to the mirror, which is not
  /// always the person whose process holds the records. `request`: the order or the query; its
  /// `language` is a tag. Programs give none, and get English.
  package init(ofRequest request: JSONValue) {
    self = request["language"]?.string.flatMap(Language.init(tag:)) ?? .english
  }
}

extension JSONValue {
  /// The order or the query as its app reads it.
  fileprivate var withoutLanguage: JSONValue {
    self["language"] == nil ? self : setting("language", to: nil)
  }
}

/// Orders of a user to an app: computed from the device's records, in one transaction.
extension ReplicaState {
  /// Performs an order in the language of the person who sends it.
  fileprivate mutating func performAppOrder(
    _ order: JSONValue, by name: String, _ clock: ClockReading
  ) throws(StorageError) -> Result<AppView, EditFailure> {
    let language = Language(ofRequest: order)
    return try language { () throws(StorageError) in
      try runAppOrder(order.withoutLanguage, by: name, clock)
    }
  }

  /// Returns a view in the language of the person who asks.
  fileprivate func answerAppQuery(
    _ question: JSONValue, by name: String, _ clock: ClockReading
  ) throws(StorageError) -> Result<AppView, EditFailure> {
    let language = Language(ofRequest: question)
    return try language { () throws(StorageError) in
      try appView(question.withoutLanguage, by: name, clock)
    }
  }

  private mutating func runAppOrder(_ order: JSONValue, by name: String, _ clock: ClockReading)
    throws(StorageError) -> Result<AppView, EditFailure>
  {
    guard identity != nil else { return .failure(.notJoined) }
    guard let app = app(name) else { return .failure(ReplicaState.noApp(name)) }
    guard scope.includes(app.zone) else { return .failure(.outOfScope(app.zone, scope)) }
    if let question = try unansweredQuestion(of: app) { return .failure(question) }
    let state = try state(of: app, app.types, clock)
    let outcome: AppOutcome
    do throws(EditRefusal) {
      outcome = try app.outcome(of: order, on: state)
    } catch {
      return .failure(.refused(error))
    }
    for step in outcome.steps {
      let result =
        switch step {
        case .edit(let request): try edit(request, clock)
        case .decide(let key, let keepLocal): try decide(key, keepLocal: keepLocal, clock)
        }
      if case .failure(let failure) = result {
        try discard()
        return .failure(failure)
      }
    }
    switch outcome.answer {
    case .view(let view): return .success(view)
    case .question(let question): return try appView(question, by: name, clock)
    }
  }

  func appView(_ question: JSONValue, by name: String, _ clock: ClockReading)
    throws(StorageError) -> Result<AppView, EditFailure>
  {
    guard let app = app(name) else { return .failure(ReplicaState.noApp(name)) }
    guard scope.includes(app.zone) else { return .failure(.outOfScope(app.zone, scope)) }
    if let question = try unansweredQuestion(of: app) { return .failure(question) }
    let state = try state(of: app, app.types(for: question), clock)
    do throws(EditRefusal) {
      return .success(try app.view(question, of: state))
    } catch {
      return .failure(.refused(error))
    }
  }

  /// Removes surplus records of types with a maximum count. Requires that the device is caught up,
  /// and holds nothing back.
  mutating func removeSurplus(_ clock: ClockReading) throws(StorageError) {
    for app in apps
    where zonesToTrim.contains(app.zone) && !isOff(app.zone)
      && scope.includesWrites(to: app.zone)
    {
      zonesToTrim.remove(app.zone)
      for type in app.boundedTypes {
        let records = try transaction.records(zone: app.zone, type: type)
        for key in app.surplus(of: type, among: records) {
          _ = try edit(EditRequest(key: key, type: type) { _ throws(EditRefusal) in nil }, clock)
        }
      }
    }
  }

  mutating func storeDeviceNames(_ names: [DeviceID: String]) throws(StorageError) {
    let members = names.sorted { $0.key < $1.key }.prefix(Limits.devicesPerAccount).map {
      JSONMember($0.key.text, .string($0.value))
    }
    let text = JSONValue.object(members).text
    // The names are set again with each list of devices, and rarely differ.
    if try transaction.store.value(ReplicaState.deviceNamesKey) == text { return }
    transaction.setValue(ReplicaState.deviceNamesKey, text)
  }

  private func deviceNames() throws(StorageError) -> [DeviceID: String] {
    guard let text = try transaction.store.value(ReplicaState.deviceNamesKey),
      let members = Merging.value(Array(text.utf8))?.members
    else { return [:] }
    var names: [DeviceID: String] = [:]
    for member in members {
      if let device = DeviceID(text: member.name) { names[device] = member.value.string }
    }
    return names
  }

  private func app(_ name: String) -> (any App)? { apps.first { $0.name == name } }

  private static func noApp(_ name: String) -> EditFailure {
    .refused(
      EditRefusal(
        localized(
          "the process that holds this home has no app {app}; restart that process", ["app": name]))
    )
  }

  private func state(
    of app: any App, _ types: [Name], _ clock: ClockReading
  ) throws(StorageError) -> AppState {
    var records: [Record] = []
    for type in types { records += try transaction.records(zone: app.zone, type: type) }
    var names = try deviceNames()
    if let identity, names[identity.credentials.device] == nil {
      names[identity.credentials.device] = identity.deviceName
    }
    return AppState(
      records: records, asking: transaction.outbox.undecidedRecords(in: app.zone),
      now: clock.relayTime,
      device: device, deviceNames: names)
  }
}

/// Local first: an edit is written to the records and to the outbox in one transaction, without the
/// network.
extension ReplicaState {
  mutating func edit(_ request: EditRequest, _ clock: ClockReading) throws(StorageError)
    -> Result<Record, EditFailure>
  {
    switch try context(for: request.key, clock) {
    case .failure(let failure): return .failure(failure)
    case .success(let context):
      let value: JSONValue?
      do {
        value = try request.make(context)
      } catch {
        return .failure(.refused(error))
      }
      return try write(request.key, type: request.type, value, context, clock)
    }
  }

  /// Prepares an edit of the record: returns the record as it is now, and the edit's stamp.
  mutating func context(for key: RecordKey, _ clock: ClockReading)
    throws(StorageError) -> Result<EditContext, EditFailure>
  {
    guard identity != nil || editsBeforeJoining else { return .failure(.notJoined) }
    guard scope.includesWrites(to: key.zone) else { return .failure(.outOfScope(key.zone, scope)) }
    if let app = apps.first(where: { $0.zone == key.zone }),
      let question = try unansweredQuestion(of: app)
    {
      return .failure(question)
    }
    try restamp(clock)
    try makeDueEdits(of: key, clock)
    let held = try transaction.record(key)
    let current = held.flatMap { $0.isDeleted ? nil : $0 }
    return .success(
      EditContext(current: current, stamp: stamp(after: held, clock), device: device))
  }

  /// Writes an edit that was made in `context`.
  ///
  /// - Parameter value: The record's new fields; nil deletes it.
  mutating func write(
    _ key: RecordKey, type: Name, _ value: JSONValue?, _ context: EditContext,
    _ clock: ClockReading
  ) throws(StorageError) -> Result<Record, EditFailure> {
    guard value != nil || context.current != nil else {
      return .failure(.refused(EditRefusal("there is no record of that name to delete")))
    }
    let held = try transaction.record(key)
    let stamped = value.map { merging.stamped($0, of: type, over: held, in: key.zone, context) }
    let fields = stamped?.serialized()
    if let failure = failure(of: fields, type: type, for: key) { return .failure(failure) }
    guard key.zone != KeyRing.zone else {
      return .failure(
        .refused(EditRefusal("the zone \(key.zone.text) is for the account's keys alone")))
    }
    if sealing.isLocked(key.zone) {
      return .failure(
        .refused(
          EditRefusal(
            "the account's records are sealed, and this device does not have the keys: pair it "
              + "again with a code of a device that has them (lockstep agent pair), or restore "
              + "them from the phrase (lockstep agent key restore)")))
    }
    if let fields, sealing.isSealed(key.zone), namesUnsealedFiles(fields, type: type, at: key) {
      let reason = "zone \(key.zone.text) is sealed, and a file of the record is not"
      return .failure(.refused(EditRefusal(reason + "; attach it for a record of that zone")))
    }
    if let fields, let chunks = merging.chunks(in: fields, of: type, zone: key.zone),
      chunks.count > Limits.chunksPerRecord
    {
      return .failure(
        .refused(EditRefusal("a record names at most \(Limits.chunksPerRecord) chunks of files")))
    }
    recordOwnEdit(key.zone)
    return .success(
      try writeChange(
        key, type: value == nil ? context.current?.type ?? type : type, fields: fields,
        stamp: context.stamp, clock))
  }

  /// Applies a user's decision on a conflict.
  mutating func decide(_ key: RecordKey, keepLocal: Bool, _ clock: ClockReading)
    throws(StorageError) -> Result<Record, EditFailure>
  {
    guard var entry = transaction.outbox.open(key), case .asking(let server) = entry.state else {
      return .failure(.nothingToDecide)
    }
    // A version of tag 0 is one that the relay has lost, or means that the record is gone; the base
    // is then what the relay has.
    let isThere = server.tag > 0
    let isSealed = sealing.isSealed(key.zone)
    let hasNothing = server.isDeleted && (entry.base?.tag ?? 0) == 0
    if !keepLocal, isThere || hasNothing || isSealed {
      transaction.remove(entry)
      if isThere || isSealed {
        try transaction.put(
          server, replacing: [try transaction.record(key)], version: entry.lineage?.asked)
        // Meanwhile the relay has gone back behind that version, or has deleted it.
        if isSealed, !isThere {
          transaction.markLost(key)
          hasLostRecords = true
        }
      } else {
        try transaction.removeRecord(key)
      }
      return .success(server)
    }
    guard scope.includesWrites(to: key.zone) else { return .failure(.outOfScope(key.zone, scope)) }
    // The decision is a new edit, made with knowledge of both versions.
    recordOffsetIfUntrusted(clock)
    let held = try transaction.record(key)
    entry.modifiedAt = max(
      entry.modifiedAt + 1, max(stamp(after: held, clock), stamp(after: server, clock)))
    entry.isStampTrusted = clock.isTrusted
    entry.lineage = entry.lineage?.changed.resolved
    if isThere || isSealed {
      let tag = isThere ? server.tag : entry.base?.tag ?? 0
      entry.base = server
      entry.base?.tag = tag
    }
    if !keepLocal { (entry.type, entry.fields) = (server.type, server.fields) }
    entry.fields = merging.chosen(entry, over: server)
    entry.state = .waiting
    transaction.put(entry)
    let record = try self.record(of: entry, tag: entry.base?.tag ?? 0)
    try transaction.put(record, replacing: [held, server])
    return .success(record)
  }

  /// Makes the edits that are due, one after the other if one leads to the next.
  mutating func makeDueEdits(isConnected: Bool, _ clock: ClockReading) throws(StorageError) {
    guard identity != nil else { return }
    try restamp(clock)
    for _ in 0..<Limits.dueEdits {
      guard
        let (mark, time) = due.first(
          on: device.text, isConnected: isConnected, isClockTrusted: clock.isTrusted),
        time <= clock.relayTime
      else { return }
      guard let held = try transaction.record(mark.key), let edit = merging.dueEdit(for: held)
      else {
        due.set(nil, for: mark.key)
        continue
      }
      guard edit.dueAt == mark.dueAt else {
        // The record was stamped again just now, and its due time has moved with it.
        due.set(edit, for: mark.key)
        continue
      }
      let fields = edit.fields.serialized()
      guard failure(of: fields, type: held.type, for: mark.key) == nil else {
        // There is no room: the edit is made when this record is next examined.
        due.set(nil, for: mark.key)
        continue
      }
      let record = try writeChange(
        mark.key, type: held.type, fields: fields, stamp: stamp(after: held, clock),
        isMadeByTime: true,
        clock)
      try add(edit.addition, in: mark.key.zone, clock)
      let next = merging.dueEdit(for: record)
      // An edit that leads to itself would be repeated for ever.
      due.set(next == edit ? nil : next, for: mark.key)
    }
  }

  /// Makes the due edits of a record before the user's edit.
  private mutating func makeDueEdits(of key: RecordKey, _ clock: ClockReading) throws(StorageError)
  {
    for _ in 0..<Limits.dueEdits {
      guard let held = try transaction.record(key), let edit = dueEdit(for: held),
        clock.isTrusted || edit.owner == device.text, edit.dueAt <= stamp(after: held, clock)
      else { return }
      let fields = edit.fields.serialized()
      guard failure(of: fields, type: held.type, for: key) == nil else { return }
      _ = try writeChange(
        key, type: held.type, fields: fields, stamp: stamp(after: held, clock), isMadeByTime: true,
        clock)
      try add(edit.addition, in: key.zone, clock)
    }
  }

  /// Writes what a due edit adds to another record. Nothing is written if the record has it, so an
  /// edit that several devices make, or one makes twice, adds it once.
  private mutating func add(
    _ addition: DueAddition?, in zone: Name, _ clock: ClockReading
  ) throws(StorageError) {
    guard let addition else { return }
    let key = RecordKey(zone: zone, name: addition.name)
    let held = try transaction.record(key)
    let current = held.flatMap { $0.isDeleted ? nil : $0 }
    let fields = current?.value ?? [:]
    let object = fields[addition.field] ?? [:]
    guard object[addition.member.name] == nil,
      object.members?.count ?? 0 < Limits.dueAdditions
    else { return }
    let context = EditContext(
      current: current, stamp: stamp(after: held, clock), device: device)
    let added = fields.setting(addition.field, to: object.setting([addition.member]))
    let stamped = merging.stamped(added, of: addition.type, over: held, in: zone, context)
    let bytes = stamped.serialized()
    // If there is no room, the edit stands without it.
    guard failure(of: bytes, type: addition.type, for: key) == nil else { return }
    _ = try writeChange(key, type: addition.type, fields: bytes, stamp: context.stamp, clock)
  }

  /// Writes a local change: into the open entry, or into a new one.
  mutating func writeChange(
    _ key: RecordKey, type: Name, fields: [UInt8]?, stamp: Int64, isMadeByTime: Bool = false,
    _ clock: ClockReading
  ) throws(StorageError) -> Record {
    recordOffsetIfUntrusted(clock)
    let held = try transaction.record(key)
    let isLost = try isMarkedAsLost(key)
    let sent = transaction.outbox.sent(key)
    var entry: OutboxEntry
    var replaced: Record?
    if let open = transaction.outbox.open(key) {
      entry = open
      // Other devices may hold the version in the entry: the relay had it, or has it unanswered.
      if restore != nil || open.base?.isLost == true || open.firstSent != nil { replaced = held }
      if case .parked = open.state { entry.state = .waiting }
      entry.lineage = open.lineage?.changed
    } else {
      replaced = held
      entry = OutboxEntry(
        number: transaction.allocateNumber(), key: key, type: type, fields: nil, modifiedAt: stamp,
        isStampTrusted: clock.isTrusted,
        base: sent?.record(by: device, tag: 0) ?? held, state: .waiting,
        lineage: try newLineage(key))
      if isLost, let held {
        if sealing.isSealed(key.zone) { entry.base?.tag = 0 } else { entry.base = .lost(held) }
      }
    }
    entry.type = type
    entry.fields = fields
    entry.modifiedAt = stamp
    entry.isStampTrusted = clock.isTrusted
    if isMadeByTime { entry.timeMade = entry.record(by: device, tag: 0) }
    let record = try self.record(of: entry, tag: isLost ? 0 : held?.tag ?? 0)
    if fields == nil, entry.base == nil, sent == nil, entry.state == .waiting {
      // Created and deleted before it was sent.
      transaction.remove(entry)
      try transaction.removeRecord(key)
      return record
    }
    transaction.put(entry)
    try transaction.put(record, replacing: [replaced])
    return record
  }

  private mutating func recordOffsetIfUntrusted(_ clock: ClockReading) {
    if !clock.isTrusted { recordOffset(clock) }
  }

  /// Returns the reason that a change to these fields cannot be kept; nil if it can.
  private func failure(of fields: [UInt8]?, type: Name, for key: RecordKey) -> EditFailure? {
    let count = relayFieldsCount(fields, type: type, at: key)
    if count > Limits.recordBytes { return .tooLarge(bytes: count) }
    if let fields, fields.first != UInt8(ascii: "{") {
      return .refused(EditRefusal("a record's fields must be a JSON object"))
    }
    let outbox = transaction.outbox
    if outbox.open(key) == nil, outbox.entries.count >= Limits.outboxRecords { return .outboxFull }
    if outbox.bytes + count > Limits.outboxBytes { return .outboxFull }
    return nil
  }
}

/// Snapshots: the relay's records, page by page, and the handling of held records that they do not
/// name.
extension ReplicaState {
  /// Discards an invalid cursor. The store has no cursor until a whole snapshot is complete, so
  /// that a crash before that restarts it. `restoredThrough` and `lostThrough`: see `Refusal`.
  mutating func forgetCursor(
    restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in generation: UInt32?
  ) throws(StorageError) {
    recordLostCursor()
    if let restoredThrough {
      let held = min(try greatestTag(before: generation), lostThrough ?? .max)
      try beginRestore(Restore(through: restoredThrough, held: held))
      setLostCursor(lostCursor.map { LostCursor(token: $0.token, seenIn: generation) })
    }
    setPreRestoreTag(nil)
    position = .nothing
    overtaken = []
    answeredToken = nil
    transaction.setCursor(nil)
  }

  mutating func beginSnapshot() {
    snapshot += 1
    forgetUnreadable()
    transaction.beginSnapshot()
    forgetPositionsOfZonesOff()
    transaction.setValue(ReplicaState.snapshotKey, String(snapshot))
  }

  /// Detects held versions whose tags are in gaps of the relay's history: a relay whose store was
  /// reset since has assigned them. A device that was offline meanwhile, or has saved before it
  /// read, cannot detect this otherwise. Returns true if there are such versions, and a snapshot is
  /// needed.
  @discardableResult
  mutating func detectLosses(_ gaps: [TagGap]) throws(StorageError) -> Bool {
    guard !gaps.isEmpty else { return false }
    let held = try transaction.tags(after: gaps.map(\.after).min() ?? 0).sorted()
    let lost = gaps.filter { gap in
      let first = held.lowerBound { $0 <= gap.after }
      return first < held.count && gap.contains(held[first])
    }
    guard !lost.isEmpty else { return false }
    try beginRestore(Restore(lost: lost))
    return true
  }

  /// Handles records that the snapshot did not name: they are gone. Records with local edits stay,
  /// and are sent to the relay; records that the relay has lost wait to be saved again. After a
  /// restore of the relay, tombstones are kept.
  mutating func finishSnapshot(_ applied: inout Applied) throws(StorageError) {
    var unnamed: [UnnamedRecord] = []
    for record in try transaction.unnamed(bySnapshot: snapshot) {
      if transaction.outbox.holds(record.key) {
        try reconcileAbsent(record.key, &applied)
      } else if sealing.isSealed(record.key.zone) {
        // No device has deleted it. A device that may change nothing keeps it, and so does one for
        // which the relay says that it may no longer read the zone.
        guard scope.includesWrites(to: record.key.zone), !isOff(record.key.zone) else { continue }
        transaction.markLost(record.key)
        hasLostRecords = true
      } else if sealing.isLocked(record.key.zone) {
        // It may be there, sealed.
        continue
      } else if restore?.hasLost(record.tag) == true, scope.includesWrites(to: record.key.zone) {
        transaction.markLost(record.key)
        hasLostRecords = true
      } else if restore != nil, record.isDeleted {
        // Snapshots name no tombstones. A still older copy of the relay, which lacks the deletion,
        // may be put back later.
        continue
      } else if !isOff(record.key.zone) {
        unnamed.append(record)
      }
    }
    transaction.drop(unnamed)
    setLostCursor(nil)
    guard var restore else { return }
    restore.isSnapshotDone = true
    setRestore(restore)
  }

  /// Reconciles a local change to a record that the relay does not have.
  private mutating func reconcileAbsent(_ key: RecordKey, _ applied: inout Applied)
    throws(StorageError)
  {
    // The relay's answer decides about the change in flight, and about edits made on top of it.
    guard let entry = transaction.outbox.open(key), transaction.outbox.sent(key) == nil else {
      return
    }
    if sealing.isSealed(key.zone) { return isOff(key.zone) ? () : try rebase(entry, onTag: 0) }
    let nothing = Record.nothing(at: key, type: entry.type)
    if restore?.hasLost(entry.knownTag) == true {
      return try rebase(entry, on: .lost(entry.base ?? nothing))
    }
    guard !isOff(key.zone) else { return }
    // The record that the user was asked about was deleted since. Other changes meet the deletion
    // when they are sent.
    if case .asking(let asked) = entry.state, asked.tag > 0 {
      try reconcile(entry, nothing, &applied)
    }
  }
}

extension Record {
  /// Placeholder for a record that the relay does not have, not even as a tombstone.
  static func nothing(at key: RecordKey, type: Name) -> Record {
    var nothing = Record.nothing(at: key)
    nothing.type = type
    return nothing
  }

  /// Placeholder for a version that the relay had, and has lost.
  static func lost(_ version: Record) -> Record {
    var lost = nothing(at: version.key, type: version.type)
    lost.modifiedAt = version.modifiedAt
    return lost
  }

  /// True if it is a placeholder for a version that the relay has lost.
  var isLost: Bool { tag == 0 && modifiedAt > 0 }
}

/// Zones that a user has switched off: their changes are neither sent nor applied. When a zone is
/// switched on again, the device reads again from its former position, and conflicts are resolved
/// by the rules, as after a time without a network.
///
/// A batch that was sent before the zone was switched off is completed: only its answer shows if it
/// was saved.
extension ReplicaState {
  struct ZoneOff: Hashable {
    var zone: Name
    /// The device's position; nil if it had none, or a snapshot was read meanwhile.
    var since: ChangeToken?
  }

  static let zonesOffKey = "zones.off"
  /// Zones of the scope with which the cursor was reached; no value: all.
  static let zonesReadKey = "scope.zones"
  /// Zones that may be switched off at a time: far more than a home has apps. They need not have
  /// any records yet.
  static let zonesOffMax = 256

  func isOff(_ zone: Name) -> Bool { zonesOff.contains { $0.zone == zone } }

  /// Returns true if the setting was different before, and the device's new position if it went
  /// back.
  mutating func setSyncing(_ zone: Name, _ isOn: Bool) throws(StorageError)
    -> (Result<Bool, EditFailure>, movedTo: ChangePosition?)
  {
    guard identity != nil else { return (.failure(.notJoined), nil) }
    let index = zonesOff.firstIndex { $0.zone == zone }
    if isOn {
      guard let index else { return (.success(false), nil) }
      let off = zonesOff.remove(at: index)
      storeZonesOff()
      return (.success(true), movePositionBack(to: off.since))
    }
    guard index == nil else { return (.success(false), nil) }
    guard zonesOff.count < ReplicaState.zonesOffMax else {
      let reason = "\(zonesOff.count) zones are switched off already; switch one of them on first"
      return (.failure(.refused(EditRefusal(reason))), nil)
    }
    // The store's cursor does not cover records that are held back because of the batch in flight.
    zonesOff.append(ZoneOff(zone: zone, since: try transaction.store.cursor()))
    zonesOff.sort { $0.zone < $1.zone }
    storeZonesOff()
    return (.success(true), nil)
  }

  /// Returns nil if the device need not go back.
  mutating func movePositionBack(to since: ChangeToken?) -> ChangePosition? {
    guard position != .nothing else { return nil }
    overtaken = []
    guard let now = position.cursor, let since, now.covers(since) else {
      recordLostCursor()
      position = .nothing
      transaction.setCursor(nil)
      return position
    }
    let known = since.extendingHorizon(to: now.reach)
    position = .cursor(known)
    transaction.setCursor(known)
    return position
  }

  /// A snapshot skips zones that are off: they are read with another snapshot, once they are on.
  mutating func forgetPositionsOfZonesOff() {
    guard zonesOff.contains(where: { $0.since != nil }) else { return }
    for index in zonesOff.indices { zonesOff[index].since = nil }
    storeZonesOff()
  }

  /// Skips a record. But losses of a restored relay must be recorded now: they are not reported
  /// again once the zone is on.
  mutating func skipRecord(_ server: Record) throws(StorageError) {
    if let entry = transaction.outbox.open(server.key) {
      guard let restore, restore.hasLost(entry.knownTag) else { return }
      let isOlder = restore.precedesLoss(server.tag)
      let nothing = Record.nothing(at: server.key, type: entry.type)
      return try rebase(entry, on: isOlder ? server : .lost(entry.base ?? nothing))
    }
    guard let held = try transaction.record(server.key), try isLost(held), !held.isSame(as: server)
    else { return }
    transaction.markLost(server.key)
    hasLostRecords = true
  }

  /// Number of entries that wait for the relay, without those of zones that are off.
  var unsentWhileOn: Int {
    let summary = transaction.outbox.summary
    return summary.waiting.reduce(summary.unsent) { isOff($1.zone) ? $0 - $1.count : $0 }
  }

  /// Reads the account from its beginning after the home has joined it again for other zones. The
  /// cursor says nothing about zones that the relay has left out until now; records of zones that
  /// it leaves out from now on are not in the snapshot, and go.
  mutating func adoptScope() throws(StorageError) {
    let zones = DeviceScope(zones: scope.zones).storedText
    guard identity != nil, try transaction.store.value(Self.zonesReadKey) != zones else { return }
    transaction.setValue(Self.zonesReadKey, zones)
    _ = movePositionBack(to: nil)
  }

  // MARK: stored settings

  private mutating func storeZonesOff() {
    let list = zonesOff.map { off -> JSONValue in
      ["zone": .string(off.zone.text), "since": off.since.map { .string($0.text) } ?? .null]
    }
    transaction.setValue(ReplicaState.zonesOffKey, list.isEmpty ? nil : JSONValue.array(list).text)
  }

  mutating func loadZonesOff() throws(StorageError) {
    let text = try transaction.store.value(ReplicaState.zonesOffKey) ?? "[]"
    zonesOff = (Merging.value(Array(text.utf8))?.array ?? []).compactMap { off in
      guard let zone = off["zone"]?.string.flatMap({ Name($0) }) else { return nil }
      return ZoneOff(zone: zone, since: off["since"]?.string.flatMap { ChangeToken(text: $0) })
    }
  }
}
