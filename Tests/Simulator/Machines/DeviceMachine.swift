import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepSealing
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// One device: its local store, and the process that runs on it at times.
package final class DeviceMachine {
  package let index: Int
  package let name: String
  package let credentials: Credentials
  package let store: WatchedReplicaStore
  package var clock: VirtualClock
  /// Status that the device last reported to its user.
  package private(set) var status: AgentStatus?
  package private(set) var driver: NodeDriver<Agent>?

  let environment: WorldEnvironment
  let watch: ReplicaWatch
  private var configuration: AgentConfiguration
  private let apps: [any App]
  var random: SeededRandom
  private let worker: ReplicaWorker
  package let files: FileWorker
  /// Number of requests to the relay: HTTP requests, and messages on a socket.
  package private(set) var requests = 0
  private var runBefore: Int64 = 0
  private var startedAt: Int64 = 0
  private var nextOrder: UInt64 = 1
  /// Chunk operations of the user.
  var chunkOperations = ChunkOperations()
  /// User actions behind the orders that were given, for the model.
  var pendingActions: [OrderID: UserAction] = [:]
  /// Sealed files of the account; nil if it has none. `vaultKeeper`: the copies that this device
  /// keeps of them; nil if it does not have the key.
  var sealedFiles: SealedFiles?
  var vaultKeeper: VaultKeeper?
  /// True if its user writes into the second sealed file.
  var writesJournal = false
  /// Injected bug, to prove that the checkers detect it.
  package var breakage: Breakage? {
    didSet {
      vaultKeeper?.acceptsPlain = breakage == .takesPlainForSealed
      store.breakage = breakage
      worker.trustsDeviceClock = breakage == .trustsDeviceClock
    }
  }
  private var changesReported = 0
  /// True if it makes a key of its own known to the account's other devices.
  private let hasOwnKey: Bool
  /// Continuations of the manual syncs that were ordered.
  private var pendingSyncs: [OrderID: () -> Void] = [:]
  /// True if the user has seen a question and will answer it.
  var isAnswering = false

  package init(
    index: Int, credentials: Credentials, environment: WorldEnvironment, watch: ReplicaWatch,
    clock: VirtualClock, configuration: AgentConfiguration, apps: [any App],
    random: SeededRandom, sealKeys: SealingKeys? = nil, hasOwnKey: Bool = false
  ) throws(StorageError) {
    self.index = index
    self.credentials = credentials
    self.environment = environment
    self.watch = watch
    self.clock = clock
    self.configuration = configuration
    self.apps = apps
    self.random = random
    self.hasOwnKey = hasOwnKey
    name = "device\(index)"
    store = WatchedReplicaStore(watch: watch)
    worker = ReplicaWorker(
      timeline: environment.timeline, random: self.random.branch(), store: store, apps: apps,
      watch: watch)
    worker.checkBatch = { [unowned store] in watch.checkedBatch($0, of: store) }
    files = FileWorker(timeline: environment.timeline, random: self.random.branch())
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://relay.test:5625", credentials: credentials, deviceName: name))
    ])
    guard let sealKeys else { return }
    // A home keeps the keys of its sealed zones in this form.
    try store.write([.setValue(key: "seal.keys", sealKeys.storedValue.text)])
  }

  package var isRunning: Bool { driver?.isAlive ?? false }

  /// Total run time of the device's processes, in nanoseconds.
  package var runTime: Int64 {
    runBefore + (driver == nil ? 0 : environment.timeline.now - startedAt)
  }

  /// True if the account's owner has signed the device out.
  package var isSignedOut: Bool { watch.isSignedOut }

  /// True if the device reports that it needs its user to go on.
  package var hasFailed: Bool {
    if case .failed = status?.state { true } else { false }
  }

  /// True if no job of the agent is in progress and all outcomes have been delivered.
  package var isAtRest: Bool {
    isRunning && driver?.isSuspended == false && worker.isIdle && files.isIdle
  }

  package func start() {
    guard !isRunning else { return }
    status = nil
    watch.resetScreen()
    var configuration = configuration
    configuration.firstNumber = UInt64(index) << 32
    let moment = clock.moment(at: environment.timeline.now)
    let agent = Agent(configuration, random: random.branch(), at: moment)
    let driver = NodeDriver(
      name: name, environment: environment, clock: { [unowned self] in clock }, node: agent)
    self.driver = driver
    worker.begin()
    if hasOwnKey { makeOwnKey(at: moment.wall) }
    pendingSyncs = [:]
    chunkOperations = ChunkOperations()
    pendingActions = [:]
    driver.onJob = { [unowned self, unowned driver] id, job in
      switch job {
      case .commit(let job):
        let action = job.order.flatMap { pendingActions.removeValue(forKey: $0) }
        worker.add(id, job, action: action) { id, outcome in
          driver.handle(.finished(id, .commit(outcome)))
        }
      case .file(let request):
        files.add(id, request) { id, outcome in driver.handle(.finished(id, .file(outcome))) }
      }
    }
    driver.onReport = { [unowned self] report in handleReport(report) }
    driver.onSend = { [unowned self] bytes in requests += RequestBudget.requests(in: bytes) }
    startedAt = environment.timeline.now
    environment.tally.note(.deviceStarted)
    environment.log(from: name, to: "", .note("starts"))
    driver.begin()
    vaultKeeper?.update(from: store, environment)
  }

  /// Kills the process after `actions` more actions, right before the next one.
  package func crash(afterActions actions: Int, isMachineGone: Bool) {
    guard let driver, isRunning else { return }
    driver.kill(afterActions: actions) { [unowned self, unowned driver] in
      endProcess(driver, isMachineGone: isMachineGone)
    }
  }

  package func crashNow(isMachineGone: Bool) {
    guard let driver, isRunning else { return }
    endProcess(driver, isMachineGone: isMachineGone)
  }

  private func endProcess(_ crashed: NodeDriver<Agent>, isMachineGone: Bool) {
    environment.log(from: name, to: "", .note("crashes"))
    crashed.kill()
    runBefore = runTime
    startedAt = environment.timeline.now
    worker.drop()
    files.drop()
    environment.network.removeNode(crashed, isMachineGone: isMachineGone)
    status = nil
  }

  package func order(_ order: AgentOrder) {
    driver?.handle(.ordered(order))
  }

  package func nextOrderID() -> OrderID {
    nextOrder += 1
    return OrderID(rawValue: nextOrder)
  }

  private func handleReport(_ report: AgentReport) {
    switch report {
    case .ready(let status), .status(let status), .statusRead(_, let status),
      .synced(_, let status):
      environment.log(from: name, to: "person", .note("status \(status.state)"))
      countTransitions(to: status)
      self.status = status
      if breakage == .saysInSyncEarly, status.state == .syncing { self.status?.state = .inSync }
      answer(status)
      if case .synced(let order, _) = report { pendingSyncs.removeValue(forKey: order)?() }
    case .edited(_, .success(let record)):
      if !isSignedOut { environment.tally.note(.edit) }
      environment.log(from: name, to: "person", .note("edited \(record.key.name)"))
      watch.checkShown([record])
      vaultKeeper?.update(from: store, environment)
    case .edited(_, .failure(let failure)):
      environment.tally.note(.editRefused)
      environment.log(from: name, to: "person", .note("not edited: \(failure)"))
    case .changed(let records):
      environment.log(from: name, to: "person", .note("shows \(records.map(\.key.name))"))
      watch.checkReported(records)
      vaultKeeper?.update(from: store, environment)
      changesReported += 1
      if breakage == .tellsTwice, changesReported % 5 == 0 { watch.checkReported(records) }
    case .moved: environment.tally.note(.deviceFollowed)
    case .transacted, .joined, .stateRead, .answered, .switched, .read, .chunkProgress, .milestone:
      break
    case .chunkAdded(let order, let result): chunkAdded(order, result)
    case .chunkRead(let order, let result): chunkRead(order, result)
    case .storeFailed(let error):
      environment.log(from: name, to: "person", .note("store failed: \(error)"))
      onStoreFailure()
    case .stopped: status = nil
    }
  }

  /// Syncs as its user, and then calls `completion`; never if the process dies before.
  func sync(then completion: @escaping () -> Void) {
    let id = nextOrderID()
    pendingSyncs[id] = completion
    order(.syncNow(id))
  }

  /// Makes the device's own key known before its agent starts, as a program does that opens a home.
  private func makeOwnKey(at wall: Int64) {
    var random = SeededRandom(seed: credentials.device.rawValue)
    let secret = (0..<X25519PrivateKey.byteCount).map { _ in
      UInt8(truncatingIfNeeded: random.next())
    }
    do throws(StorageError) {
      try worker.makeDeviceKey(secret, wall: wall)
    } catch {
      environment.log(from: name, to: "person", .note("has no key of its own: \(error)"))
    }
  }

  private func countTransitions(to new: AgentStatus) {
    if !new.blockedZones.isEmpty, status?.blockedZones != new.blockedZones {
      environment.tally.note(.zoneBlocked)
    }
    if case .failed = new.state, status?.state != new.state { environment.tally.note(.planGone) }
  }

  /// Reaction of the user to a failure of the store; set by `World`.
  package var onStoreFailure: () -> Void = {}
}

