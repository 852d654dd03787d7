import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The agent of a device: edits apply locally at once, and sync with the relay in the background.
///
/// A plain value: it joins the parts that decide (`SyncEngine`, `TransportSelector`, `Backoff`,
/// `RelayClock`) with the uplink and with jobs on the home's stores. It accesses the stores by jobs
/// only, which the driver's workers perform in order with `AgentWork`. So what an agent has
/// reported is durable, and a new agent on the same stores continues where this one stopped.
package struct Agent: Node {
  package typealias CommitJob = ReplicaJob
  package typealias CommitOutcome = ReplicaOutcome
  package typealias FileJob = ChunkRequest
  package typealias FileOutcome = Result<ChunkResult, StorageError>
  package typealias Order = AgentOrder
  package typealias Report = AgentReport
  package typealias News = Never

  let configuration: AgentConfiguration
  var random: SeededRandom
  /// Draws for the ids of versions in sealed zones, so that they change no other draw.
  var versionRandom: SeededRandom
  var actions = ActionQueue<NodeAction<AgentJob, AgentReport, Never>>()
  var engine = SyncEngine()
  var clock = RelayClock()
  var transportSelector: TransportSelector
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
  /// the suspension, so the agent also waits for a new connection.
  private var wakeDeadline: Instant?
  /// Time until which no due edits are written, after the store failed to write one.
  var dueEditsDeferredUntil: Instant?
  var isNetworkOn: Bool
  var rest = Rest.awake
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
  /// Number of addresses to which relays have sent the device since one last served it.
  var moves = 0
  var reported = AgentStatus()

  /// Connection of a device that is woken by pushes. The arrows name the legal next states.
  enum Rest: Hashable, Sendable {
    /// → falling
    case awake
    /// The connection ends as soon as all is synced. → asleep, awake
    case falling
    /// There is no connection since this relay time (milliseconds). → awake
    case asleep(since: Int64)
  }

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
  package init(_ configuration: AgentConfiguration, random: SeededRandom, at moment: Moment) {
    precondition(!configuration.transports.isEmpty, "at least one transport is required")
    self.configuration = configuration
    isNetworkOn = configuration.connectsAtOnce
    self.random = random
    var origin = random
    versionRandom = origin.branch()
    transportSelector = TransportSelector(
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

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    observe(moment)
    if uplink?.owns(id) == true {
      uplink?.received(id, bytes, at: moment.instant, &output)
    } else if probe?.owns(id) == true {
      probe?.received(id, bytes, at: moment.instant, &probeOutput)
    } else if ownsChunkConnection(id) {
      chunkConnectionReceived(id, bytes, at: moment)
    }
    flushActions(at: moment)
  }

  package mutating func handle(
    _ event: NodeEvent<AgentOutcome, AgentOrder, Never>, at moment: Moment
  ) {
    observe(moment)
    switch event {
    case .opened(let id, _):
      if uplink?.owns(id) == true { uplink?.opened(id, at: moment.instant, &output) }
      if probe?.owns(id) == true { probe?.opened(id, at: moment.instant, &probeOutput) }
      chunkConnectionOpened(id, at: moment)
    case .drained(let id, let unsent): chunkConnectionDrained(id, unsent: unsent, at: moment)
    case .closed(let id, let cause):
      if uplink?.owns(id) == true {
        uplink?.closed(id, cause, at: moment.instant, &output)
      } else if probe?.owns(id) == true {
        probe?.closed(id, cause, at: moment.instant, &probeOutput)
      } else {
        chunkConnectionClosed(id, cause, at: moment)
      }
    case .finished(let job, .commit(let outcome)): jobFinished(job, outcome, at: moment)
    case .finished(let job, .file(let outcome)): fileJobFinished(job, outcome, at: moment)
    case .ordered(let order): handleOrder(order, at: moment)
    case .deadlineReached: expired(at: moment)
    case .holding, .connectionRejected: break
    case .stopping: stop()
    }
    flushActions(at: moment)
  }

  package mutating func nextAction() -> NodeAction<AgentJob, AgentReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    guard !hasStopped else { return nil }
    return [
      deadlines.next, uplink?.deadline, probe?.deadline, probeDeadline, chunkConnectionDeadline,
    ]
    .compactMap { $0 }.min()
  }

  /// Time of the next try of a better transport; nil unless one works.
  private var probeDeadline: Instant? {
    guard engine.transport != nil, probe == nil else { return nil }
    return transportSelector.probeAt
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
    expireChunkConnections(at: moment)
    for deadline in deadlines.removeExpired(at: now) {
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
        guard dueEditsWaitDeadline(at: moment) == nil else { continue }
        submit(
          .makeDueEdits(isConnected: engine.transport != nil), .dueEdits,
          offer: engine.beginOffer(), at: moment)
      case .reseal:
        guard engine.isSettled, !isStopping else { continue }
        submit(.reseal, .note, offer: engine.beginOffer(), at: moment)
      case .plan:
        engine.unblockZones()
        engine.retrySetAside()
        retryChunks(at: moment)
      case .chunks: chunks.transfer.resume()
      case .lacking: queryLackingChunks(at: moment)
      case .downloads: resumeDownloads(at: moment)
      case .chunkCleanup: cleanUpChunks(at: moment)
      case .chunkCheck: chunks.isCheckDue = true
      case .sync: expireSyncOrders(at: moment)
      }
    }
    if let at = probeDeadline, at <= now { startProbe(at: moment) }
  }

  /// Performs all actions that follow from the events, until there are none.
  mutating func flushActions(at moment: Moment) {
    repeat {
      handleUplinkEvents(at: moment)
      engine.isClockTrusted = clock.reading(at: moment).isTrusted
      guard let action = engine.next() else { break }
      perform(action, at: moment)
    } while true
    if engine.transport != nil, !engine.isClockTrusted {
      uplink?.measureTime(at: moment.instant, &output)
    }
    advanceChunks(at: moment)
    advanceRest(at: moment)
    forwardNetworkActions()
    scheduleDueEdit(at: moment)
    scheduleResealing(at: moment)
    completeSyncOrders(at: moment)
    reportStatus(at: moment)
    finishStopping()
  }

  private mutating func forwardNetworkActions() {
    while let action = output.nextAction() ?? probeOutput.nextAction()
      ?? chunks.output.nextAction()
    {
      if let action: NodeAction<AgentJob, AgentReport, Never> = action.map(
        to: credentials?.relay.peer)
      {
        actions.append(action)
      }
    }
  }

  private mutating func scheduleDueEdit(at moment: Moment) {
    let whileTrusted = engine.transport != nil ? due.whileConnected : due.whileOffline
    let time = clock.reading(at: moment).isTrusted ? whileTrusted : due.own
    guard let time, home != nil, !isStopping, !jobs.contains(where: { $0.kind == .dueEdits })
    else { return deadlines.clear(.due) }
    let instant = clock.instant(of: time, at: moment)
    let earliest = dueEditsWaitDeadline(at: moment) ?? instant
    deadlines.set(.due, max(instant, earliest, dueEditsDeferredUntil ?? instant))
  }

  private mutating func scheduleResealing(at moment: Moment) {
    guard engine.outbox.isResealing, engine.isSettled, !isStopping, deadlines[.reseal] == nil else {
      return
    }
    deadlines.set(.reseal, moment.instant.advanced(milliseconds: Limits.resealMilliseconds))
  }

  /// Returns the time until which no due edits are made, because changes of other devices are
  /// unknown; nil if there is no wait.
  private mutating func dueEditsWaitDeadline(at moment: Moment) -> Instant? {
    if engine.hasAllRemoteChanges { (catchUpDeadline, wakeDeadline) = (nil, nil) }
    // There is no wait for changes if the relay is unreachable.
    let deadlines = [outage == nil ? catchUpDeadline : nil, wakeDeadline]
    return deadlines.compactMap { $0 }.filter { $0 > moment.instant }.max()
  }
}

