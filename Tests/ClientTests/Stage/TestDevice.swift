import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

@testable import LockstepClient

/// A device on the stage: an agent, its store, and its reports.
final class TestDevice {
  let id: DeviceID
  let store = MemoryReplicaStore()
  private(set) var agent: Agent
  private var replica: Replica<FailingStore>
  private let failing: FailingStore
  private(set) var files = MemoryChunkStore()
  private unowned let stage: Stage
  private let configuration: AgentConfiguration
  private let apps: [any App]
  private var connections: [(id: ConnectionID, connection: TestConnection)] = []
  private(set) var reports: [AgentReport] = []
  private var nextOrder: UInt64 = 0
  private var seed: UInt64
  private(set) var isAlive = true
  /// True if the process is suspended; its events wait.
  private(set) var isSuspended = false
  private var waiting: [() throws -> Void] = []
  /// Hosts that lead to the relay of the stage, and all addresses that were tried, in order.
  var relayHosts = ["relay"]
  private(set) var tried: [PeerAddress] = []
  /// True to refuse connections.
  var isCutOff = false
  /// True to neither make nor refuse connections.
  var isBlackHole = false
  /// Wall clock minus true time, milliseconds.
  var clockError: Int64
  /// True to accept jobs and never do them, as in a process that is about to die.
  var isWorkerStuck = false
  private var stuck: [(id: JobID, job: AgentJob)] = []
  /// Bytes that each connection accepts at once; nil: all.
  var windowBytes: Int?
  /// Bytes of the relay's output that arrive at once; nil: all.
  var answerBytes: Int?
  /// Bytes that the connections have not accepted, and the greatest number that ever waited.
  private var unsent: [ConnectionID: [UInt8]] = [:]
  private(set) var unsentMax = 0
  private var bootedAt: Int64

  init(
    _ number: UInt64, _ stage: Stage, apps: [any App], transports: [Transport], clockError: Int64,
    reportsMilestones: Bool, scope: DeviceScope = .everything
  ) throws {
    id = DeviceID(rawValue: number)
    self.stage = stage
    self.apps = apps
    self.clockError = clockError
    seed = number
    bootedAt = stage.now - 5_000
    configuration = TestDevice.configuration(transports, reportsMilestones: reportsMilestones)
    try store.write([.setIdentity(TestDevice.identity(id, scope))])
    failing = FailingStore(store)
    replica = Replica(store: failing, apps: apps)
    agent = Agent(
      configuration, random: SeededRandom(seed: number),
      at: Moment(
        instant: Instant(nanoseconds: 5_000_000_000), wall: stage.now + clockError))
  }

  /// Identity of a device that is paired for this part of the account.
  static func identity(_ id: DeviceID, _ scope: DeviceScope) -> HomeIdentity {
    HomeIdentity(
      relay: "http://relay:5625",
      credentials: Credentials(
        account: TestRelay.account, device: id, token: "secret", scope: scope),
      deviceName: "device \(id.rawValue)")
  }

  var moment: Moment {
    Moment(
      instant: Instant(nanoseconds: (stage.now - bootedAt) * 1_000_000),
      wall: stage.now + clockError)
  }

  func trueTime(of instant: Instant) -> Int64 {
    bootedAt + (instant.nanoseconds + 999_999) / 1_000_000
  }

  // MARK: actions of a test

  @discardableResult
  func order(_ make: (OrderID) -> AgentOrder) throws -> OrderID {
    nextOrder += 1
    let id = OrderID(rawValue: nextOrder)
    try handle(.ordered(make(id)))
    return id
  }

  /// Gives a user's order to an app, and returns its result.
  @discardableResult
  func perform(_ app: String, _ order: JSONValue) throws -> Result<AppView, EditFailure>? {
    let id = try self.order { .perform($0, app: app, order) }
    return appAnswer(id)
  }

  func show(_ app: String, _ question: JSONValue) throws -> AppView? {
    let id = try order { .show($0, app: app, question) }
    return try appAnswer(id)?.get()
  }

