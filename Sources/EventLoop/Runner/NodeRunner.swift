import LockstepModel
import LockstepRuntime

/// Driver of one node on one thread with real I/O. `Tests/Simulator/World` is its counterpart in
/// virtual time.
///
/// One turn: wait; deliver the mail, then the socket events, then the deadline if it is due, and
/// perform the node's actions after each; pass on its jobs; write all frames.
///
/// `drained` is reported in the turn in which a send first leaves bytes unsent, and from then on
/// whenever the peer has taken some, until none are left. So a node without a `drained` event has
/// no unsent bytes.
///
/// A peer that ends its stream (`endOfStream`) still gets the queued frames and those that the node
/// sends while it handles that event, but no later ones. A node that needs to answer before it
/// learns of the end pauses reading.
///
/// The hot path is inlinable, so that the module that defines the node gets a specialised copy.
@usableFromInline
package struct NodeRunner<N: Node & ~Copyable>: ~Copyable {
  @usableFromInline package typealias Mail = NodeMessage<N.Outcome, N.Order, N.News>
  @usableFromInline package typealias Perform = Worker<N, N.Job, N.Outcome>.Perform

  /// The jobs of one turn, by lane.
  @usableFromInline
  struct Jobs {
    @usableFromInline var commits: [Assignment<N.CommitJob>] = []
    @usableFromInline var reads: [Assignment<N.ReadJob>] = []
    @usableFromInline var files: [Assignment<N.FileJob>] = []
    @inlinable init() {}
  }

  /// The mailboxes of the workers, by lane. nil: `performInline` does the jobs.
  @usableFromInline
  struct WorkerMailboxes {
    @usableFromInline var commits: Mailbox<Assignment<N.CommitJob>>?
    @usableFromInline var reads: Mailbox<Assignment<N.ReadJob>>?
    @usableFromInline var files: Mailbox<Assignment<N.FileJob>>?

    @inlinable
    init(
      commits: Mailbox<Assignment<N.CommitJob>>? = nil,
      reads: Mailbox<Assignment<N.ReadJob>>? = nil, files: Mailbox<Assignment<N.FileJob>>? = nil
    ) {
      self.commits = commits
      self.reads = reads
      self.files = files
    }
  }

  /// Context of a runner: its group's mailboxes, workers and settings.
  @usableFromInline
  struct RunnerContext {
    /// Index of the node in the group.
    @usableFromInline let nodeIndex: Int
    /// Mailboxes of all nodes of the group, by index.
    @usableFromInline let mailboxes: [Mailbox<Mail>]
    @usableFromInline let workers: WorkerMailboxes
    @usableFromInline let performInline: Perform?
    @usableFromInline let shortCommits: ShortCommits?
    @usableFromInline let settings: GroupSettings<N.Report>
    @usableFromInline let livenessCheck: LivenessCheck

    @inlinable
    init(
      nodeIndex: Int, mailboxes: [Mailbox<Mail>], workers: WorkerMailboxes,
      performInline: Perform?, shortCommits: ShortCommits? = nil,
      settings: GroupSettings<N.Report>, livenessCheck: LivenessCheck
    ) {
      self.nodeIndex = nodeIndex
      self.mailboxes = mailboxes
      self.workers = workers
      self.performInline = performInline
      self.shortCommits = shortCommits
      self.settings = settings
      self.livenessCheck = livenessCheck
    }
  }

  /// Shortcut past the worker of commits: the node's own thread does a short job while the worker
  /// is idle and nothing else is to be done, which saves two hand-overs between threads. Both
  /// threads share what the jobs need, so its closures lock it.
  @usableFromInline
  package struct ShortCommits {
    @usableFromInline let accepts: (N.CommitJob) -> Bool
    @usableFromInline let perform: (N.CommitJob) -> (N.CommitOutcome, N.News?)?
    @usableFromInline let performIdleWork: () -> Void

    /// - Parameters:
    ///   - accepts: Returns false if the job is not short.
    ///   - perform: Returns the outcome, and the news for all nodes. Returns nil if the worker is
    ///     busy, or has to do the job for another reason.
    ///   - performIdleWork: Called after the node has handled the outcome.
    @inlinable
    package init(
      accepts: @escaping (N.CommitJob) -> Bool,
      perform: @escaping (N.CommitJob) -> (N.CommitOutcome, N.News?)?,
      performIdleWork: @escaping () -> Void = {}
    ) {
      self.accepts = accepts
      self.perform = perform
      self.performIdleWork = performIdleWork
    }
  }

  @usableFromInline var node: N
  @usableFromInline let loopOwner: EventLoopOwner
  @usableFromInline let loop: UnsafeMutablePointer<EventLoop>
  @usableFromInline let context: RunnerContext
  @usableFromInline let mailbox: Mailbox<Mail>
  @usableFromInline var mail: [Mail] = []
  @usableFromInline var jobs = Jobs()
  @usableFromInline var hasJobs = false
  @usableFromInline var jobsInFlight = 0
  /// Events and messages of this turn so far.
  @usableFromInline var inputs = 0
  @usableFromInline var moment: Moment
  @usableFromInline let refreshesMoment: Bool
  @usableFromInline let trace: (@Sendable (String) -> Void)?
  @usableFromInline var ending = Ending()

  /// State of the stop.
  @usableFromInline
  struct Ending {
    /// Time of the forced end; nil until a stop is requested.
    @usableFromInline var bound: Instant?
    @usableFromInline var isForced = false
    /// True if the node has reported that it is done.
    @usableFromInline var isReported = false
    @inlinable init() {}
  }

  @inlinable
  init(_ node: consuming N, _ loopOwner: EventLoopOwner, _ context: RunnerContext) {
    self.node = node
    self.loopOwner = loopOwner
    loop = loopOwner.loop
    self.context = context
    mailbox = context.mailboxes[context.nodeIndex]
    moment = SystemClock.moment()
    refreshesMoment = context.settings.clock == .eachEvent
    trace = context.settings.trace
  }

  /// Runs until the node is done (see `NodeGroup.stop`). Returns its ending.
  @inlinable
  mutating func run() -> NodeEnding {
    performActions()
    finishTurn()
    while true {
      if let ending = currentEnding() { return ending }
      runTurn()
    }
  }

  @inlinable
  mutating func runTurn() {
    var deadline = node.nextDeadline
    if let bound = ending.bound { deadline = min(deadline ?? bound, bound) }
    let mayWait = !loop.pointee.isDirty && !hasJobs && mailbox.prepareToSleep()
    moment = loop.pointee.wait(until: deadline, mayWait: mayWait)
    inputs = 0
    handleMail()
    handleInput()
    if let deadline = node.nextDeadline {
      refreshMoment()
      if deadline <= moment.instant { handle(.deadlineReached) }
    }
    finishTurn()
  }

  /// Flushes and delivers the resulting events. An event of a flush, such as `drained`, may make
  /// the node send again; that is also sent in this turn, up to a limit of rounds.
  @inlinable
  mutating func finishTurn() {
    for _ in 0..<8 {
      dispatchJobs()
      if !loop.pointee.isDirty { return }
      loop.pointee.flush()
      handleInput()
      if !hasJobs && !loop.pointee.isDirty { return }
    }
  }

  @inlinable
  mutating func handleInput() {
    while let input = loop.pointee.next() {
      inputs += 1
      switch input {
      case .received(let id, let count):
        handleReceived(id, count)
      case .opened(let id, let opening):
        handle(.opened(id, opening))
      case .drained(let id, let unsent):
        handle(.drained(id, unsent: unsent))
      case .holding(let id, let bytes):
        handle(.holding(id, bytes: bytes))
      case .closed(let id, let cause):
        handle(.closed(id, cause))
      case .connectionRejected(let reason):
        handle(.connectionRejected(reason))
      }
    }
  }

  @inlinable
  mutating func handleReceived(_ id: ConnectionID, _ count: Int) {
    refreshMoment()
    if let trace { trace(line(received: id, count)) }
    node.received(
      id, UnsafeRawBufferPointer(start: loop.pointee.receiveBuffer.baseAddress, count: count).bytes,
      at: moment)
    performActions()
  }

  @inlinable
  mutating func handleMail() {
    mailbox.drain(into: &mail)
    if mail.isEmpty { return }
    inputs += mail.count
    for message in mail {
      switch (consume message).content {
      case .finished(let id, let outcome):
        jobsInFlight -= 1
        handle(.finished(id, outcome))
      case .ordered(let order): handle(.ordered(order))
      case .news(let news): handle(.news(news))
      case .addresses(let answer): loop.pointee.connect(answer)
      case .ping(let round): context.livenessCheck.markAnswered(context.nodeIndex, round)
      case .stop: beginStopping()
      }
    }
    mail.removeAll(keepingCapacity: true)
  }

  @inlinable
  mutating func handle(_ event: consuming NodeEvent<N.Outcome, N.Order, N.News>) {
    refreshMoment()
    if let trace { trace(line(event)) }
    node.handle(consume event, at: moment)
    performActions()
  }

  @inlinable
  mutating func refreshMoment() {
    if refreshesMoment { moment = SystemClock.moment() }
  }

  @inlinable
  mutating func performActions() {
    while let action = node.nextAction() {
      if let trace { trace(line(action)) }
      switch consume action {
      case .send(let id, let frame): loop.pointee.send(id, frame)
      case .multicast(let frame, let ids): loop.pointee.multicast(frame, ids)
      case .open(let id, let address): loop.pointee.open(id, address)
      case .close(let id, let manner): loop.pointee.close(id, manner)
      case .pauseReading(let id): loop.pointee.setReading(id, isPaused: true)
      case .resumeReading(let id): loop.pointee.setReading(id, isPaused: false)
      case .run(let id, let job): enqueueJob(id, job)
      case .report(let report): deliverReport(report)
      case .broadcast(let news): broadcast(news)
      }
    }
  }
}

