import LockstepCrypto
import LockstepModel
import LockstepRelay
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// The relay's machine: one process with one or more nodes on one store, and the workers between
/// them. It can crash and start again; what was not committed is lost then.
///
/// With `hasSeveralRelays`: several relays that share the store, each with one node. They notify
/// each other of changed accounts over a bus that is slow and loses messages, and each can crash
/// alone.
package final class RelayMachine {
  package let store: WatchedZoneStore
  /// Name of the machine in the network, and in logs.
  let host: String
  private let name: String
  private var files = MemoryChunkStore()
  package var clock: VirtualClock
  package private(set) var isUp = false

  /// Orders of the relay's owner that the store has not done yet; the first may be in progress.
  private var pendingOrders: [CommitRequest] = []
  private var runningJob: JobID?
  /// Calls that wait for their outcome.
  private var calls: [JobID: (StoreCommitOutcome) -> Void] = [:]
  private var lastJobNumber: UInt64 = 0
  private let environment: WorldEnvironment
  private let nodes: Int
  private let hasSeveralRelays: Bool
  private var random: SeededRandom
  private var configuration: RelayConfiguration
  private var drivers: [NodeDriver<RelayNode>] = []
  private var commits: VirtualWorker<Waiting<StoreCommitJob>>?
  private var reads: VirtualWorker<Waiting<StoreReadJob>>?
  private var fileJobs: VirtualWorker<Waiting<StoreFileJob>>?
  /// Mailboxes of each node: news and outcomes of commits, outcomes of reads, outcomes of file
  /// jobs.
  private var mailboxes: [(commits: VirtualMailbox, reads: VirtualMailbox, files: VirtualMailbox)] =
    []
  /// Between several relays; nil if there is only one.
  private var bus: VirtualBus?
  private var stopped = 0
  /// Number of nodes that were asked to stop; nil if none was.
  private var stopping: Int?
  /// Virtual time until which commits are slow. `isSlownessMet`: true if a commit has been slow.
  private var slowUntil: Int64 = 0
  private var isSlownessMet = true
  private var commitsDone = 0
  /// Injected bug, to prove that the checkers detect it.
  package var breakage: Breakage?

  private struct Waiting<Job> {
    /// Index of the node; nil if the relay's owner asked and no node waits for the outcome.
    var node: Int?
    var driver: NodeDriver<RelayNode>?
    var id: JobID
    var job: Job
  }

  package init(
    environment: WorldEnvironment, store: WatchedZoneStore, clock: VirtualClock, nodes: Int,
    hasSeveralRelays: Bool = false, cell: Int = 0, configuration: RelayConfiguration,
    random: SeededRandom
  ) {
    host = cell == 0 ? "relay.test" : "relay\(cell).test"
    name = cell == 0 ? "relay" : "cell\(cell)-relay"
    self.environment = environment
    self.store = store
    self.clock = clock
    self.nodes = nodes
    self.hasSeveralRelays = hasSeveralRelays
    self.configuration = configuration
    self.random = random
  }

  /// Greatest number of store requests that ever waited.
  package var waitingMax: Int {
    max(commits?.waitingMax ?? 0, reads?.waitingMax ?? 0, fileJobs?.waitingMax ?? 0)
  }

  /// Address that the devices get.
  var url: String { "http://\(host):5625" }

  package func isRelayNode(_ driver: some AnyNode) -> Bool { drivers.contains { $0 === driver } }

  package var liveNodes: [any AnyNode] { drivers.filter(\.isAlive) }

  /// Returns the node that the system gives a new connection to; nil if no node listens.
  package func listener() -> (any AnyNode)? {
    let living = drivers.filter(\.isAlive)
    return isUp && !living.isEmpty ? random.one(of: living) : nil
  }

  package func start() {
    guard !isUp else { return }
    isUp = true
    stopped = 0
    stopping = nil
    beginRun()
    startWorker()
    drivers = (0..<nodes).map { driver(at: $0) }
    if hasSeveralRelays { bus = VirtualBus(environment: environment, random: random.branch()) }
    environment.log(from: name, to: "", .note("starts"))
    for driver in drivers { driver.begin() }
    for (node, driver) in drivers.enumerated() { bus?.join(node, driver) }
    runningJob = nil
    performNextOrder()
  }

  /// Opens the store under a new number, as each relay does before it writes.
  private func beginRun() {
    store.begin(
      run: OpeningNumber.make(
        wall: clock.moment(at: environment.timeline.now).wall, random: random.next()))
  }

  private func driver(at index: Int) -> NodeDriver<RelayNode> {
    var configuration = configuration
    configuration.node = hasSeveralRelays ? 0 : index
    configuration.nodes = hasSeveralRelays ? 1 : nodes
    configuration.sharesStore = hasSeveralRelays
    let secrets = SeededSecrets(random.branch())
    let node = RelayNode(
      configuration: configuration, secrets: SecretSource { secrets.bytes($0) },
      random: random.branch())
    let driver = NodeDriver(
      name: "\(name)\(index)", environment: environment, clock: { [unowned self] in clock },
      node: node)
    driver.onJob = { [unowned self, unowned driver] id, job in
      switch job {
      case .commit(let job):
        commits?.add(Waiting(node: index, driver: driver, id: id, job: job))
      case .read(let job): reads?.add(Waiting(node: index, driver: driver, id: id, job: job))
      case .file(let job): fileJobs?.add(Waiting(node: index, driver: driver, id: id, job: job))
      }
    }
    driver.onNews = { [unowned self] news in
      if !hasSeveralRelays { broadcastToOthers(news, from: index) }
    }
    driver.onReport = { [unowned self] report in
      if case .stopped = report { stopped += 1 }
      environment.log(from: "\(name)\(index)", to: "", .note("reports \(report)"))
    }
    return driver
  }

  /// Kills one of several relays and starts another in its place after this time. Its requests to
  /// the store may still be done, but no outcome is delivered. Returns false if there is only one
  /// relay.
  package func crashOne(milliseconds: Int64) -> Bool {
    guard hasSeveralRelays, isUp, stopping == nil, liveNodes.count == nodes else { return false }
    let index = random.count(in: 0...nodes - 1)
    let dead = drivers[index]
    dead.kill()
    environment.network.removeNode(dead, isMachineGone: false)
    environment.log(from: dead.name, to: "", .note("crashes"))
    environment.timeline.after(Span.milliseconds(milliseconds)) { [unowned self] in
      guard isUp, stopping == nil, drivers[index] === dead else { return }
      beginRun()
      drivers[index] = driver(at: index)
      drivers[index].begin()
      bus?.join(index, drivers[index])
    }
    return true
  }

  /// Kills the process. `isMachineGone`: its peers are not notified.
  package func crash(isMachineGone: Bool) {
    guard isUp else { return }
    isUp = false
    bus?.close()
    bus = nil
    environment.log(from: name, to: "", .note(isMachineGone ? "loses power" : "crashes"))
    for driver in drivers {
      driver.kill()
      environment.network.removeNode(driver, isMachineGone: isMachineGone)
    }
    commits?.drop()
    calls = [:]
    reads?.drop()
    fileJobs?.drop()
    store.crash()
    files = files.reopened()
  }

  /// Asks the process to end. It ends when all nodes are done, or when the time limit is reached.
  package func stop() {
    guard isUp else { return }
    environment.log(from: name, to: "", .note("is asked to stop"))
    let living = drivers.filter(\.isAlive)
    stopping = living.count
    for driver in living { driver.deliverSignal(.stopping) }
    let limit = environment.timeline.now + Span.milliseconds(Limits.drainMilliseconds + 2_000)
    let asked = drivers.map(\.number)
    func checkStopped() {
      guard isUp, drivers.map(\.number) == asked else { return }
      if stopped == stopping {
        crash(isMachineGone: false)
      } else if environment.timeline.now >= limit {
        environment.fault("the relay did not stop within its time")
        crash(isMachineGone: false)
      } else {
        environment.timeline.after(Span.milliseconds(50)) { checkStopped() }
      }
    }
    checkStopped()
  }

  /// Adds an order of the relay's owner: done by the running relay, or else on its store.
  package func administer(_ request: CommitRequest) {
    pendingOrders.append(request)
    performNextOrder()
  }

  /// Performs a request as for a client without a connection of its own. `completion` is not called
  /// if the relay does not run, or crashes before the answer.
  package func call(
    _ request: CommitRequest, completion: @escaping (StoreCommitOutcome) -> Void
  ) {
    guard let commits, isUp else { return }
    lastJobNumber += 1
    let id = JobID(rawValue: lastJobNumber)
    calls[id] = completion
    let job = StoreCommitJob(request, by: CommitOrigin(node: 0, connection: nil))
    commits.add(Waiting(id: id, job: job))
  }

  /// Performs a request of another process on the store, such as that of the owner's command, and
  /// announces what the nodes must know.
  func commit(_ request: CommitRequest) throws(StorageError) -> CommitResult? {
    let wall = clock.moment(at: environment.timeline.now).wall
    let job = StoreCommitJob(request, by: CommitOrigin(node: 0, connection: nil))
    guard let finished = StoreWork.commit([job], on: store, wall: wall).first else { return nil }
    if let news = finished.news, isUp { broadcast(news, from: nil) }
    return try finished.outcome.get()
  }

  /// Copies the chunk files of an account that this machine lacks.
  func receiveFiles(of account: AccountID, from source: RelayMachine) throws(StorageError) {
    let held = Set(files.files)
    for file in source.files.files where file.account == account && !held.contains(file) {
      guard
        case .bytes(let bytes) = try source.files.perform(
          .read(file, offset: 0, count: Limits.chunkBytes)),
        let hash = ChunkHash(bytes: SHA256.hash(bytes))
      else { continue }
      _ = try files.perform(.append(file, bytes))
      _ = try files.perform(.finish(file, expecting: hash))
    }
  }

  /// True if the store has done all orders of the owner.
  package var hasNoOrders: Bool { pendingOrders.isEmpty }

  /// Performs the owner's orders in the order in which they were given, so that a plan that is
  /// renewed after it expired ends renewed. Repeats each until the store has done it.
  private func performNextOrder() {
    while runningJob == nil, let request = pendingOrders.first {
      lastJobNumber += 1
      let id = JobID(rawValue: lastJobNumber)
      runningJob = id
      let job = StoreCommitJob(request, by: CommitOrigin(node: 0, connection: nil))
      if let commits, isUp {
        commits.add(Waiting(id: id, job: job))
      } else {
        let wall = clock.moment(at: environment.timeline.now).wall
        for finished in StoreWork.commit([job], on: store, wall: wall) {
          handleOutcome(id, finished.outcome)
        }
      }
    }
  }

  private func handleOutcome(_ id: JobID, _ outcome: StoreCommitOutcome) {
    if let completion = calls.removeValue(forKey: id) { return completion(outcome) }
    guard runningJob == id else { return }
    if case .failure = outcome {
      return environment.timeline.after(Span.seconds(1)) { [unowned self] in
        guard runningJob == id else { return }
        runningJob = nil
        performNextOrder()
      }
    }
    runningJob = nil
    pendingOrders.removeFirst()
  }

  /// Returns a copy of the chunk files, to be restored with the store.
  package func copyFiles() -> MemoryChunkStore { files.reopened() }

  package func restoreFiles(_ files: MemoryChunkStore) { self.files = files.reopened() }

  /// Makes each commit take up to `nanoseconds` longer until this time.
  package func slowDown(until time: Int64, by nanoseconds: Int64) {
    slowUntil = time
    isSlownessMet = false
    commits?.slowDown(until: time, by: nanoseconds)
  }

  /// Returns the bytes of a chunk, as a download would; nil if the account does not have it.
  package func chunk(_ hash: ChunkHash, of account: AccountID) throws(StorageError) -> [UInt8]? {
    guard case .chunk(let chunk) = try store.read(.chunk(account, hash)),
      case .bytes(let bytes) = try files.perform(.read(chunk.file, offset: 0, count: chunk.bytes))
    else { return nil }
    return bytes
  }

  /// Stops reading from the relay's connections for this time. Returns true if it has any.
  package func stall(nanoseconds: Int64) -> Bool {
    drivers.reduce(false) { environment.network.stallAll(of: $1, nanoseconds: nanoseconds) || $0 }
  }
}