  private func appAnswer(_ id: OrderID) -> Result<AppView, EditFailure>? {
    for case .answered(id, let result) in reports { return result }
    return nil
  }

  @discardableResult
  func edit(_ request: EditRequest) throws -> Result<Record, EditFailure>? {
    let id = try order { .edit($0, request) }
    return result(of: id)
  }

  func result(of id: OrderID) -> Result<Record, EditFailure>? {
    for case .edited(id, let result) in reports { return result }
    return nil
  }

  /// Changes a byte in the middle of a chunk on the disk.
  func damage(_ hash: ChunkHash) throws {
    guard let chunk = try store.chunks([hash]).first else { throw TestFault("no such chunk") }
    files.damage(
      ChunkFile(account: TestRelay.account, number: chunk.file), at: chunk.bytes / 2)
  }

  func fail(_ error: StorageError?) { failing.error = error }

  /// Kills the process: everything that is not in the store is lost.
  func crash() {
    isAlive = false
    for (_, connection) in connections { connection.cut() }
    connections = []
  }

  /// Starts a new process on the same store.
  func restart() throws {
    crash()
    isAlive = true
    isWorkerStuck = false
    seed += 1_000
    reports = []
    bootedAt = stage.now
    failing.error = nil
    replica = Replica(store: failing, apps: apps)
    files = files.reopened()
    agent = Agent(configuration, random: SeededRandom(seed: seed), at: moment)
    try drain()
  }

  /// Suspends the process.
  func suspend() { isSuspended = true }

  /// Resumes the process. A loop either reads the received data first and then reaches the
  /// deadline, or the other way round.
  func resume(readsFirst: Bool = false) throws {
    isSuspended = false
    if !readsFirst { try tick() }
    let events = waiting
    waiting = []
    for event in events { try event() }
    try tick()
  }

  private func whenAwake(_ event: @escaping () throws -> Void) throws {
    if isSuspended { waiting.append(event) } else { try event() }
  }

  /// Resets all connections.
  func cut() throws {
    let cut = connections
    connections = []
    for (id, connection) in cut {
      connection.cut()
      try whenAwake { [self] in try handle(.closed(id, .failed("connection reset"))) }
    }
  }

  // MARK: observations of a test

  func record(_ name: String) throws -> Record? { try store.record(.desk(name)) }
  func text(_ name: String) throws -> String? { try record(name)?.text }
  var status: AgentStatus { agent.status(at: moment) }

  var changes: [[Record]] {
    reports.compactMap { if case .changed(let records) = $0 { records } else { nil } }
  }

  var states: [AgentStatus.State] {
    reports.compactMap { if case .status(let status) = $0 { status.state } else { nil } }
  }

  var socketConnection: TestConnection? {
    connections.last { $0.connection.isSocket && !$0.connection.isCut }?.connection
  }

  func finishStuckJobs() throws {
    let jobs = stuck
    stuck = []
    for (id, job) in jobs {
      try handle(.finished(id, AgentWork.perform(job, on: &replica, files: files)))
    }
  }

  /// Performs only the stuck jobs on the files; later results are not reported.
  func finishStuckFileJobs() throws {
    while let index = stuck.firstIndex(where: { if case .file = $0.job { true } else { false } }) {
      let (id, job) = stuck.remove(at: index)
      try handle(.finished(id, AgentWork.perform(job, on: &replica, files: files)))
    }
  }

  func forgetReports() { reports = [] }

  // MARK: the driver

  func tick() throws {
    guard isAlive, !isSuspended, let deadline = agent.nextDeadline, deadline <= moment.instant
    else { return }
    try handle(.deadlineReached)
  }

  func handle(_ event: NodeEvent<AgentOutcome, AgentOrder, Never>) throws {
    guard isAlive else { return }
    agent.handle(event, at: moment)
    try drain()
  }