/// Jobs, news and reports of a node, and its end.
extension NodeRunner where N: ~Copyable {
  @inlinable
  mutating func enqueueJob(_ id: JobID, _ job: N.Job) {
    let node = context.nodeIndex
    switch job {
    case .commit(let job): jobs.commits.append(Assignment(node: node, id: id, job: job))
    case .read(let job): jobs.reads.append(Assignment(node: node, id: id, job: job))
    case .file(let job): jobs.files.append(Assignment(node: node, id: id, job: job))
    }
    jobsInFlight += 1
    hasJobs = true
  }

  /// Dispatches the jobs of this turn together: to the lane's worker, or, if it has none, performs
  /// them inline. A short job that is the only one is done inline, too.
  @inlinable
  mutating func dispatchJobs() {
    if !hasJobs { return }
    hasJobs = false
    if !jobs.commits.isEmpty { dispatchCommits() }
    if !jobs.reads.isEmpty {
      if let worker = context.workers.reads {
        worker.post(allOf: &jobs.reads)
      } else {
        performInline(Assignment.removeAll(from: &jobs.reads, as: N.Job.read))
      }
    }
    if !jobs.files.isEmpty {
      if let worker = context.workers.files {
        worker.post(allOf: &jobs.files)
      } else {
        performInline(Assignment.removeAll(from: &jobs.files, as: N.Job.file))
      }
    }
  }