/// Settings of an agent. The address of the relay is in its home (`HomeIdentity`).
package struct AgentConfiguration: Sendable {
  /// Transports to use, best first; a single one pins the transport. At least one.
  package var transports: [Transport] = [.webSocket, .longPoll, .poll]
  /// Interval between polls, in milliseconds. The last transport's delay is at most this and a
  /// round trip.
  package var pollMilliseconds = Limits.pollMilliseconds
  /// Time for which the relay may hold a long-poll, in milliseconds: below the timeout of proxies
  /// (60 s).
  package var longPollMilliseconds = Limits.agentLongPollMilliseconds
  /// Timeout of `syncNow`, after which it is reported as not done, in milliseconds.
  package var syncMilliseconds = Limits.syncMilliseconds
  /// Time for which a chunk of a file that nothing names stays in the home, in milliseconds: a day
  /// is more than any app needs between cutting a file and saving its record.
  package var chunkKeepMilliseconds = Limits.chunkKeepMilliseconds
  /// Interval between searches for such chunks, in milliseconds.
  package var chunkCleanupMilliseconds = Limits.chunkCleanupMilliseconds
  /// True to report `AgentReport.milestone`, and to ask the relay for its times with every save.
  package var reportsMilestones = false
  /// False to begin as after `goOffline`.
  package var connectsAtOnce = true
  /// First number of connections and jobs, so that many agents can share one driver: give each
  /// agent a range of its own (`index << 32`).
  package var firstNumber: UInt64 = 0

  package init() {}
}

/// Transport of changes to a device, from the best to the last resort.
package enum Transport: String, Sendable, CaseIterable {
  case webSocket = "websocket"
  /// Server-sent events. Not in the default list: if they work, long-polls work too.
  case events
  case longPoll = "long-poll"
  case poll
}

/// Deadlines of an agent, one of each kind. Those of its connections are in the uplink.
struct AgentDeadlines {
  enum Kind: Int, CaseIterable, Sendable {
    case start
    /// Connects again, or reads the store again.
    case retry
    /// Retries what was refused temporarily.
    case resume
    case poll
    /// Asks for the relay's time.
    case measure
    /// Missed changes should have arrived by then.
    case backlog
    /// Makes a due edit.
    case due
    /// Saves some more records again with newer keys.
    case reseal
    /// Retries zones that the plan did not include.
    case plan
    /// Asks the relay again about chunks of files.
    case chunks
    /// Asks the relay about the chunks that parked changes lack.
    case lacking
    /// Retries the first of the downloads.
    case downloads
    /// Searches for chunks of files that nothing names.
    case chunkCleanup
    /// Asks the relay about the chunks of files that records name.
    case chunkCheck
    /// The first of the manual syncs should be done by then.
    case sync
  }

