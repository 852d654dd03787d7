public import LockstepModel
import LockstepStorage
public import LockstepWire

/// The core of Lockstep: accepts connections, saves through the store, and sends each change to all
/// devices of an account. One node runs on each loop; nodes share nothing but the store and
/// `RelayNews`.
///
/// This file handles events. `RelayNode+HTTP` and `RelayNode+Socket` read the clients' requests,
/// `RelayNode+Outcomes` handles the store's results. `RelayNode+Push` sends changes to sockets,
/// `RelayNode+Polls` and `RelayNode+Events` to long-polls and streams. `RelayNode+Standing` applies
/// news about a device, `RelayNode+Neighbours` follows other relays on the same store.
/// `RelayNode+Uploads` and `+Downloads` transfer chunks of files, `RelayNode+Garbage` removes them.
public struct RelayNode: Node, ~Copyable {
  public typealias Job = StoreJob
  public typealias Outcome = StoreOutcome
  public typealias Order = RelayOrder
  public typealias Report = RelayReport
  public typealias News = RelayNews

  enum Stage: Hashable, Sendable {
    /// → stopping
    case running
    /// Requests under way are answered, new ones are refused. → stopped
    case stopping
    case stopped
  }

  let configuration: RelayConfiguration
  let secrets: SecretSource
  let measures: MeasureSource
  var random: SeededRandom
  /// One for all sockets: no message depends on earlier ones.
  var deflater = Deflater(RelayNode.deflate)
  /// Time of the event that is being handled.
  var moment = Moment(instant: Instant(nanoseconds: 0), wall: 0)
  var stage = Stage.running
  /// Value of `reconnectWithin` when the relay began to stop; nil before.
  var stoppingSpread: Int64?
  var connections = ConnectionTable()
  var hub = Hub()
  var queue: CommitQueue
  var pages = ReadLimiter()
  var admission: Admission
  var rates: RequestRates
  /// The names by which clients may reach the relay, and the value of `Host` that was last found to
  /// be one of them: most requests have the same value.
  var hosts: AllowedHosts
  var allowedHost: [UInt8] = []
  /// True if a request that was refused for its host was reported.
  var hasToldOfHost = false
  /// True if an undeclared proxy was reported.
  var hasToldOfProxy = false
  var presence: Presence
  var peerRelays = PeerRelays()
  var health = StoreHealth()
  var timers = TimerWheel<TimerID>()
  var status = RelayStatus()
  /// Counters of the other nodes, by their number, as last reported.
  var otherStatuses: [RelayStatus]
  var toldStatus = RelayStatus()
  var isStatusPlanned = false
  var sightingsAt: Instant?
  /// Number of connections that are sockets.
  var sockets = 0
  /// Accounts whose devices, plan or subscriptions changed, and accounts moved by a commit.
  var standings = AccountLog()
  var commits = AccountLog()
  /// Time at which this node's last change was durable. Its outcome follows directly.
  var durableAt: Instant?
  /// Closed connections whose unsent bytes the driver still holds.
  var closing: [ConnectionID: (holder: Admission.Holder, bytes: Int)] = [:]
  /// Uploads and downloads of chunks, by connection.
  var uploads: [ConnectionID: ChunkUpload] = [:]
  var downloads: [ConnectionID: ChunkDownload] = [:]
  /// Files to remove after the next successful commit.
  var leftovers: [ChunkFile] = []
  /// Last file that was swept since the start, and whether the sweep is complete.
  var sweptThrough: ChunkFile?
  var isSwept = false
  var actions = ActionQueue<NodeAction<StoreJob, RelayReport, RelayNews>>()

  /// Compression for every socket that takes compressed messages.
  static let deflate = DeflateTerms.Sending(
    windowBits: Limits.deflateWindowBits, keepsContext: false)

