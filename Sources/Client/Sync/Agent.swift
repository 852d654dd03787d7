import LockstepModel
import LockstepWire

/// The agent of a device: edits apply locally at once, and sync with the relay in the background.
///
/// A plain value: it joins the parts that decide (`SyncEngine`, `Ladder`, `Backoff`, `RelayClock`)
/// with the uplink and with jobs on the home's stores. It accesses the stores by jobs only, which
/// the driver's workers perform in order with `AgentWork`. So what an agent has reported is
/// durable, and a new agent on the same stores continues where this one stopped.
public struct Agent: Node {
  public typealias Job = AgentJob
  public typealias Outcome = AgentOutcome
  public typealias Order = AgentOrder
  public typealias Report = AgentReport
  public typealias News = Never

  let configuration: AgentConfiguration
  var random: SeededRandom
  var actions = ActionQueue<NodeAction<AgentJob, AgentReport, Never>>()
  var engine = SyncEngine()
  var clock = RelayClock()
  var ladder: Ladder
  var backoff = Backoff()
  /// Period over which the relay's devices reconnect if all of them lose it, as last reported.
  var reconnectWithin: Int64 = 0
  var deadlines = AgentDeadlines()

  var uplink: Uplink?
  var output: UplinkOutput
  /// A socket that is tried in parallel to a lesser transport.
  var probe: Uplink?
  var probeOutput: UplinkOutput

  /// nil until the home was read.
  var home: LoadedHome?
  var credentials: HomeCredentials?
  var jobs: [PendingJob] = []
  var nextJob: UInt64
  var due = DueTimes()
  /// Time until which the agent waits for changes of other devices, before it makes due edits on
  /// this device's last state; nil if the changes are known, or the wait is over.
  var catchUpDeadline: Instant?
  /// The same for a process that was suspended. An apparent loss of the connection may be due to
  /// the suspension, so it also waits for a new connection.
  var wakeDeadline: Instant?
  /// Time until which no due edits are written after the store could not take one.
  var dueHeldUntil: Instant?
  var isNetworkOn = true
  var isStopping = false
  var hasStopped = false
  /// Failure that a user must resolve.
  var failure: String?
  /// Start (relay time) and reason of the period without sync.
  var outage: Outage?
  /// The last temporary refusal.
  var pause: Outage?
  var syncOrders: [SyncOrder] = []
  var lastSync: Int64?
  var edits = 0
  var conflicts = 0
  var samplesWanted = 0
  /// Set until it is known if the relay is reachable.
  var cutLongPoll: CutLongPoll?
  var chunks: ChunkCoordinator
  var reported = SyncStatus()

  struct Outage: Hashable, Sendable {
    var since: Int64
    var reason: String
  }

  struct CutLongPoll: Hashable, Sendable {
    /// See `UplinkEvent.longPollCut`.
    var heldMilliseconds: Int64?
  }

  struct SyncOrder: Hashable, Sendable {
    var id: OrderID
    var deadline: Instant
  }

  /// `random` draws the batches' ids, masks and jitter: seed it from the kernel.
  public init(_ configuration: AgentConfiguration, random: SeededRandom, at moment: Moment) {
    precondition(!configuration.transports.isEmpty, "an agent needs a transport")
    self.configuration = configuration
    self.random = random
    ladder = Ladder(
      configuration.transports, longPollMilliseconds: configuration.longPollMilliseconds)
    nextJob = configuration.firstNumber
    output = UplinkOutput(firstNumber: configuration.firstNumber)
    // Each gets a part of the range, so that their connection ids never collide.
    probeOutput = UplinkOutput(firstNumber: configuration.firstNumber + 1 << 31)
    chunks = ChunkCoordinator(firstNumber: configuration.firstNumber + 1 << 30)
    clock.observe(moment)
    submit(.load, .load, at: moment)
    // The driver must fetch this first action even without an event.
    deadlines.set(.start, moment.instant)
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    observe(moment)
    if uplink?.owns(id) == true {
      uplink?.received(id, bytes, at: moment.instant, &output)
    } else if probe?.owns(id) == true {
      probe?.received(id, bytes, at: moment.instant, &probeOutput)
    } else if ownsChunkLine(id) {
      chunkLineReceived(id, bytes, at: moment)
    }
    settle(at: moment)
  }

  public mutating func handle(
    _ event: NodeEvent<AgentOutcome, AgentOrder, Never>, at moment: Moment
  ) {
    observe(moment)
    switch event {
    case .opened(let id, _):
      if uplink?.owns(id) == true { uplink?.opened(id, at: moment.instant, &output) }
      if probe?.owns(id) == true { probe?.opened(id, at: moment.instant, &probeOutput) }
      chunkLineOpened(id, at: moment)
    case .drained(let id, let unsent): chunkLineDrained(id, unsent: unsent, at: moment)
    case .closed(let id, let cause):
      if uplink?.owns(id) == true {
        uplink?.closed(id, cause, at: moment.instant, &output)
      } else if probe?.owns(id) == true {
        probe?.closed(id, cause, at: moment.instant, &probeOutput)
      } else {
        chunkLineClosed(id, cause, at: moment)
      }
    case .finished(let job, .replica(let outcome)): finished(job, outcome, at: moment)
    case .finished(let job, .file(let outcome)): fileDone(job, outcome, at: moment)
    case .ordered(let order): ordered(order, at: moment)
    case .deadlineReached: expired(at: moment)
    case .holding, .turnedAway: break
    case .stopping: stop()
    }
    settle(at: moment)
  }