  @inlinable
  mutating func dispatchCommits() {
    guard let worker = context.workers.commits else {
      return performInline(Assignment.removeAll(from: &jobs.commits, as: N.Job.commit))
    }
    // Only in a turn with nothing else to do: others would wait for the disk, too.
    if jobsInFlight == 1, inputs <= 1, performShortCommit() { return }
    worker.post(allOf: &jobs.commits)
  }

  /// Performs the only commit, if it is a short one. Returns false if the worker must do it.
  @inlinable
  mutating func performShortCommit() -> Bool {
    guard let shortCommits = context.shortCommits, let assignment = jobs.commits.first,
      shortCommits.accepts(assignment.job)
    else { return false }
    // What is to be sent does not wait for the disk.
    if loop.pointee.isDirty { loop.pointee.flush() }
    guard let (outcome, news) = shortCommits.perform(assignment.job) else { return false }
    jobs.commits.removeAll(keepingCapacity: true)
    jobsInFlight -= 1
    // It may have waited for the disk, so it is the only one of the turn.
    inputs = max(inputs, 1) + 1
    moment = SystemClock.moment()
    if let news {
      broadcast(news)
      handle(.news(news))
    }
    handle(.finished(assignment.id, .commit(outcome)))
    shortCommits.performIdleWork()
    return true
  }

