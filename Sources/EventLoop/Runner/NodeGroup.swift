import Glibc
import LockstepModel
import LockstepRuntime

/// Settings of a group: callbacks for its nodes' output, and options of their loops.
@usableFromInline
package struct GroupSettings<Report: Sendable>: Sendable {
  /// Called on the node's own thread, with the node's index. Should not block.
  @usableFromInline package var report: @Sendable (_ node: Int, Report) -> Void
  /// Returns true for the report that says that the node is done.
  @usableFromInline package var isLastReport: @Sendable (Report) -> Bool = { _ in false }
  /// Gets a line for every event and action, on the node's thread. nil: no trace, no cost.
  @usableFromInline package var trace: (@Sendable (String) -> Void)?
  /// Callback for the log.
  @usableFromInline package var notice: @Sendable (LoopNotice) -> Void = { _ in }
  /// Time from `stop` to the forced end, in milliseconds.
  @usableFromInline package var stopMilliseconds = Limits.drainMilliseconds
  /// Authorities that the nodes trust when they open a TLS connection.
  @usableFromInline package var trust = Trust.system
  /// Judge of the addresses of hosts that others have named (`PeerAddress.screened`). nil: none is
  /// allowed.
  @usableFromInline package var screen: AddressScreen?
  @usableFromInline package var clock = Clock.eachTurn
  @usableFromInline package var limits = LoopLimits()

  /// Frequency of clock reads for the times passed to a node.
  @usableFromInline
  package enum Clock: Sendable {
    /// Once a turn: cheap. The time is late by at most the length of the turn.
    case eachTurn
    /// Before each event: for a node that measures.
    case eachEvent
  }

  @usableFromInline
  package init(report: @escaping @Sendable (_ node: Int, Report) -> Void) { self.report = report }
}