  private var instants = [Instant?](repeating: nil, count: Kind.allCases.count)

  var next: Instant? { instants.compactMap { $0 }.min() }

  mutating func set(_ kind: Kind, _ instant: Instant) { instants[kind.rawValue] = instant }

  mutating func clear(_ kind: Kind) { instants[kind.rawValue] = nil }

  subscript(kind: Kind) -> Instant? { instants[kind.rawValue] }

  /// Returns the deadlines that have passed, the earliest first, and clears them.
  mutating func removeExpired(at now: Instant) -> [Kind] {
    var expired: [(kind: Kind, instant: Instant)] = []
    for kind in Kind.allCases {
      guard let instant = instants[kind.rawValue], instant <= now else { continue }
      expired.append((kind, instant))
      instants[kind.rawValue] = nil
    }
    expired.sort { ($0.instant, $0.kind.rawValue) < ($1.instant, $1.kind.rawValue) }
    return expired.map(\.kind)
  }
}

/// Status of the sync, for users.
extension Agent {
  /// Returns relay time as known to this device, milliseconds: the same on all devices that know
  /// it, to a few milliseconds.
  package func relayTime(at moment: Moment) -> Int64 { clock.reading(at: moment).relayTime }

  /// Token up to which the device has read; nil before the first snapshot is complete, and during
  /// one.
  package var cursor: ChangeToken? { engine.position.cursor }

  func status(at moment: Moment) -> AgentStatus {
    var status = AgentStatus()
    let reading = clock.reading(at: moment)
    status.state = state
    status.lastSync = lastSync
    status.transport = engine.transport
    status.waiting = max(0, engine.outbox.unsentWhileOn - engine.outbox.keyRecords)
    status.switchedOff = engine.outbox.off.map { zone in
      AgentStatus.SwitchedOff(
        zone: zone, waiting: engine.outbox.waiting.first { $0.zone == zone }?.count ?? 0)
    }
    status.questions = engine.outbox.questions
    status.parked = engine.outbox.parked
    status.parkedCount = engine.outbox.parkedCount
    status.asking = engine.outbox.asking
    status.askingCount = engine.outbox.askingCount
    status.unreadable = engine.outbox.unreadable
    status.unreadableCount = engine.outbox.unreadableCount
    status.isLocked = engine.outbox.isLocked
    status.blockedZones = engine.blockedZones
    status.zonesOutOfScope = engine.zonesOutOfScope
    status.setAsideCount = engine.outbox.setAsideCount
    status.chunksWaiting = chunks.transfer.waitingCount
    status.chunksRefused = chunks.transfer.refusal
    status.clockOffset = clock.isKnown ? reading.offset : nil
    status.traffic = traffic
    return status
  }

  /// Reports the status if it has changed. Changes of the counters, of the offset by a few
  /// milliseconds, and of the time of the last sync are not reported by themselves. Chunks report
  /// their progress separately.
  mutating func reportStatus(at moment: Moment) {
    if engine.isInSync {
      lastSync = clock.reading(at: moment).relayTime
      backoff.reset()
    }
    guard home != nil, !hasStopped else { return }
    let now = status(at: moment)
    var known = reported
    known.traffic = now.traffic
    known.lastSync = now.lastSync
    known.chunksWaiting = now.chunksWaiting
    if let old = known.clockOffset, let new = now.clockOffset,
      abs(new - old) < Limits.offsetReportedMilliseconds
    {
      known.clockOffset = new
    }
    guard now != known else { return }
    reported = now
    report(.status(now))
  }

  private var state: AgentStatus.State {
    if hasStopped { return .stopped }
    if let failure { return .failed(reason: failure) }
    guard home != nil else { return .starting }
    if case .asleep(let since) = rest { return .asleep(since: since) }
    if let outage { return .offline(since: outage.since, reason: outage.reason) }
    if engine.isPaused, let pause { return .offline(since: pause.since, reason: pause.reason) }
    guard engine.isInSync else { return .syncing }
    let waitsForPerson =
      engine.outbox.parkedCount > 0 || engine.outbox.askingCount > 0
      || engine.outbox.unreadableCount > 0 || engine.outbox.unsentWhileOn > 0
      || !engine.outbox.questions.isEmpty
    return waitsForPerson ? .needsPerson : .inSync
  }

  private var traffic: Traffic {
    var sum = output.traffic
    for other in [probeOutput.traffic, chunks.output.traffic] {
      sum.connections += other.connections
      sum.requests += other.requests
      sum.messages += other.messages
      sum.bytesSent += other.bytesSent
      sum.bytesReceived += other.bytesReceived
    }
    sum.edits = edits
    sum.conflicts = conflicts
    return sum
  }
}