// Workers, one per lane, and the delivery of their outcomes.
extension RelayMachine {
  private func startWorker() {
    let timeline = environment.timeline
    let swift = Span.microseconds(20)...Span.microseconds(500)
    commits = VirtualWorker(
      timeline: timeline, random: random.branch(),
      pace: .init(
        effect: Span.microseconds(50)...Span.milliseconds(3),
        outcome: Span.microseconds(50)...Span.milliseconds(2),
        // Small, so that many jobs have to wait.
        portions: WorkPortions(cost: 12, lightCost: 3)),
      weigh: { StoreWork.weight(of: $0.job) }, perform: { [unowned self] in commit($0) })
    reads = VirtualWorker(
      timeline: timeline, random: random.branch(),
      pace: .init(
        effect: swift, outcome: swift, portions: WorkPortions(cost: 4, lightCost: 1)),
      weigh: { StoreWork.weight(of: $0.job) }, perform: { [unowned self] in read($0) })
    fileJobs = VirtualWorker(
      timeline: timeline, random: random.branch(),
      pace: .init(
        effect: Span.microseconds(50)...Span.milliseconds(5), outcome: swift,
        portions: WorkPortions(cost: 4, lightCost: 1)),
      weigh: { StoreWork.weight(of: $0.job) }, perform: { [unowned self] in handleFiles($0) })
    mailboxes = (0..<nodes).map { _ in
      (
        VirtualMailbox(
          timeline: timeline, random: random.branch(), delay: 1_000...Span.milliseconds(2)),
        VirtualMailbox(
          timeline: timeline, random: random.branch(), delay: 1_000...Span.milliseconds(2)),
        VirtualMailbox(
          timeline: timeline, random: random.branch(), delay: 1_000...Span.milliseconds(2))
      )
    }
  }