  @inlinable
  mutating func performInline(_ batch: [Assignment<N.Job>]) {
    guard let perform = context.performInline else {
      preconditionFailure("a job was posted to a lane without a worker")
    }
    let results = perform(batch, moment)
    precondition(results.count == batch.count, "each job needs exactly one result")
    for (assignment, (outcome, news)) in zip(batch, results) {
      if let news {
        broadcast(news)
        handle(.news(news))
      }
      jobsInFlight -= 1
      handle(.finished(assignment.id, outcome))
    }
  }

  @inlinable
  func broadcast(_ news: N.News) {
    for (index, mailbox) in context.mailboxes.enumerated() where index != context.nodeIndex {
      mailbox.post(Mail(.news(news)))
    }
  }

  @inlinable
  mutating func deliverReport(_ report: N.Report) {
    if context.settings.isLastReport(report) { ending.isReported = true }
    context.settings.report(context.nodeIndex, report)
  }

  /// Begins to stop. The public listener closes at once; the others stay open, so that the progress
  /// can be observed.
  @inlinable
  mutating func beginStopping() {
    if ending.bound != nil {
      ending.isForced = true
      return
    }
    ending.bound = moment.instant.advanced(
      milliseconds: context.settings.stopMilliseconds)
    loop.pointee.stopListening(at: .public)
    handleInput()
    handle(.stopping)
  }

  @inlinable
  func currentEnding() -> NodeEnding? {
    if ending.isForced { return .forced }
    if ending.isReported, !loop.pointee.isClosing { return .done }
    guard let bound = ending.bound else { return nil }
    if !ending.isReported, loop.pointee.isEmpty, jobsInFlight == 0 { return .done }
    return bound <= moment.instant ? .timedOut : nil
  }
}

/// Cause of a node's end.
@usableFromInline
package enum NodeEnding: Hashable, Sendable {
  /// The node reported that it is done, or had nothing left to do.
  case done
  /// The time for stopping passed.
  case timedOut
  /// `stop` was called a second time.
  case forced
}

/// Trace for debugging: one line per event and action. Payloads of messages between nodes and
/// others are left out, because they may contain personal data or secrets; only their kind is
/// shown.
extension NodeRunner where N: ~Copyable {
  @usableFromInline
  func line(received id: ConnectionID, _ count: Int) -> String {
    prefix("<") + "received \(name(id)) \(count) bytes"
  }