  func drain() throws {
    while isAlive, let action = agent.nextAction() {
      switch action {
      case .open(let id, let address): open(id, address)
      case .send(let id, let bytes): send(id, bytes)
      case .multicast: throw TestFault("agents do not multicast")
      case .close(let id, let manner):
        for (name, connection) in connections where name == id {
          // What was sent before is on its way.
          if manner == .afterSending { stage.later { connection.cut() } } else { connection.cut() }
        }
        connections.removeAll { $0.id == id }
      case .pauseReading, .resumeReading: break
      case .run(let id, let job):
        guard !isWorkerStuck else {
          stuck.append((id, job))
          continue
        }
        agent.handle(.finished(id, AgentWork.perform(job, on: &replica, files: files)), at: moment)
      case .report(let report): reports.append(report)
      }
    }
  }

  private func open(_ id: ConnectionID, _ address: PeerAddress) {
    guard !isBlackHole else { return }
    tried.append(address)
    guard case .host(let host, 5625) = address, relayHosts.contains(host), !isCutOff else {
      return stage.later { [self] in
        try handle(.closed(id, .connectFailed("connection refused")))
      }
    }
    let connection = stage.relay.connect(self.id)
    connection.host = host
    connections.append((id, connection))
    stage.later { [self] in
      guard connections.contains(where: { $0.id == id }) else { return }
      try handle(.opened(id, Opening(listenerKind: .outgoing, peer: address)))
    }
  }

  private func send(_ id: ConnectionID, _ bytes: [UInt8]) {
    guard let connection = connections.first(where: { $0.id == id })?.connection else { return }
    guard windowBytes != nil else { return stage.later { try connection.receive(bytes) } }
    let isFirst = unsent[id] == nil
    unsent[id, default: []] += bytes
    unsentMax = max(unsentMax, unsent[id]?.count ?? 0)
    // Like the loop, which reports unsent bytes at once.
    agent.handle(.drained(id, unsent: unsent[id]?.count ?? 0), at: moment)
    if isFirst { stage.later { [self] in try trickle(id, connection) } }
  }

  /// Moves some of the waiting bytes to the connection.
  private func trickle(_ id: ConnectionID, _ connection: TestConnection) throws {
    guard var rest = unsent[id], connections.contains(where: { $0.id == id }) else {
      unsent[id] = nil
      return
    }
    let taken = Array(rest.prefix(windowBytes ?? rest.count))
    rest.removeFirst(taken.count)
    unsent[id] = rest.isEmpty ? nil : rest
    try connection.receive(taken)
    try handle(.drained(id, unsent: rest.count))
    if unsent[id] != nil { stage.later { [self] in try trickle(id, connection) } }
  }

  /// Sends the relay's output to the device.
  func deliverOutput() throws {
    guard isAlive else { return }
    for (id, connection) in connections {
      let bytes = Array(connection.outgoing.prefix(answerBytes ?? .max))
      connection.outgoing.removeFirst(bytes.count)
      let isCut = connection.isCut && connection.outgoing.isEmpty
      if isCut { connections.removeAll { $0.id == id } }
      guard !bytes.isEmpty || isCut else { continue }
      stage.later { [self] in
        try whenAwake { [self] in
          guard isAlive else { return }
          if !bytes.isEmpty {
            agent.received(id, bytes.span.bytes, at: moment)
            try drain()
          }
          if isCut { try handle(.closed(id, .endOfStream)) }
        }
      }
    }
  }

  /// Shorter than usual, so that a test need not simulate a day.
  static let chunkKeepMilliseconds: Int64 = 20 * 60_000
  static let chunkCleanupMilliseconds: Int64 = 2 * 60_000

  private static func configuration(
    _ transports: [Transport], reportsMilestones: Bool
  ) -> AgentConfiguration {
    var configuration = AgentConfiguration()
    configuration.transports = transports
    configuration.reportsMilestones = reportsMilestones
    configuration.chunkKeepMilliseconds = chunkKeepMilliseconds
    configuration.chunkCleanupMilliseconds = chunkCleanupMilliseconds
    return configuration
  }
}