  /// Performs the waiting jobs of all nodes in one transaction.
  private func commit(_ waiting: [Waiting<StoreCommitJob>]) -> () -> Void {
    let wall = clock.moment(at: environment.timeline.now).wall
    if !isSlownessMet, environment.timeline.now <= slowUntil { environment.countFault(.slowStore) }
    isSlownessMet = true
    if breakage == .tellsBeforeCommit {
      let early = StoreWork.commit(waiting.map(\.job), on: store.preview(), wall: wall)
      for news in early.compactMap(\.news) { broadcast(news, from: nil) }
    }
    let finished = StoreWork.commit(waiting.map(\.job), on: store, wall: wall)
    return { [unowned self] in
      for (work, finished) in zip(waiting, finished) {
        commitsDone += 1
        if let news = finished.news, !(breakage == .missesWakes && commitsDone % 5 == 0) {
          broadcast(news, from: work.node)
        }
        if let node = work.node, let driver = work.driver {
          mailboxes[node].commits.post {
            driver.handle(.finished(work.id, .commit(finished.outcome)))
          }
        } else {
          handleOutcome(work.id, finished.outcome)
        }
      }
      performNextOrder()
    }
  }

  private func read(_ waiting: [Waiting<StoreReadJob>]) -> () -> Void {
    let wereRegistered = waiting.map { work in
      guard let node = work.node,
        case .read(.followAccounts(let accounts, let leaving, _)) = work.job
      else { return true }
      return bus?.follow(accounts, leaving: leaving, by: node) ?? true
    }
    let outcomes = zip(waiting, wereRegistered).map { work, wasRegistered in
      let outcome = StoreWork.read(work.job, on: store)
      guard case .read(.success(.accountVersions(let versions, let relays, _))) = outcome else {
        return outcome
      }
      return .read(
        .success(
          .accountVersions(versions, relays: relays, wasRegistered: wasRegistered)))
    }
    return { [unowned self] in
      for (work, outcome) in zip(waiting, outcomes) {
        guard let node = work.node, let driver = work.driver else { continue }
        mailboxes[node].reads.post { driver.handle(.finished(work.id, .read(outcome))) }
      }
    }
  }

  private func handleFiles(_ waiting: [Waiting<StoreFileJob>]) -> () -> Void {
    let outcomes = waiting.map { StoreWork.perform($0.job, on: files) }
    return { [unowned self] in
      for (work, outcome) in zip(waiting, outcomes) {
        guard let node = work.node, let driver = work.driver else { continue }
        mailboxes[node].files.post { driver.handle(.finished(work.id, .file(outcome))) }
      }
    }
  }

  private func post(_ event: NodeDriver<RelayNode>.Event, to node: Int) {
    let driver = drivers[node]
    mailboxes[node].commits.post { driver.handle(event) }
  }

  /// Sends the news of a commit to all nodes. `origin`: the node that asked for it; nil: the owner.
  private func broadcast(_ news: RelayNews, from origin: Int?) {
    guard let bus else {
      for node in 0..<nodes { post(.news(news), to: node) }
      return
    }
    if let origin { post(.news(news), to: origin) }
    if let change = news.noticed { bus.send(change, from: origin) }
  }

  private func broadcastToOthers(_ news: RelayNews, from origin: Int) {
    for node in 0..<nodes where node != origin { post(.news(news), to: node) }
  }
}