/// Group of nodes of one kind, each on its own thread. They share workers and receive each other's
/// news.
///
/// ```
/// let group = try NodeGroup<RelayNode>(count: loops, settings)
/// try group.addCommitWorker { … }
/// for index in 0..<loops { try group.add(RelayNode(…), listeners: [listeners[index]]) }
/// let endings = try group.run(signals)
/// ```
@usableFromInline
package final class NodeGroup<N: Node & ~Copyable>: Sendable {
  @usableFromInline package typealias Runner = NodeRunner<N>
  @usableFromInline package typealias Perform = Runner.Perform
  @usableFromInline package typealias CommitWorker = Worker<N, N.CommitJob, N.CommitOutcome>
  @usableFromInline package typealias ReadWorker = Worker<N, N.ReadJob, N.ReadOutcome>
  @usableFromInline package typealias FileWorker = Worker<N, N.FileJob, N.FileOutcome>

  /// The workers, one for each lane.
  @usableFromInline
  struct Workers: Sendable {
    @usableFromInline var commits: CommitWorker?
    @usableFromInline var reads: ReadWorker?
    @usableFromInline var files: FileWorker?
    @inlinable init() {}

    @inlinable var mailboxes: Runner.WorkerMailboxes {
      Runner.WorkerMailboxes(commits: commits?.jobs, reads: reads?.jobs, files: files?.jobs)
    }

    func progress(of lane: Lane) -> WorkerProgress? {
      switch lane {
      case .commits: commits?.progress
      case .reads: reads?.progress
      case .files: files?.progress
      }
    }
  }

  @usableFromInline
  struct State: Sendable {
    @usableFromInline var workers = Workers()
    @usableFromInline var threadBodies: [ThreadBody] = []
    var threads: [LoopThread] = []
  }

  @usableFromInline let settings: GroupSettings<N.Report>
  @usableFromInline let mailboxes: [Mailbox<Runner.Mail>]
  let lookup: NameLookup
  @usableFromInline let endings: Mailbox<(index: Int, NodeEnding)>
  @usableFromInline let state = Locked(State())
  @usableFromInline let livenessCheck: LivenessCheck

  /// `count`: number of nodes that will be added.
  @usableFromInline
  package init(count: Int, _ settings: GroupSettings<N.Report>) throws(SystemFault) {
    Syscall.ignoreBrokenPipes()
    self.settings = settings
    var mailboxes: [Mailbox<Runner.Mail>] = []
    for _ in 0..<count { mailboxes.append(try Mailbox(isBlocking: false)) }
    self.mailboxes = mailboxes
    livenessCheck = LivenessCheck(nodes: count)
    lookup = try NameLookup()
    endings = try Mailbox(isBlocking: true)
  }

  /// Starts a thread that does the commits of all nodes. Call it before adding any node.
  /// `makeContext` is called on that thread, and only that thread may use what it captures.
  @inlinable
  package func addCommitWorker(
    _ makeContext: sending @escaping () -> CommitWorker.Context
  ) throws(SystemFault) {
    let worker = try CommitWorker.start(
      .commits, nodes: mailboxes, { .commit($0) }, makeContext)
    state.withLock { $0.workers.commits = worker }
  }

  /// Starts a thread that does the reads of all nodes, as `addCommitWorker` does.
  @inlinable
  package func addReadWorker(
    _ makeContext: sending @escaping () -> ReadWorker.Context
  ) throws(SystemFault) {
    let worker = try ReadWorker.start(.reads, nodes: mailboxes, { .read($0) }, makeContext)
    state.withLock { $0.workers.reads = worker }
  }

  /// Starts a thread that does the jobs on files of all nodes, as `addCommitWorker` does.
  @inlinable
  package func addFileWorker(
    _ makeContext: sending @escaping () -> FileWorker.Context
  ) throws(SystemFault) {
    let worker = try FileWorker.start(.files, nodes: mailboxes, { .file($0) }, makeContext)
    state.withLock { $0.workers.files = worker }
  }

  /// Adds the next node. `performInline` does the jobs of lanes without a worker, on the node's own
  /// thread; `shortCommits` those commits that need not wait for their worker.
  @inlinable
  package func add(
    _ node: consuming sending N, listeners: [Listener] = [],
    performInline: sending Perform? = nil, shortCommits: sending Runner.ShortCommits? = nil
  ) throws(SystemFault) {
    let (index, workers) = state.withLock { state in
      (state.threadBodies.count, state.workers.mailboxes)
    }
    let context = Runner.RunnerContext(
      nodeIndex: index, mailboxes: mailboxes, workers: workers, performInline: performInline,
      shortCommits: shortCommits, settings: settings, livenessCheck: livenessCheck)
    let loop = try makeLoop(index, listeners)
    let box = RunnerBox(Runner(node, loop, context))
    let mailbox = mailboxes[index]
    let endings = endings
    let livenessCheck = livenessCheck
    let body = ThreadBody {
      let ending = box.run()
      mailbox.close()
      livenessCheck.markEnded(index)
      endings.post((index, ending))
    }
    state.withLock { $0.threadBodies.append(body) }
  }

  /// Box of a runner until its thread starts.
  @usableFromInline
  final class RunnerBox {
    @usableFromInline var runner: Runner?

    @inlinable
    init(_ runner: consuming Runner) { self.runner = .some(runner) }

    /// Runs the node, once. Destroys the runner and its sockets at the end.
    @inlinable
    func run() -> NodeEnding {
      guard var runner = runner.take() else { preconditionFailure("a runner can run only once") }
      return runner.run()
    }
  }

  @usableFromInline
  func makeLoop(_ index: Int, _ listeners: [Listener]) throws(SystemFault)
    -> EventLoopOwner
  {
    let mailbox = mailboxes[index]
    let lookup = lookup
    var loop = try EventLoop(
      wakeup: mailbox.wakeup, trust: settings.trust, screen: settings.screen,
      limits: settings.limits,
      lookup: { host, port, registration in
        do throws(SystemFault) {
          try lookup.enqueue(
            NameLookup.Request(host: host, port: port) { answer in
              mailbox.post(
                NodeMessage(.addresses(LookupAnswer(registration: registration, answer: answer))))
            })
          return nil
        } catch {
          return error
        }
      }, notice: settings.notice)
    for listener in listeners { try loop.listen(at: listener) }
    return EventLoopOwner(loop)
  }

  /// Posts an order. Safe to call from any thread; dropped if the node has ended.
  @usableFromInline
  package func post(_ order: N.Order, to index: Int = 0) {
    mailboxes[index].post(NodeMessage(.ordered(order)))
  }

  /// Posts news to all nodes. Safe to call from any thread; nodes that have ended drop it.
  @usableFromInline
  package func broadcast(_ news: N.News) {
    for mailbox in mailboxes { mailbox.post(NodeMessage(.news(news))) }
  }

  /// Stops the group. Safe to call from any thread. Each node gets `stopping`, and ends when it has
  /// made its last report, has no connection and no job left, or `stopMilliseconds` have passed. A
  /// second call ends all nodes at once.
  @usableFromInline
  package func stop() {
    for mailbox in mailboxes { mailbox.post(NodeMessage(.stop)) }
  }

  /// Runs all nodes, each on its own thread, until all have ended and all threads are joined.
  /// Returns the ending of each node, by index. SIGTERM and SIGINT call `stop`; `mainThreadHandler`
  /// gets all signals.
  @usableFromInline
  package func run(
    _ signals: Signals? = nil, _ mainThreadHandler: MainThreadHandler = MainThreadHandler()
  )
    throws(SystemFault) -> [NodeEnding]
  {
    try start()
    return try waitForEnd(signals, mainThreadHandler)
  }

  /// Starts all nodes, each on its own thread. `waitForEnd` must follow, once.
  @usableFromInline
  package func start() throws(SystemFault) {
    let threadBodies = state.withLock { $0.threadBodies }
    precondition(
      threadBodies.count == mailboxes.count, "as many nodes must be added as the group counts")
    for (index, body) in threadBodies.enumerated() {
      let thread = try LoopThread("node \(index)", .prompt) { body.run() }
      state.withLock { $0.threads.append(thread) }
    }
  }

  /// Waits until all nodes have ended, as `run` does.
  @usableFromInline
  package func waitForEnd(
    _ signals: Signals? = nil, _ mainThreadHandler: MainThreadHandler = MainThreadHandler()
  )
    throws(SystemFault) -> [NodeEnding]
  {
    let results = try waitForEndings(signals, mainThreadHandler)
    let (threads, workers) = state.withLock { ($0.threads, $0.workers) }
    for thread in threads { thread.join() }
    workers.commits?.finish()
    workers.reads?.finish()
    workers.files?.finish()
    return results
  }

  private func waitForEndings(
    _ signals: Signals?, _ mainThreadHandler: MainThreadHandler
  ) throws(SystemFault) -> [NodeEnding] {
    var results = [NodeEnding?](repeating: nil, count: mailboxes.count)
    var news: [(index: Int, NodeEnding)] = []
    while results.contains(nil) {
      let next = mainThreadHandler.tick(SystemClock.instant())
      if endings.prepareToSleep() {
        let descriptors = [endings.wakeup.rawValue] + (signals.map { [$0.rawValue] } ?? [])
        if Syscall.waitUntilReadable(descriptors, until: next)[0] { endings.wakeup.wait() }
      }
      for number in try signals?.receive() ?? [] {
        if number == SIGTERM || number == SIGINT { stop() }
        mainThreadHandler.handleSignal(number)
      }
      endings.drain(into: &news)
      for (index, ending) in news { results[index] = ending }
      news.removeAll()
    }
    return results.compactMap(\.self)
  }
}

/// Body of a node's thread: passes a runner to it; from then on only that thread uses the runner.
@usableFromInline
final class ThreadBody: @unchecked Sendable {
  let run: () -> Void
  @usableFromInline init(run: @escaping () -> Void) { self.run = run }
}
