import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The core of Lockstep: accepts connections, saves through the store, and sends each change to all
/// devices of an account. One node runs on each loop; nodes share nothing but the store and
/// `RelayNews`.
///
/// The node keeps the table of connections (`Connection`), and what they share (`RelayServices`).
/// It passes each event to its connection, and does itself what concerns several of them. This file
/// handles events, timers and the end; `RelayNode+FanOut` sends changes to the connections that
/// watch an account, and `RelayNode+Store` handles the store's results, and applies to the
/// connections what `PeerRelays` finds out about other relays on the same store.
@usableFromInline
package struct RelayNode: Node, ~Copyable {
  @usableFromInline package typealias CommitJob = StoreCommitJob
  @usableFromInline package typealias CommitOutcome = StoreCommitOutcome
  @usableFromInline package typealias ReadJob = StoreReadJob
  @usableFromInline package typealias ReadOutcome = StoreReadOutcome
  @usableFromInline package typealias FileJob = StoreFileJob
  @usableFromInline package typealias FileOutcome = StoreFileOutcome
  @usableFromInline package typealias Order = RelayOrder
  @usableFromInline package typealias Report = RelayReport
  @usableFromInline package typealias News = RelayNews

  var services: RelayServices
  var connections = ConnectionTable()
  var peerRelays = PeerRelays()
  /// Changes that are still to be sent.
  var crowdPushes = CrowdPushes()
  /// Time at which this node's last change was durable. Its outcome follows directly.
  var durableAt: Instant?

  /// `secrets` draws tokens and codes; `random` only spreads work that must not happen all at once;
  /// `measures` are shown in metrics; `adminSessions` are the same for all nodes of a process.
  @usableFromInline
  package init(
    configuration: RelayConfiguration, secrets: SecretSource, random: SeededRandom,
    measures: MeasureSource = .none,
    adminSessions: any AdminSessionStore = AdminSessionTable()
  ) {
    services = RelayServices(configuration, secrets, random, measures, adminSessions)
    // One sweep for all nodes.
    if configuration.node == 0 { services.collect() }
  }

  @usableFromInline
  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    services.moment = moment
    if id.isOutgoing {
      services.receivedPush(id, bytes)
      return
    }
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].received(bytes, &services)
    removeIfClosed(slot)
    finishEvent()
  }

  @usableFromInline
  package mutating func handle(
    _ event: consuming NodeEvent<StoreOutcome, RelayOrder, RelayNews>, at moment: Moment
  ) {
    services.moment = moment
    if event.mustFollowPushes { sendCrowdPushes() }
    switch consume event {
    case .opened(let id, let opening): handleOpened(id, opening)
    case .drained(let id, let unsent): handleDrained(id, unsent: unsent)
    case .holding(let id, let bytes): recordMemory(id, bytes)
    case .closed(let id, let cause): handleClosed(id, cause)
    case .connectionRejected(let reason): countRejection(reason)
    case .finished(let job, let outcome):
      handleOutcome(job, outcome)
      endIdleConnectionsSoon()
    case .ordered(.reportStatus): services.actions.append(.report(.status(services.currentStatus)))
    case .ordered(.reportState): services.actions.append(.report(.state(currentState)))
    case .ordered(.allowHosts(let hosts)): services.allowHosts(hosts)
    case .news(let news):
      handleNews(news)
      endIdleConnectionsSoon()
    case .deadlineReached:
      sendDueCrowdPushes()
      expireTimers()
    case .stopping: stop()
    }
    finishEvent()
  }

  @usableFromInline
  package mutating func nextAction() -> NodeAction<StoreJob, RelayReport, RelayNews>? {
    services.actions.popFirst()
  }

  @usableFromInline package var nextDeadline: Instant? {
    guard let crowdDeadline else { return services.timers.next }
    return services.timers.next.map { min($0, crowdDeadline) } ?? crowdDeadline
  }

  // MARK: connections

  private mutating func handleOpened(_ id: ConnectionID, _ opening: Opening) {
    guard services.stage != .stopped else {
      services.actions.append(.close(id, .now))
      return
    }
    if id.isOutgoing {
      services.openedPush(id)
      return
    }
    services.status.connectionsOpened += 1
    let slot = connections.insert(
      Connection(
        id: id, opening: opening, exempt: services.configuration.exempt,
        trustedProxies: services.configuration.trustedProxies))
    services.connections += 1
    connections[slot].open(&services)
    services.scheduleStatus()
  }

  private mutating func handleDrained(_ id: ConnectionID, unsent: Int) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].handleDrained(unsent: unsent, &services)
    removeIfClosed(slot)
  }

  private mutating func recordMemory(_ id: ConnectionID, _ bytes: Int) {
    if let slot = connections.slot(of: id) {
      connections[slot].recordMemory(bytes)
    } else {
      services.recordMemory(ofClosed: id, bytes)
    }
  }

  private mutating func handleClosed(_ id: ConnectionID, _ cause: CloseCause) {
    if id.isOutgoing {
      services.closedPush(id, cause)
      return
    }
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].handleClosed(cause, &services)
    removeIfClosed(slot)
  }

  private mutating func countRejection(_ reason: ConnectionRejection) {
    services.status.count(reason)
    services.scheduleStatus()
  }

  /// Removes a connection that is closed. Called after each method that may close it.
  mutating func removeIfClosed(_ slot: Hub.Slot) {
    guard connections[slot].isClosed else { return }
    connections[slot].finish(&services)
    connections.remove(slot)
  }

  /// Continues to read a connection, unless it is gone.
  mutating func processInput(_ slot: Hub.Slot) {
    guard connections.isInUse(slot) else { return }
    connections[slot].processInput(&services)
    removeIfClosed(slot)
  }

  private mutating func finishEvent() {
    if services.stage == .stopping { finishStopping() }
  }
}