  /// `secrets` draws tokens and codes; `random` only spreads work that must not happen all at once;
  /// `measures` are shown in metrics.
  public init(
    configuration: RelayConfiguration, secrets: SecretSource, random: SeededRandom,
    measures: MeasureSource = .none
  ) {
    self.configuration = configuration
    hosts = configuration.hosts
    self.secrets = secrets
    self.measures = measures
    self.random = random
    queue = CommitQueue(limit: configuration.limits.storeRequests)
    admission = Admission(configuration)
    rates = RequestRates(configuration.limits)
    presence = Presence(node: configuration.node, isShared: configuration.sharesStore)
    otherStatuses = Array(repeating: RelayStatus(), count: configuration.nodes)
    // One sweep for all nodes.
    if configuration.node == 0 { sweep() }
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    self.moment = moment
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].isStreaming {
      connections[slot].stream?.value.ignoredBytes += bytes.byteCount
    } else if connections[slot].socket == nil {
      if connections[slot].http.lastPoll != nil, pollsAgain(slot, bytes) {
        finishEvent()
        return
      }
      connections[slot].http.parser.receive(bytes)
    } else {
      connections[slot].socket?.reader.receive(bytes)
    }
    read(slot)
    finishEvent()
  }

  public mutating func handle(
    _ event: NodeEvent<StoreOutcome, RelayOrder, RelayNews>, at moment: Moment
  ) {
    self.moment = moment
    switch event {
    case .opened(let id, let opening): opened(id, opening)
    case .drained(let id, let unsent): drained(id, unsent: unsent)
    case .holding(let id, let bytes): holding(id, bytes)
    case .closed(let id, let cause): closed(id, cause)
    case .turnedAway(let reason): turnedAway(reason)
    case .finished(let job, let outcome): finished(job, outcome)
    case .ordered(.reportStatus): actions.append(.report(.status(currentStatus)))
    case .ordered(.reportState): actions.append(.report(.state(currentState)))
    case .ordered(.allowHosts(let hosts)):
      self.hosts = hosts
      allowedHost = []
    case .news(let news): heard(news)
    case .deadlineReached: expireTimers()
    case .stopping: stop()
    }
    finishEvent()
  }

  public mutating func nextAction() -> NodeAction<StoreJob, RelayReport, RelayNews>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? { timers.next }

  // MARK: connections

  private mutating func opened(_ id: ConnectionID, _ opening: Opening) {
    guard stage != .stopped else {
      actions.append(.close(id, .now))
      return
    }
    status.connectionsOpened += 1
    let slot = connections.insert(
      Connection(
        id: id, opening: opening, exempt: configuration.exempt,
        trustedProxies: configuration.trustedProxies))
    watchRequest(slot)
    scheduleStatus()
  }

  private mutating func turnedAway(_ reason: TurnedAway) {
    status.count(reason)
    scheduleStatus()
  }

  private mutating func drained(_ id: ConnectionID, unsent: Int) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].queue.drained(to: unsent, at: moment.instant)
    if unsent > 0 { watchQueue(slot) }
    if isClogged(slot) {
      settleBudget(slot)
      return
    }
    if connections[slot].socket?.chain.unclogged() == .hint { follow(slot, .hint) }
    if connections[slot].socket?.owesRead == true { readPage(slot) }
    if connections[slot].stream?.value.owesRead == true { readBacklog(slot) }
    if connections[slot].http.exchange?.value.stage == .sending { continueDownload(slot) }
    read(slot)
  }

  private mutating func holding(_ id: ConnectionID, _ bytes: Int) {
    if let slot = connections.slot(of: id) {
      connections[slot].queue.holds(bytes)
    } else if let held = closing[id] {
      _ = admission.hold(bytes, before: held.bytes, by: held.holder)
      closing[id] = bytes > 0 ? (held.holder, bytes) : nil
    }
  }

  private mutating func closed(_ id: ConnectionID, _ cause: CloseCause) {
    guard let slot = connections.slot(of: id) else { return }
    if cause == .endOfStream, connections[slot].http.exchange?.value.stage == .parked {
      // The client may still read; a half-closed connection does not wait.
      answerEmpty(slot, isLast: true)
      return
    }
    if cause == .endOfStream { keepHolding(slot) }
    if connections[slot].socket != nil { status.socketsClosed.add(CloseTally.brokenOff) }
    forget(slot)
  }

  /// Continues to read a connection, as far as there is room for more.
  mutating func read(_ slot: Hub.Slot) {
    guard connections.isTaken(slot) else { return }
    if stage == .stopping { windDown(slot) }
    guard connections.isTaken(slot) else { return }
    if connections[slot].socket == nil { readRequests(slot) }
    guard connections.isTaken(slot) else { return }
    if connections[slot].socket != nil { readMessages(slot) }
    guard connections.isTaken(slot) else { return }
    if isCrowded(slot) && !isClogged(slot) {
      timers.schedule(
        .crowded(connections[slot].id), at: moment.instant.advanced(milliseconds: 1))
    }
    settleBudget(slot)
  }

  mutating func send(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    connections[slot].queue.add(bytes.count, at: moment.instant)
    actions.append(.send(connections[slot].id, bytes))
  }

  /// Closes a connection; `manner` decides if sent bytes leave first.
  mutating func close(_ slot: Hub.Slot, _ manner: CloseManner) {
    actions.append(.close(connections[slot].id, manner))
    if manner == .afterSending { keepHolding(slot) }
    forget(slot)
  }

  /// Counts the unsent bytes of a connection that is about to be forgotten, until the driver has
  /// released them.
  private mutating func keepHolding(_ slot: Hub.Slot) {
    let bytes = connections[slot].queue.heldAtEnd(at: moment.instant)
    guard bytes > 0 else { return }
    let holder = holder(of: slot)
    _ = admission.hold(bytes, before: 0, by: holder)
    closing[connections[slot].id] = (holder, bytes)
  }

  mutating func isClogged(_ slot: Hub.Slot) -> Bool {
    guard connections[slot].queue.unsent > 0 else { return false }
    let limit = sendQueueLimit(for: holder(of: slot))
    return connections[slot].queue.isClogged(limit: limit)
  }

  /// Returns the bytes that may wait to leave one connection before its changes become a hint. If
  /// its account, or the node, holds as much as it may, a connection with unsent bytes gets no
  /// more.
  func sendQueueLimit(for holder: Admission.Holder) -> Int {
    admission.hasRoom(for: holder) ? configuration.limits.sendQueueBytes : 0
  }

  /// Returns the holder to whose share of the memory the connection's bytes are charged.
  mutating func holder(of slot: Hub.Slot) -> Admission.Holder { connections[slot].holder }

  /// True if too much was sent to answer more in this moment. The driver reports only what could
  /// not leave, so this is checked again a moment later.
  func isCrowded(_ slot: Hub.Slot) -> Bool {
    connections[slot].queue.isCrowded(
      limit: configuration.limits.sendQueueBytes, at: moment.instant)
  }

  private mutating func forget(_ slot: Hub.Slot) {
    let id = connections[slot].id
    noteRequest(slot)
    dropUpload(id)
    downloads[id] = nil
    stopHolding(slot)
    signOut(slot)
    if connections[slot].socket != nil { sockets -= 1 }
    timers.cancel(.request(id))
    timers.cancel(.keepAlive(id))
    timers.cancel(.stalled(id))
    timers.cancel(.crowded(id))
    timers.cancel(.throttled(id))
    connections.remove(slot)
  }

  /// Releases the connection's counted memory until the next count, because its holder changes.
  mutating func stopHolding(_ slot: Hub.Slot) {
    let held = connections[slot].heldBytes + connections[slot].heldUnsent
    guard held > 0 else { return }
    _ = admission.hold(0, before: held, by: holder(of: slot))
    connections[slot].heldBytes = 0
    connections[slot].heldUnsent = 0
  }

  /// Counts the connection's memory, pauses reading if it holds enough, and refuses it if the limit
  /// is exceeded.
  private mutating func settleBudget(_ slot: Hub.Slot) {
    if connections[slot].holdsNothing() {
      let isHTTP = connections[slot].socket == nil
      return pause(slot, isHTTP && connections[slot].http.isHeldBack && !readsRequests(slot))
    }
    // Unsent bytes use the room of others, but only incoming bytes are refused because of it.
    let holder = holder(of: slot)
    let unsent = connections[slot].queue.held
    _ = admission.hold(unsent, before: connections[slot].heldUnsent, by: holder)
    connections[slot].heldUnsent = unsent
    let held = connections[slot].bytesToHold
    let hasRoom = admission.hold(held, before: connections[slot].heldBytes, by: holder)
    connections[slot].heldBytes = held
    if !hasRoom { holdUpload(slot) }
    let reads = wantsBytes(slot)
    if !hasRoom && reads {
      refuseStream(slot, admission.refusal(of: holder))
      return
    }
    let isFull = connections[slot].bufferedBytes >= Limits.pipelineBytes
    pause(slot, !reads && (!hasRoom || isFull || connections[slot].http.isHeldBack))
  }

  /// Pauses reading of a connection, or resumes it.
  private mutating func pause(_ slot: Hub.Slot, _ pauses: Bool) {
    guard pauses != connections[slot].isPaused else { return }
    connections[slot].isPaused = pauses
    let id = connections[slot].id
    actions.append(pauses ? .pauseReading(id) : .resumeReading(id))
  }

  /// True if received bytes would be parsed now.
  private func wantsBytes(_ slot: Hub.Slot) -> Bool {
    connections[slot].socket == nil ? readsRequests(slot) : readsMessages(slot)
  }

  /// Refuses the connection for a reason that is not in a single request.
  private mutating func refuseStream(_ slot: Hub.Slot, _ refusal: Refusal) {
    if connections[slot].socket == nil {
      refuseBytes(slot, refusal)
    } else {
      closeSocket(slot, refusal)
    }
  }

  private mutating func finishEvent() {
    if stage == .stopping { finishStopping() }
  }
}
