import LockstepJSON
import LockstepModel
import LockstepStorage

@testable import LockstepClient

/// A replica alone, driven job by job.
struct ReplicaHarness {
  private(set) var store = MemoryReplicaStore()
  let device: DeviceID
  private let seed: UInt64
  private(set) var now: Int64 = 1_000_000
  var replica: Replica<MemoryReplicaStore>
  /// Outcome of the last job.
  private(set) var outcome: ReplicaOutcome
  private(set) var conflicts = 0
  private var nextBatch: UInt64 = 0
  private var cursor: Int64 = 1
  /// Generation of the relay's tokens.
  var generation: UInt32 = 1
  /// Relay time minus wall clock, as the agent would report it.
  var offset: Int64 = 0
  var isTrusted = true
  var isMeasured = true

  /// `seed`: for the ids of its versions; nil: one of its own for each device.
  init(device: UInt64 = 1, seed: UInt64? = nil) throws {
    self.device = DeviceID(rawValue: device)
    self.seed = seed ?? device
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://relay:1",
          credentials: Credentials(
            account: AccountID(rawValue: 7), device: self.device, token: "secret"),
          deviceName: "desk")),
      .setCursor(ChangeToken(generation: 1, sequence: 1)),
    ])
    replica = Replica(store: store, apps: [TestApp()])
    outcome = ReplicaOutcome(
      result: .success(.done), changed: [], outbox: OutboxSummary(), due: DueTimes())
  }

  var changed: [Record] { outcome.changed }
  var outbox: OutboxSummary { outcome.outbox }

  var clock: ClockReading {
    ClockReading(wall: now, offset: offset, isTrusted: isTrusted, isMeasured: isMeasured)
  }

  mutating func perform(_ task: ReplicaTask, offer: BatchOffer? = nil) {
    outcome = replica.perform(ReplicaJob(task: task, offer: offer, clock: clock))
    if case .success(.applied(let applied)) = outcome.result { conflicts += applied.conflicts }
  }

  @discardableResult
  mutating func edit(_ request: EditRequest) -> Result<Record, EditFailure> {
    perform(.edit(OrderID(rawValue: 1), request))
    return edited
  }

  mutating func decide(_ name: String, keepLocal: Bool) -> Result<Record, EditFailure> {
    perform(.decide(OrderID(rawValue: 1), .desk(name), keepLocal: keepLocal))
    return edited
  }

  private var edited: Result<Record, EditFailure> {
    switch outcome.result {
    case .success(.edited(_, let result)): result
    case .success: .failure(.nothingToDecide)
    case .failure(let error): .failure(.storage(error))
    }
  }

  mutating func freezeBatch(_ bounds: BatchBounds = BatchBounds()) -> SaveRequest? {
    nextBatch += 1
    let offer = BatchOffer(
      id: BatchID(high: 1, low: nextBatch), bounds: bounds,
      seed: seed << 32 | nextBatch)
    perform(.freezeBatch, offer: offer)
    return outcome.batch
  }

  mutating func pass(milliseconds: Int64) { now += milliseconds }

  /// Reports that the relay has these chunks.
  mutating func confirmChunks(_ hashes: [ChunkHash]) throws {
    perform(.chunks(.applyStatus(ChunkStatus(atRelay: hashes))))
  }

  mutating func freezeOneBatch(_ bounds: BatchBounds = BatchBounds()) throws -> SaveRequest {
    guard let batch = freezeBatch(bounds) else { throw TestFault("no batch") }
    return batch
  }

  mutating func answer(_ batch: SaveRequest, _ results: [MutationResult]) throws {
    let token = ChangeToken(generation: generation, sequence: cursor)
    perform(
      .apply([
        .answer(
          batch.id, SaveAnswer(since: token, token: token, results: results), isLink: true)
      ]))
  }

  /// Applies a page that follows the cursor.
  @discardableResult
  mutating func apply(_ records: [Record]) throws -> Applied? {
    cursor += 1
    return page(records, from: cursor - 1, to: cursor)
  }

  /// Reads all from the beginning, if the replica asks for that.
  mutating func readAgain(_ records: [Record]) {
    cursor = records.reduce(cursor) { max($0, $1.tag) }
    page(records, from: nil, to: cursor)
  }

  /// Applies the last page again, as after a lost push.
  mutating func reapply(_ records: [Record]) throws {
    page(records, from: cursor - 1, to: cursor)
  }

  @discardableResult
  mutating func page(_ records: [Record], from: Int64?, to: Int64, more: Bool = false) -> Applied? {
    let since = from.map { ChangeToken(generation: generation, sequence: $0) }
    return page(records, since: since, to: to, more: more)
  }

  @discardableResult
  mutating func page(
    _ records: [Record], since: ChangeToken?, to: Int64, more: Bool = false
  ) -> Applied? {
    let token = ChangeToken(generation: generation, sequence: to)
    perform(
      .apply([.page(ChangePage(since: since, token: token, more: more, changes: records))]))
    guard case .success(.applied(let applied)) = outcome.result else { return nil }
    return applied
  }

  /// Joins the account again, as the same device for a part of it.
  mutating func limit(to scope: DeviceScope) throws {
    guard var identity = try store.identity() else { throw TestFault("no identity") }
    identity.credentials.scope = scope
    perform(.join(OrderID(rawValue: 1), identity))
  }

  /// Joins the account again, as the same device.
  mutating func join(_ keys: JoinedKeys) throws {
    guard let identity = try store.identity() else { throw TestFault("no identity") }
    perform(.join(OrderID(rawValue: 1), identity, keys))
  }

  /// Gives the home a former state of its disk. The program has gone on meanwhile: it draws other
  /// random numbers than it did then.
  mutating func setBack(to former: MemoryReplicaStore, incarnation: String? = nil) {
    store = former.copy()
    store.incarnation = incarnation
    nextBatch += 1_000
    reopen()
  }

  /// Opens the same home in a new process.
  mutating func reopen() {
    replica = Replica(store: store, apps: [TestApp()])
    perform(.load)
  }

  /// Position that the home had when it was opened; nil after any other job.
  var loadedPosition: ChangeToken? {
    guard case .success(.loaded(let home)) = outcome.result else { return nil }
    return home.position.token
  }

  /// Reports that the relay was restored from a backup, and has what was read up to this tag.
  mutating func reportRestore(through: ChangeTag) {
    generation += 1
    perform(.forgetCursor(restoredThrough: through))
  }

  /// Performs all jobs with which the agent saves again what the relay has lost.
  mutating func bringBack() {
    while outbox.mayBringBack { perform(.bringBack) }
  }

  /// Sends all that waits to a relay that saves it. Returns the mutations sent, in order.
  mutating func sendAll(from tag: ChangeTag, _ bounds: BatchBounds = BatchBounds()) throws
    -> [Mutation]
  {
    var sent: [Mutation] = []
    while let batch = freezeBatch(bounds) {
      let first = tag + Int64(sent.count)
      try answer(
        batch,
        batch.mutations.enumerated().map { .saved(name: $1.name, tag: first + Int64($0)) })
      sent += batch.mutations
    }
    return sent
  }

  func tombstone(_ name: String, at modifiedAt: Int64, tag: ChangeTag) -> Record {
    record(name, TestApp.note, nil, at: modifiedAt, tag: tag)
  }

  func record(_ name: String, _ text: String, at modifiedAt: Int64, tag: ChangeTag) -> Record {
    record(name, TestApp.note, ["text": .string(text)], at: modifiedAt, tag: tag)
  }

  func record(
    _ name: String, _ type: Name, _ fields: JSONValue?, at modifiedAt: Int64, tag: ChangeTag
  ) -> Record {
    Record(
      zone: TestApp.zone, name: Name(trusted: name), type: type, fields: fields?.serialized(),
      modifiedAt: modifiedAt, device: DeviceID(rawValue: 2), tag: tag)
  }
}