extension NodeEvent where News == RelayNews {
  /// True if all changes are sent before it: it may close sockets, or filter changes from now on.
  fileprivate var mustFollowPushes: Bool {
    switch self {
    case .news(.changed): false
    case .news, .stopping: true
    default: false
    }
  }
}

/// Handling of expired timers.
extension RelayNode {
  mutating func expireTimers() {
    while let timer = services.timers.popExpired(at: services.moment.instant) {
      switch timer {
      case .request(let id):
        if let slot = connections.slot(of: id) {
          connections[slot].handleRequestTimeout(&services)
          removeIfClosed(slot)
        }
      case .keepAlive(let id):
        if let slot = connections.slot(of: id) {
          connections[slot].handleKeepAlive(&services)
          removeIfClosed(slot)
        }
      case .stalled(let id):
        if let slot = connections.slot(of: id) {
          connections[slot].checkStalledQueue(&services)
          removeIfClosed(slot)
        }
      case .crowded(let id): if let slot = connections.slot(of: id) { processInput(slot) }
      case .throttled(let id):
        if let slot = connections.slot(of: id) {
          connections[slot].endThrottle(&services)
          removeIfClosed(slot)
        }
      case .sightings: services.writeSightings(isLast: false)
      case .storeProbe: services.probeStore()
      case .pages: startDuePageReads()
      case .status: services.broadcastStatus()
      case .versionCheck: peerRelays.checkVersions(&services)
      case .collection: services.collect()
      case .wakes: services.advanceWakes()
      case .pushes: services.expirePushes()
      case .drain: closeAllConnections()
      }
    }
  }
}

/// Names of the node's timers.
enum TimerID: Hashable, IndexedKey, Sendable {
  /// A connection's next deadline: a request, a hello, the end of a long-poll.
  case request(ConnectionID)
  /// The next ping of a socket.
  case keepAlive(ConnectionID)
  /// Check that a connection with unsent bytes still accepts some.
  case stalled(ConnectionID)
  /// A connection that was sent much in one moment is read again.
  case crowded(ConnectionID)
  /// A socket whose device exceeded its rate is read again.
  case throttled(ConnectionID)
  /// Sightings of devices are to be written.
  case sightings
  /// A store that failed is to be tested.
  case storeProbe
  /// A deferred page may be read.
  case pages
  /// The counters are to be sent to the other nodes.
  case status
  /// The store is to be checked for changes by other relays.
  case versionCheck
  /// Unneeded files are to be collected.
  case collection
  /// Devices may be due to be woken.
  case wakes
  /// Deadline of a push.
  case pushes
  /// End of the time for stopping.
  case drain

  var indexHash: UInt64 {
    switch self {
    case .request(let id): id.rawValue << 4
    case .keepAlive(let id): id.rawValue << 4 | 1
    case .stalled(let id): id.rawValue << 4 | 2
    case .crowded(let id): id.rawValue << 4 | 3
    case .throttled(let id): id.rawValue << 4 | 4
    case .sightings: 5
    case .storeProbe: 6
    case .pages: 7
    case .status: 8
    case .versionCheck: 9
    case .collection: 10
    case .wakes: 11
    case .pushes: 12
    case .drain: 13
    }
  }
}

/// Stopping of a node: requests under way are answered, new ones are refused.
extension RelayNode {
  mutating func stop() {
    guard services.stage == .running else { return }
    services.stoppingSpread = services.reconnectWithin
    services.stage = .stopping
    services.timers.cancel(.sightings)
    services.timers.cancel(.storeProbe)
    services.timers.cancel(.status)
    services.timers.cancel(.collection)
    services.stopWakes()
    services.pages.endDeferral()
    startDuePageReads()
    services.timers.schedule(
      .drain, at: services.moment.instant.advanced(milliseconds: Limits.drainMilliseconds))
    for slot in connections.slotsInUse { endIfIdle(slot) }
    services.writeSightings(isLast: true)
  }

  /// Ends a connection's socket, stream or parked poll that has no request under way.
  mutating func endIfIdle(_ slot: Hub.Slot) {
    connections[slot].endIfIdle(&services)
    removeIfClosed(slot)
  }

  private mutating func close(_ slot: Hub.Slot, _ manner: CloseManner) {
    connections[slot].close(manner, &services)
    removeIfClosed(slot)
  }

  mutating func finishStopping() {
    guard services.queue.count == 0 else { return }
    let slots = connections.slotsInUse
    for slot in slots where connections[slot].isBusy { return }
    for slot in slots { close(slot, .afterSending) }
    endStopping()
  }

  /// Closes all connections, because the time for stopping is over.
  mutating func closeAllConnections() {
    guard services.stage == .stopping else { return }
    for slot in connections.slotsInUse { close(slot, .now) }
    endStopping()
  }

  private mutating func endStopping() {
    services.stage = .stopped
    services.timers.cancel(.drain)
    services.actions.append(.report(.stopped))
  }
}