/// Performs a replica's jobs one after the other, as its thread would.
final class ReplicaWorker {
  typealias Completion = (JobID, ReplicaOutcome) -> Void

  private struct Work {
    var id: JobID
    var job: ReplicaJob
    /// User action behind the job, for the model; nil if no user acted.
    var action: UserAction?
    var completion: Completion
  }

  private let worker: VirtualWorker<Work>
  private let replica: ReplicaBox

  private final class ReplicaBox {
    var replica: Replica<WatchedReplicaStore>
    let make: () -> Replica<WatchedReplicaStore>

    /// Injected bug, to prove that the checkers detect it.
    var trustsDeviceClock = false
    /// Returns a batch as it leaves the device.
    var checkBatch: (SaveRequest) -> SaveRequest = { $0 }

    init(_ make: @escaping () -> Replica<WatchedReplicaStore>) {
      self.make = make
      replica = make()
    }

    func perform(_ job: ReplicaJob) -> ReplicaOutcome {
      var job = job
      if trustsDeviceClock { (job.clock.offset, job.clock.isTrusted) = (0, true) }
      var outcome = replica.perform(job)
      outcome.batch = outcome.batch.map(checkBatch)
      return outcome
    }
  }

  init(
    timeline: Timeline, random: SeededRandom, store: WatchedReplicaStore, apps: [any App],
    watch: ReplicaWatch
  ) {
    let replica = ReplicaBox { Replica(store: store, apps: apps) }
    self.replica = replica
    worker = VirtualWorker(
      timeline: timeline, random: random,
      pace: .init(
        effect: Span.microseconds(20)...Span.milliseconds(2),
        outcome: Span.microseconds(10)...Span.milliseconds(1),
        portions: WorkPortions(cost: 1, lightCost: 1))
    ) { works in
      let outcomes = works.map { work in
        watch.action = work.action
        defer { watch.action = nil }
        return replica.perform(work.job)
      }
      return {
        for (work, outcome) in zip(works, outcomes) { work.completion(work.id, outcome) }
      }
    }
  }

  var isIdle: Bool { worker.isIdle }

  var trustsDeviceClock: Bool {
    get { replica.trustsDeviceClock }
    set { replica.trustsDeviceClock = newValue }
  }

  var checkBatch: (SaveRequest) -> SaveRequest {
    get { replica.checkBatch }
    set { replica.checkBatch = newValue }
  }

  func makeDeviceKey(_ secret: [UInt8], wall: Int64) throws(StorageError) {
    try replica.replica.makeDeviceKey(secret, wall: wall)
  }

  /// Starts a new process: the replica's memory is read from its store again.
  func begin() { replica.replica = replica.make() }

  func add(_ id: JobID, _ job: ReplicaJob, action: UserAction?, completion: @escaping Completion) {
    worker.add(Work(id: id, job: job, action: action, completion: completion))
  }

  func drop() { worker.drop() }
}
