public import LockstepModel
public import LockstepWire

/// Drives one node on one thread, for real: what `Tests/Simulator/World` does in virtual time.
///
/// A turn: wait; hand the node its mail, then what the sockets say, then its deadline if it is due,
/// taking its actions after each; pass its jobs on; write all that it sent.
///
/// `drained` is told in the turn in which a send first leaves bytes unsent, and from then on
/// whenever the peer has taken some, until none are left. So a node that was told nothing has no
/// bytes waiting.
///
/// A peer that ends its stream (`endOfStream`) still gets what waits for it, and what the node
/// sends while it handles that, and nothing that is sent later. A node that means to answer before
/// it learns of the end pauses reading.
///
/// The hot path is inlinable, so that it is compiled for each node where the node is known.
public struct NodeRunner<N: Node & ~Copyable>: ~Copyable {
  public typealias Mail = NodeMessage<N.Outcome, N.Order, N.News>
  public typealias Perform = Worker<N.Job, N.Outcome, N.Order, N.News>.Perform

  /// What a runner is told of its surroundings.
  @usableFromInline
  struct RunnerContext {
    /// Its place in the group.
    @usableFromInline let place: Int
    /// Of all nodes of the group, by place.
    @usableFromInline let mailboxes: [Mailbox<Mail>]
    /// Where jobs go, by lane; nil: `performInline` does them.
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
  @usableFromInline let surroundings: RunnerContext
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

  /// How far the end has come.
  @usableFromInline
  struct Ending {
    /// When it ends whatever is left; nil while nobody has asked for the end.
    @usableFromInline var bound: Instant?
    @usableFromInline var isAtOnce = false
    /// The node has reported that it is done.
    @usableFromInline var isReported = false
    @inlinable init() {}
  }

  @inlinable
  init(_ node: consuming N, _ loopOwner: EventLoopOwner, _ surroundings: RunnerContext) {
    self.node = node
    self.loopOwner = loopOwner
    loop = loopOwner.loop
    self.surroundings = surroundings
    mailbox = surroundings.mailboxes[surroundings.place]
    moment = SystemClock.moment()
    refreshesMoment = surroundings.settings.clock == .eachEvent
    trace = surroundings.settings.trace
  }

  /// Runs until the node is done: see `NodeGroup.stop`. Returns how it ended.
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

  /// What a flush leads to, such as a `drained`, may make the node send again; that too leaves in
  /// this turn, unless it goes on and on.
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
      case .pulse(let round): surroundings.pulse.answer(surroundings.place, round)
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