  @usableFromInline
  func line(_ event: NodeEvent<N.Outcome, N.Order, N.News>) -> String {
    let text =
      switch event {
      case .opened(let id, let opening):
        "opened \(name(id)) \(opening.listenerKind) \(opening.peer)"
      case .drained(let id, let unsent): "drained \(name(id)) \(unsent) bytes left"
      case .holding(let id, let bytes): "holding \(name(id)) \(bytes) bytes"
      case .closed(let id, let cause): "closed \(name(id)) \(cause)"
      case .connectionRejected(let reason): "turnedAway \(reason)"
      case .finished(let id, let outcome): "finished \(id.rawValue) \(kind(outcome))"
      case .ordered(let order): "ordered \(kind(order))"
      case .news(let news): "news \(kind(news))"
      case .deadlineReached: "deadlineReached"
      case .stopping: "stopping"
      }
    return prefix("<") + text
  }

  @usableFromInline
  func line(_ action: NodeAction<N.Job, N.Report, N.News>) -> String {
    let text =
      switch action {
      case .open(let id, let address): "open \(name(id)) \(address)"
      case .send(let id, let frame): "send \(name(id)) \(frame.count) bytes"
      case .multicast(let frame, let ids): "multicast \(frame.count) bytes to \(ids.count)"
      case .close(let id, let manner): "close \(name(id)) \(manner)"
      case .pauseReading(let id): "pauseReading \(name(id))"
      case .resumeReading(let id): "resumeReading \(name(id))"
      case .run(let id, let job): "run \(id.rawValue) \(kind(job))"
      case .report(let report): "report \(kind(report))"
      case .broadcast(let news): "tell \(kind(news))"
      }
    return prefix(">") + text
  }

  private func prefix(_ direction: String) -> String {
    "\(moment.wall) node \(context.nodeIndex) \(direction) "
  }

  private func name(_ id: ConnectionID) -> String {
    if id.isOutgoing { return "out \(id.rawValue & ~(1 << 63))" }
    let registration = Poller.Registration(rawValue: id.rawValue)
    return "in \(registration.slot).\(registration.generation)"
  }

  /// Returns the name of a lane, and the kind of its job or outcome.
  private func kind<Commit, Read, File>(_ value: ByLane<Commit, Read, File>) -> String {
    switch value {
    case .commit(let value): "\(Lane.commits) \(kind(value))"
    case .read(let value): "\(Lane.reads) \(kind(value))"
    case .file(let value): "\(Lane.files) \(kind(value))"
    }
  }

  /// Returns the name of an enum's case, without its associated values.
  private func kind(_ value: some Any) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .enum else { return "\(type(of: value))" }
    return mirror.children.first?.label ?? "\(value)"
  }
}

/// Message to a node's thread from another thread.
@usableFromInline
package struct NodeMessage<Outcome: Sendable, Order: Sendable, News: Sendable>: Sendable {
  @usableFromInline
  enum Content: Sendable {
    case finished(JobID, Outcome)
    case ordered(Order)
    case news(News)
    case addresses(LookupAnswer)
    /// Ping of the liveness check, with its round.
    case ping(Int)
    /// First time: finish the work in progress. Second time: end at once.
    case stop
  }

  @usableFromInline let content: Content

  @inlinable
  init(_ content: Content) { self.content = content }
}

/// Result of a lookup, for the connection that waits for it.
@usableFromInline
struct LookupAnswer: Sendable {
  let registration: Poller.Registration
  let answer: NameLookup.Answer
}

/// Job and the node that gets its outcome.
@usableFromInline
package struct Assignment<Job: Sendable>: Sendable {
  /// Index of the node in its group.
  @usableFromInline package let node: Int
  @usableFromInline package let id: JobID
  @usableFromInline package let job: Job

  @inlinable
  package init(node: Int, id: JobID, job: Job) {
    self.node = node
    self.id = id
    self.job = job
  }

  /// Removes the jobs of one lane, and returns them as jobs of a node.
  @inlinable
  static func removeAll<LaneJob>(
    from jobs: inout [Assignment<LaneJob>], as wrap: (LaneJob) -> Job
  ) -> [Assignment<Job>] {
    let batch = jobs.map { Assignment(node: $0.node, id: $0.id, job: wrap($0.job)) }
    jobs = []
    return batch
  }
}
