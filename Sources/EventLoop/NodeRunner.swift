public import LockstepModel
public import LockstepWire

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
public struct NodeRunner<N: Node & ~Copyable>: ~Copyable {
  public typealias Mail = NodeMessage<N.Outcome, N.Order, N.News>
  public typealias Perform = Worker<N.Job, N.Outcome, N.Order, N.News>.Perform

  /// Context of a runner: its group's mailboxes, lanes and settings.
  @usableFromInline
  struct RunnerContext {
    /// Index of the node in the group.
    @usableFromInline let place: Int
    /// Mailboxes of all nodes of the group, by index.
    @usableFromInline let mailboxes: [Mailbox<Mail>]
    /// Mailboxes of the workers, by lane. nil: `performInline` does the jobs.
    @usableFromInline let lanes: [Mailbox<Assignment<N.Job>>?]
    @usableFromInline let performInline: Perform?
    @usableFromInline let settings: GroupSettings<N.Report>
    @usableFromInline let pulse: LivenessCheck

    @inlinable
    init(
      place: Int, mailboxes: [Mailbox<Mail>], lanes: [Mailbox<Assignment<N.Job>>?],
      performInline: Perform?, settings: GroupSettings<N.Report>, pulse: LivenessCheck
    ) {
      self.place = place
      self.mailboxes = mailboxes
      self.lanes = lanes
      self.performInline = performInline
      self.settings = settings
      self.pulse = pulse
    }
  }

  @usableFromInline var node: N
  @usableFromInline let loopOwner: EventLoopOwner
  @usableFromInline let loop: UnsafeMutablePointer<EventLoop>
  @usableFromInline let context: RunnerContext
  @usableFromInline let mailbox: Mailbox<Mail>
  @usableFromInline var mail: [Mail] = []
  /// Jobs of this turn, by lane.
  @usableFromInline var jobs = [[Assignment<N.Job>]](repeating: [], count: Lane.allCases.count)
  @usableFromInline var hasJobs = false
  @usableFromInline var jobsInFlight = 0
  @usableFromInline var moment: Moment
  @usableFromInline let refreshesMoment: Bool
  @usableFromInline let trace: (@Sendable (String) -> Void)?
  @usableFromInline var ending = Ending()

  /// State of the stop.
  @usableFromInline
  struct Ending {
    /// Time of the forced end; nil until a stop is requested.
    @usableFromInline var bound: Instant?
    @usableFromInline var isAtOnce = false
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
    mailbox = context.mailboxes[context.place]
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
      if let ending = endingReached() { return ending }
      turn()
    }
  }

  @inlinable
  mutating func turn() {
    var deadline = node.nextDeadline
    if let bound = ending.bound { deadline = min(deadline ?? bound, bound) }
    let mayWait = !loop.pointee.isDirty && !hasJobs && mailbox.fallAsleep()
    moment = loop.pointee.wait(until: deadline, mayWait: mayWait)
    takeMail()
    takeInput()
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
      passJobs()
      if !loop.pointee.isDirty { return }
      loop.pointee.flush()
      takeInput()
      if !hasJobs && !loop.pointee.isDirty { return }
    }
  }

  @inlinable
  mutating func takeInput() {
    while let input = loop.pointee.next() {
      switch input {
      case .received(let id, let count):
        take(received: id, count)
      case .opened(let id, let opening):
        handle(.opened(id, opening))
      case .drained(let id, let unsent):
        handle(.drained(id, unsent: unsent))
      case .holding(let id, let bytes):
        handle(.holding(id, bytes: bytes))
      case .closed(let id, let cause):
        handle(.closed(id, cause))
      case .turnedAway(let reason):
        handle(.turnedAway(reason))
      }
    }
  }

  @inlinable
  mutating func take(received id: ConnectionID, _ count: Int) {
    refreshMoment()
    if let trace { trace(line(received: id, count)) }
    node.received(
      id, UnsafeRawBufferPointer(start: loop.pointee.receiveBuffer.baseAddress, count: count).bytes,
      at: moment)
    performActions()
  }

  @inlinable
  mutating func takeMail() {
    mailbox.take(into: &mail)
    if mail.isEmpty { return }
    for letter in mail {
      switch letter.content {
      case .finished(let id, let outcome):
        jobsInFlight -= 1
        handle(.finished(id, outcome))
      case .ordered(let order): handle(.ordered(order))
      case .news(let news): handle(.news(news))
      case .addresses(let answer): loop.pointee.connect(answer)
      case .pulse(let round): context.pulse.answer(context.place, round)
      case .stop: beginEnding()
      }
    }
    mail.removeAll(keepingCapacity: true)
  }

  @inlinable
  mutating func handle(_ event: NodeEvent<N.Outcome, N.Order, N.News>) {
    refreshMoment()
    if let trace { trace(line(event)) }
    node.handle(event, at: moment)
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
      switch action {
      case .send(let id, let frame): loop.pointee.send(id, frame)
      case .multicast(let frame, let ids): loop.pointee.multicast(frame, ids)
      case .open(let id, let address): loop.pointee.open(id, address)
      case .close(let id, let manner): loop.pointee.close(id, manner)
      case .pauseReading(let id): loop.pointee.setReading(id, isPaused: true)
      case .resumeReading(let id): loop.pointee.setReading(id, isPaused: false)
      case .run(let id, let lane, let job): assign(id, lane, job)
      case .report(let report): pass(report)
      case .tell(let news): tell(news)
      }
    }
  }
}