  public mutating func nextAction() -> NodeAction<AgentJob, AgentReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? {
    guard !hasStopped else { return nil }
    return [
      deadlines.next, uplink?.deadline, probe?.deadline, probeDeadline, chunkLineDeadline,
    ]
    .compactMap { $0 }.min()
  }

  /// Time of the next try of a better transport; nil unless one works.
  private var probeDeadline: Instant? {
    guard engine.transport != nil, probe == nil else { return nil }
    return ladder.probeAt
  }

  // MARK: time

  /// Detects that the process was suspended (closed lid, stopped process): a deadline is reached
  /// late, or a clock jumps. The local state may be old, so the agent fetches first.
  private mutating func observe(_ moment: Moment) {
    let steps = clock.wallSteps
    clock.observe(moment)
    let isLate =
      nextDeadline.map {
        moment.instant.milliseconds(since: $0) > Limits.clockJumpMilliseconds
      } ?? false
    guard isLate || clock.wallSteps != steps, due.whileOffline != nil, !isStopping else { return }
    let deadline = moment.instant.advanced(milliseconds: Limits.catchUpMilliseconds)
    guard wakeDeadline != deadline else { return }
    wakeDeadline = deadline
    engine.fetchNow()
  }

  private mutating func expired(at moment: Moment) {
    let now = moment.instant
    uplink?.expired(at: now, &output)
    probe?.expired(at: now, &probeOutput)
    expireChunkLines(at: moment)
    for deadline in deadlines.takeExpired(at: now) {
      switch deadline {
      case .start: break
      case .retry: retry(at: moment)
      case .resume: engine.resume()
      case .poll: engine.poll()
      case .measure:
        uplink?.measureTime(at: now, &output)
        deadlines.set(.measure, now.advanced(milliseconds: Limits.clockMeasureMilliseconds))
      case .backlog: if engine.awaitsBacklog { engine.fetchNow() }
      case .due:
        // The process was suspended before it reached this deadline.
        guard dueEditsWait(at: moment) == nil else { continue }
        submit(
          .makeDueEdits(isConnected: engine.transport != nil), .dueEdits,
          offer: engine.takeOffer(), at: moment)
      case .plan:
        engine.unblockZones()
        engine.retrySetAside()
        retryChunks(at: moment)
      case .chunks: chunks.transfer.resume()
      case .lacking: askForLacking(at: moment)
      case .downloads: resumeDownloads(at: moment)
      case .chunkCare: careChunks(at: moment)
      case .chunkCheck: chunks.isCheckDue = true
      case .sync: expireSyncOrders(at: moment)
      }
    }
    if let at = probeDeadline, at <= now { startProbe(at: moment) }
  }

  /// Performs all actions that follow from the events, until there are none.
  mutating func settle(at moment: Moment) {
    repeat {
      takeEvents(at: moment)
      engine.isClockTrusted = clock.reading(at: moment).isTrusted
      guard let action = engine.next() else { break }
      perform(action, at: moment)
    } while true
    if engine.transport != nil, !engine.isClockTrusted {
      uplink?.measureTime(at: moment.instant, &output)
    }
    advanceChunks(at: moment)
    flush()
    planDueEdit(at: moment)
    completeSyncOrders(at: moment)
    reportStatus(at: moment)
    finishStopping()
  }

  private mutating func flush() {
    while let action = output.nextAction() ?? probeOutput.nextAction()
      ?? chunks.output.nextAction()
    {
      switch action {
      case .open(let id):
        guard let relay = credentials?.relay else { continue }
        actions.append(.open(id, relay.peer))
      case .send(let id, let bytes): actions.append(.send(id, bytes))
      case .close(let id, let manner): actions.append(.close(id, manner))
      case .pauseReading(let id): actions.append(.pauseReading(id))
      case .resumeReading(let id): actions.append(.resumeReading(id))
      }
    }
  }

  private mutating func planDueEdit(at moment: Moment) {
    let whileTrusted = engine.transport != nil ? due.whileConnected : due.whileOffline
    let time = clock.reading(at: moment).isTrusted ? whileTrusted : due.own
    guard let time, home != nil, !isStopping, !jobs.contains(where: { $0.kind == .dueEdits })
    else { return deadlines.clear(.due) }
    let instant = clock.instant(of: time, at: moment)
    let earliest = dueEditsWait(at: moment) ?? instant
    deadlines.set(.due, max(instant, earliest, dueHeldUntil ?? instant))
  }

  /// Returns the time until which no due edits are made, because changes of other devices are
  /// unknown; nil if there is no wait.
  private mutating func dueEditsWait(at moment: Moment) -> Instant? {
    if engine.hasWhatOthersDid { (catchUpDeadline, wakeDeadline) = (nil, nil) }
    // There is no wait for changes if the relay is unreachable.
    let deadlines = [outage == nil ? catchUpDeadline : nil, wakeDeadline]
    return deadlines.compactMap { $0 }.filter { $0 > moment.instant }.max()
  }
}
