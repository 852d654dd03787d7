import Lockstep
import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage

/// A device in a world: its store, and the agent that runs on it.
final class WorldDevice {
  private let name: String
  private let number: Int
  private let models: [any SyncedRecord.Type]
  private let apps: [RecordsApp]
  private let relay: VirtualRelay
  private let store = MemoryReplicaStore()
  private let files = MemoryChunkStore()
  private var clock = VirtualClock()
  private var random: SeededRandom
  private var driver: NodeDriver<Agent>?
  private var status: AgentStatus?
  private var isOnline = true
  private var orders: UInt64 = 0
  private var starts: UInt64 = 0
  private var result: Result<[LockstepModel.Record], EditFailure>?
  private var decision: Result<LockstepModel.Record, EditFailure>?
  /// Number of reports about changed records so far.
  private(set) var changes = 0

  init(
    _ name: String, number: Int, models: [any SyncedRecord.Type], apps: [RecordsApp],
    relay: VirtualRelay, random: SeededRandom
  ) throws(StorageError) {
    self.name = name
    self.number = number
    self.models = models
    self.apps = apps
    self.relay = relay
    self.random = random
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://relay.test:5625", credentials: try relay.addDevice(), deviceName: name))
    ])
    start()
  }

  /// True if the device has nothing to send or to receive, or is off the network.
  var isSettled: Bool {
    guard isOnline else { return true }
    switch status?.state {
    case .inSync, .needsPerson, .asleep: return status?.waiting == 0
    case nil, .starting, .syncing, .offline, .failed, .stopped: return false
    }
  }

  // MARK: the process

  private func start() {
    starts += 1
    status = nil
    var configuration = AgentConfiguration()
    configuration.firstNumber = UInt64(number) << 40 | starts << 32
    let environment = relay.environment
    let driver = NodeDriver(
      name: name, environment: environment, clock: { [unowned self] in clock },
      node: Agent(
        configuration, random: random.branch(), at: clock.moment(at: environment.timeline.now)))
    self.driver = driver
    var replica = Replica(store: store, apps: apps)
    let files = files
    driver.onJob = { [unowned driver] id, job in
      // The effect is durable at once; its outcome is known a little later.
      let outcome = AgentWork.perform(job, on: &replica, files: files)
      environment.timeline.after(Span.microseconds(300)) { [weak driver] in
        // The process that waits for it may have ended.
        if let driver, driver.isAlive { driver.handle(.finished(id, outcome)) }
      }
    }
    driver.onReport = { [unowned self] report in handle(report) }
    relay.setReachable(isOnline, from: driver)
    driver.begin()
  }

  func restart() {
    if let driver {
      driver.kill()
      relay.environment.network.removeNode(driver, isMachineGone: false)
    }
    start()
  }

  func cut() {
    isOnline = false
    guard let driver else { return }
    relay.setReachable(false, from: driver)
    relay.environment.network.cutAll(of: driver)
  }

  func heal() {
    isOnline = true
    guard let driver else { return }
    relay.setReachable(true, from: driver)
    // A device notices that its network is back.
    driver.handle(.ordered(.goOffline))
    driver.handle(.ordered(.goOnline))
  }

  func setClockError(milliseconds: Int64) {
    clock = VirtualClock(
      start: clock.start, driftPartsPerMillion: clock.driftPartsPerMillion,
      offsetMilliseconds: milliseconds)
  }

  private func handle(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .synced(_, let status),
      .statusRead(_, let status):
      self.status = status
    case .changed: changes += 1
    case .transacted(_, let result): self.result = result
    case .edited(_, let result): decision = result
    case .joined, .moved, .answered, .switched, .read, .stateRead, .chunkAdded, .chunkRead,
      .chunkProgress, .milestone, .storeFailed, .stopped:
      break
    }
  }

  // MARK: records

  /// Makes an edit, and waits in virtual time until it is durable.
  func edit(_ body: @escaping @Sendable (RecordEdits) throws -> Void) throws {
    result = nil
    orders += 1
    let fault = ThrownError()
    driver?.handle(
      .ordered(RecordEdits.order(OrderID(rawValue: orders), models, fault: fault, body)))
    let end = relay.environment.timeline.now + Span.seconds(60)
    while result == nil, relay.environment.timeline.step(until: end) {}
    guard let result else { throw Self.noAnswer }
    if case .failure(let failure) = result { throw fault.error ?? LockstepError(failure) }
  }

  private static let noAnswer = LockstepError.storage(reason: "the device did not answer")

  func undecidedConflicts<Model: SyncedRecord>(_ type: Model.Type) throws -> [UndecidedConflict] {
    try store.outbox().compactMap { entry in
      guard case .asking(let relay) = entry.state, entry.key.zone.text == type.zone,
        relay.type.text == type.recordType
      else { return nil }
      let local = try store.record(entry.key)
      return UndecidedConflict(
        entry.key, local: local.flatMap { $0.isDeleted ? nil : $0 }, relay: relay)
    }
  }

  /// Decides a conflict, and waits in virtual time until the decision is durable.
  func decide(_ conflict: UndecidedConflict, keep side: ConflictSide) throws {
    decision = nil
    orders += 1
    driver?.handle(
      .ordered(.decide(OrderID(rawValue: orders), conflict.key, keepLocal: side == .local)))
    let end = relay.environment.timeline.now + Span.seconds(60)
    while decision == nil, relay.environment.timeline.step(until: end) {}
    switch decision {
    case nil: throw Self.noAnswer
    case .success: return
    case .failure(.nothingToDecide): throw LockstepError.nothingToDecide(id: conflict.id)
    case .failure(let failure): throw LockstepError(failure)
    }
  }

  func records<Model: SyncedRecord>(_ type: Model.Type) throws -> [Model] {
    guard let zone = Name(type.zone), let name = Name(type.recordType) else { return [] }
    return try store.records(zone: zone, type: name).compactMap { try Model.decoded($0) }
  }
}
