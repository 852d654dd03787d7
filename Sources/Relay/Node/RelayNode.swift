import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The core of Lockstep: accepts connections, saves through the store, and sends each change to all
/// devices of an account. One node runs on each loop; nodes share nothing but the store and
/// `RelayNews`.
///
/// This file handles events, timers, rates and the end. `RelayNode+HTTP` reads requests and
/// transfers chunks of files, `RelayNode+FanOut` serves sockets, streams and long-polls and sends
/// changes to them, `RelayNode+Store` handles the store's results, news of other relays on the same
/// store, and the removal of chunks that nobody owns.
@usableFromInline
package struct RelayNode: Node, ~Copyable {
  @usableFromInline package typealias Job = StoreJob
  @usableFromInline package typealias Outcome = StoreOutcome
  @usableFromInline package typealias Order = RelayOrder
  @usableFromInline package typealias Report = RelayReport
  @usableFromInline package typealias News = RelayNews

  var services: RelayServices
  var connections = ConnectionTable()
  private var sentStatus = RelayStatus()
  /// Time at which this node's last change was durable. Its outcome follows directly.
  var durableAt: Instant?

  /// `secrets` draws tokens and codes; `random` only spreads work that must not happen all at once;
  /// `measures` are shown in metrics.
  @usableFromInline
  package init(
    configuration: RelayConfiguration, secrets: SecretSource, random: SeededRandom,
    measures: MeasureSource = .none
  ) {
    services = RelayServices(configuration, secrets, random, measures)
    // One sweep for all nodes.
    if configuration.node == 0 { services.collect() }
  }

  @usableFromInline
  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    services.moment = moment
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].isStreaming {
      connections[slot].stream?.value.ignoredBytes += bytes.byteCount
    } else if connections[slot].socket == nil {
      if connections[slot].http.lastPoll != nil, repeatLastPoll(slot, bytes) {
        finishEvent()
        return
      }
      connections[slot].http.parser.receive(bytes)
    } else {
      connections[slot].socket?.reader.receive(bytes)
    }
    processInput(slot)
    finishEvent()
  }

  @usableFromInline
  package mutating func handle(
    _ event: NodeEvent<StoreOutcome, RelayOrder, RelayNews>, at moment: Moment
  ) {
    services.moment = moment
    switch event {
    case .opened(let id, let opening): handleOpened(id, opening)
    case .drained(let id, let unsent): handleDrained(id, unsent: unsent)
    case .holding(let id, let bytes): handleHeldBytes(id, bytes)
    case .closed(let id, let cause): handleClosed(id, cause)
    case .connectionRejected(let reason): countRejection(reason)
    case .finished(let job, let outcome): handleOutcome(job, outcome)
    case .ordered(.reportStatus): services.actions.append(.report(.status(currentStatus)))
    case .ordered(.reportState): services.actions.append(.report(.state(currentState)))
    case .ordered(.allowHosts(let hosts)): services.allowHosts(hosts)
    case .news(let news): handleNews(news)
    case .deadlineReached: expireTimers()
    case .stopping: stop()
    }
    finishEvent()
  }

  @usableFromInline
  package mutating func nextAction() -> NodeAction<StoreJob, RelayReport, RelayNews>? {
    services.actions.popFirst()
  }

  @usableFromInline package var nextDeadline: Instant? { services.timers.next }

  // MARK: connections

  private mutating func handleOpened(_ id: ConnectionID, _ opening: Opening) {
    guard services.stage != .stopped else {
      services.actions.append(.close(id, .now))
      return
    }
    services.status.connectionsOpened += 1
    let slot = connections.insert(
      Connection(
        id: id, opening: opening, exempt: services.configuration.exempt,
        trustedProxies: services.configuration.trustedProxies))
    services.connections += 1
    updateRequestTimer(slot)
    services.scheduleStatus()
  }

  private mutating func countRejection(_ reason: ConnectionRejection) {
    services.status.count(reason)
    services.scheduleStatus()
  }

  private mutating func handleDrained(_ id: ConnectionID, unsent: Int) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].queue.recordUnsent(unsent, at: services.moment.instant)
    if unsent > 0 { startStallTimer(slot) }
    if isClogged(slot) {
      updateMemoryBudget(slot)
      return
    }
    if connections[slot].socket?.chain.handleUnclogged() == .hint { performPush(slot, .hint) }
    if connections[slot].socket?.needsRead == true { readPage(slot) }
    if connections[slot].stream?.value.needsRead == true { readBacklog(slot) }
    if connections[slot].http.exchange?.value.stage == .sending { continueDownload(slot) }
    processInput(slot)
  }

  private mutating func handleHeldBytes(_ id: ConnectionID, _ bytes: Int) {
    if let slot = connections.slot(of: id) {
      connections[slot].queue.recordMemory(bytes)
    } else if let held = services.closing[id] {
      _ = services.admission.recordUse(bytes, before: held.bytes, by: held.holder)
      services.closing[id] = bytes > 0 ? (held.holder, bytes) : nil
    }
  }

  private mutating func handleClosed(_ id: ConnectionID, _ cause: CloseCause) {
    guard let slot = connections.slot(of: id) else { return }
    if cause == .endOfStream, connections[slot].http.exchange?.value.stage == .parked {
      // The client may still read; a half-closed connection does not wait.
      answerEmpty(slot, isLast: true)
      return
    }
    if cause == .endOfStream { chargeUnsentBytes(slot) }
    if connections[slot].socket != nil { services.status.socketsClosed.add(CloseCounts.abnormal) }
    removeConnection(slot)
  }

  /// Continues to read a connection, as far as there is room for more.
  mutating func processInput(_ slot: Hub.Slot) {
    guard connections.isInUse(slot) else { return }
    if services.stage == .stopping { endIfIdle(slot) }
    guard connections.isInUse(slot) else { return }
    if connections[slot].socket == nil { readRequests(slot) }
    guard connections.isInUse(slot) else { return }
    if connections[slot].socket != nil { readMessages(slot) }
    guard connections.isInUse(slot) else { return }
    if isCrowded(slot) && !isClogged(slot) {
      services.timers.schedule(
        .crowded(connections[slot].id), at: services.moment.instant.advanced(milliseconds: 1))
    }
    updateMemoryBudget(slot)
  }

  mutating func send(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    connections[slot].queue.recordSent(bytes.count, at: services.moment.instant)
    services.actions.append(.send(connections[slot].id, bytes))
  }

  /// Closes a connection; `manner` decides if sent bytes leave first.
  mutating func close(_ slot: Hub.Slot, _ manner: CloseManner) {
    services.actions.append(.close(connections[slot].id, manner))
    if manner == .afterSending { chargeUnsentBytes(slot) }
    removeConnection(slot)
  }

  /// Counts the unsent bytes of a connection that is about to be forgotten, until the driver has
  /// released them.
  private mutating func chargeUnsentBytes(_ slot: Hub.Slot) {
    let bytes = connections[slot].queue.heldAtEnd(at: services.moment.instant)
    guard bytes > 0 else { return }
    let holder = holder(of: slot)
    _ = services.admission.recordUse(bytes, before: 0, by: holder)
    services.closing[connections[slot].id] = (holder, bytes)
  }

  mutating func isClogged(_ slot: Hub.Slot) -> Bool {
    guard connections[slot].queue.unsent > 0 else { return false }
    let limit = services.sendQueueLimit(for: holder(of: slot))
    return connections[slot].queue.isClogged(limit: limit)
  }

  /// Returns the holder to whose share of the memory the connection's bytes are charged.
  mutating func holder(of slot: Hub.Slot) -> Admission.Holder { connections[slot].holder }

  /// True if too much was sent to answer more in this moment. The driver reports only what could
  /// not leave, so this is checked again a moment later.
  func isCrowded(_ slot: Hub.Slot) -> Bool {
    connections[slot].queue.isCrowded(
      limit: services.configuration.limits.sendQueueBytes, at: services.moment.instant)
  }

  private mutating func removeConnection(_ slot: Hub.Slot) {
    let id = connections[slot].id
    reportRequest(slot)
    dropUpload(id)
    services.downloads[id] = nil
    releaseMemory(slot)
    signOut(slot)
    if connections[slot].socket != nil { services.sockets -= 1 }
    services.timers.cancel(.request(id))
    services.timers.cancel(.keepAlive(id))
    services.timers.cancel(.stalled(id))
    services.timers.cancel(.crowded(id))
    services.timers.cancel(.throttled(id))
    connections.remove(slot)
    services.connections -= 1
  }

  /// Releases the connection's counted memory until the next count, because its holder changes.
  mutating func releaseMemory(_ slot: Hub.Slot) {
    let held = connections[slot].heldBytes + connections[slot].heldUnsent
    guard held > 0 else { return }
    _ = services.admission.recordUse(0, before: held, by: holder(of: slot))
    connections[slot].heldBytes = 0
    connections[slot].heldUnsent = 0
  }

  /// Counts the connection's memory, pauses reading if it holds enough, and refuses it if the limit
  /// is exceeded.
  private mutating func updateMemoryBudget(_ slot: Hub.Slot) {
    if connections[slot].holdsNothing() {
      let isHTTP = connections[slot].socket == nil
      return setPaused(slot, isHTTP && connections[slot].http.pausesReading && !readsRequests(slot))
    }
    // Unsent bytes use the room of others, but only incoming bytes are refused because of it.
    let holder = holder(of: slot)
    let unsent = connections[slot].queue.held
    _ = services.admission.recordUse(unsent, before: connections[slot].heldUnsent, by: holder)
    connections[slot].heldUnsent = unsent
    let held = connections[slot].bytesToHold
    let hasRoom = services.admission.recordUse(
      held, before: connections[slot].heldBytes, by: holder)
    connections[slot].heldBytes = held
    if !hasRoom { pauseUpload(slot) }
    let reads = wantsBytes(slot)
    if !hasRoom && reads {
      refuseStream(slot, services.admission.refusal(of: holder))
      return
    }
    let isFull = connections[slot].bufferedBytes >= Limits.pipelineBytes
    setPaused(slot, !reads && (!hasRoom || isFull || connections[slot].http.pausesReading))
  }

  /// Pauses reading of a connection, or resumes it.
  private mutating func setPaused(_ slot: Hub.Slot, _ pauses: Bool) {
    guard pauses != connections[slot].isPaused else { return }
    connections[slot].isPaused = pauses
    let id = connections[slot].id
    services.actions.append(pauses ? .pauseReading(id) : .resumeReading(id))
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
    if services.stage == .stopping { finishStopping() }
  }
}

/// Sending of answers, and the connection's state after them.
extension RelayNode {
  /// Answers the request that is being read or answered. `isLast`: the connection closes after it.
  mutating func answer(_ slot: Hub.Slot, _ answer: Answer, isLast: Bool = false) {
    guard connections[slot].http.exchange != nil else { return }
    if !isLast, delayIfLimited(slot, answer) { return }
    if let code = answer.refused { services.count(code) }
    let closes = isLast || closesAfterAnswer(slot)
    connections[slot].http.exchange?.value.recordAnswer(answer)
    send(
      slot,
      services.response(
        answer, head: connections[slot].http.exchange?.value.head,
        opening: connections[slot].opening, crossOrigin: connections[slot].crossOrigin,
        closes: closes))
    endExchange(slot, closes: closes)
  }

  /// Ends a request that has its answer.
  mutating func endExchange(_ slot: Hub.Slot, closes: Bool) {
    reportRequest(slot)
    if connections[slot].http.exchange?.value.poll != nil, let session = connections[slot].session {
      services.hub.removePoll(slot, session.account)
      connections[slot].http.expectRepetition()
    }
    if connections[slot].stream != nil, let session = connections[slot].session {
      services.hub.removeStream(slot, session.account)
      connections[slot].stream = nil
    }
    connections[slot].http.exchange = nil
    connections[slot].http.deadline = .none
    if closes { close(slot, .afterSending) }
  }

  /// True if the connection cannot carry another request, for example because the rest of a body
  /// would be parsed as one.
  func closesAfterAnswer(_ slot: Hub.Slot) -> Bool {
    let stage = connections[slot].http.exchange?.value.stage
    return connections[slot].http.exchange?.value.head.keepsAlive != true || stage == .reading
      || stage == .full || services.stage != .running
  }

  /// A fault is reported in the store's own words only on the owner's listeners.
  mutating func healthAnswer(_ call: HealthCall, listenerKind: Opening.ListenerKind) -> Answer {
    switch call {
    case .live: return RelayNode.plain(200, "alive\n")
    case .ready:
      if services.stage != .running { return Answer(RelayServices.isStopping) }
      if let fault = services.health.fault {
        return Answer(
          listenerKind == .public ? StoreHealth.unavailable : StoreHealth.refusal(of: fault))
      }
      // Reads, deletions and pushes still work, so a load balancer may keep sending devices here.
      return RelayNode.plain(
        200,
        services.isDiskLow()
          ? "ready, but accepts no new data: the disk is nearly full\n" : "ready\n")
    case .metrics:
      var answer = Answer(status: 200)
      answer.headers.append("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
      answer.body = Array(metricsText.utf8)
      return answer
    case .status:
      return Answer(
        status: 200, json: sumOfStatuses.encodedBody(nodes: services.configuration.nodes))
    }
  }

  private static func plain(_ status: Int, _ text: String) -> Answer {
    var answer = Answer(status: status)
    answer.headers.append("Content-Type", "text/plain; charset=utf-8")
    answer.headers.append("Cache-Control", "no-store")
    answer.body = Array(text.utf8)
    return answer
  }
}

/// Handling of expired timers.
extension RelayNode {
  mutating func expireTimers() {
    while let timer = services.timers.popExpired(at: services.moment.instant) {
      switch timer {
      case .request(let id): handleRequestTimeout(id)
      case .keepAlive(let id): handleKeepAlive(id)
      case .stalled(let id): checkStalledQueue(id)
      case .crowded(let id): if let slot = connections.slot(of: id) { processInput(slot) }
      case .throttled(let id): endThrottle(id)
      case .sightings: services.writeSightings(isLast: false)
      case .storeProbe: services.probeStore()
      case .pages: startDuePageReads()
      case .status: broadcastStatus()
      case .versionCheck: checkAccountVersions()
      case .collection: services.collect()
      case .drain: closeAllConnections()
      }
    }
  }

  // MARK: requests

  /// Sets the timer for the next deadline of a connection before its upgrade.
  mutating func updateRequestTimer(_ slot: Hub.Slot) {
    guard connections[slot].socket == nil else { return }
    let deadline: HTTPState.Deadline
    switch connections[slot].http.exchange?.value.stage {
    // While its answers wait, its requests are not read, and `.stalled` checks it.
    case nil where isClogged(slot): deadline = .none
    case nil: deadline = connections[slot].http.awaitsRequest() ? .idle : .head
    case .reading:
      // A chunk of a file is large: progress is enough.
      deadline = services.uploads[connections[slot].id].map { .part($0.partsReceived) } ?? .body
    case .full, .whole, .awaitingStore, .delayed, .sending, .streaming: deadline = .none
    case .parked: deadline = .poll
    }
    guard deadline != connections[slot].http.deadline else { return }
    connections[slot].http.deadline = deadline
    let now = services.moment.instant
    let dueAt: Instant
    switch deadline {
    case .none:
      services.timers.cancel(.request(connections[slot].id))
      connections[slot].http.timerAt = nil
      return
    case .idle:
      dueAt = now.advanced(milliseconds: Int64(services.configuration.limits.idleMilliseconds))
    case .head, .body, .part:
      dueAt = now.advanced(milliseconds: Int64(services.configuration.limits.requestMilliseconds))
    case .poll: dueAt = connections[slot].http.exchange?.value.poll?.endsAt ?? now
    }
    connections[slot].http.dueAt = dueAt
    if let timerAt = connections[slot].http.timerAt, timerAt <= dueAt { return }
    setRequestTimer(slot)
  }

  private mutating func setRequestTimer(_ slot: Hub.Slot) {
    let dueAt = connections[slot].http.dueAt
    connections[slot].http.timerAt = dueAt
    services.timers.schedule(.request(connections[slot].id), at: dueAt)
  }

  private mutating func handleRequestTimeout(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].socket != nil {
      handleMessageTimeout(slot)
      return
    }
    connections[slot].http.timerAt = nil
    if connections[slot].http.deadline != .none,
      services.moment.instant < connections[slot].http.dueAt
    {
      setRequestTimer(slot)
      return
    }
    switch connections[slot].http.deadline {
    case .none: break
    case .idle: close(slot, .afterSending)
    case .head, .body, .part:
      refuseBytes(slot, Refusal(.requestTimeout, "The request did not arrive in time."))
    case .poll:
      endPoll(slot)
      processInput(slot)
    }
  }

  // MARK: messages

  /// Sets the timer for a message that has begun on an open socket, as for a request's body.
  mutating func startMessageTimer(_ slot: Hub.Slot) {
    guard connections[slot].socket?.stage == .open, connections[slot].socket?.isTimed == false,
      connections[slot].socket?.reader.hasPartialInput == true
    else { return }
    connections[slot].socket?.isTimed = true
    services.timers.schedule(
      .request(connections[slot].id),
      at: services.moment.instant.advanced(
        milliseconds: Int64(services.configuration.limits.requestMilliseconds)))
  }

  /// Handles a complete message or control frame. A control frame between the fragments of a
  /// message does not postpone that message's deadline.
  mutating func endMessageTimer(_ slot: Hub.Slot) {
    guard connections[slot].socket?.isTimed == true,
      connections[slot].socket?.reader.isInMessage == false
    else { return }
    connections[slot].socket?.isTimed = false
    services.timers.cancel(.request(connections[slot].id))
  }

  private mutating func handleMessageTimeout(_ slot: Hub.Slot) {
    guard connections[slot].socket?.stage == .open else {
      closeSocket(slot, Refusal(.helloRequired, "No hello arrived in time."))
      return
    }
    connections[slot].socket?.isTimed = false
    // While the relay itself does not read, no device is late.
    guard readsMessages(slot) else {
      startMessageTimer(slot)
      return
    }
    services.count(.requestTimeout)
    closeSocket(slot, code: 4408, "The message did not arrive in time.")
  }

  // MARK: silent connections

  /// Starts the keep-alive: the connection sends something at least every `keepAlive`. The first
  /// delay is random, so that connections that came together do not send together.
  mutating func scheduleKeepAlive(_ slot: Hub.Slot) {
    let keepAlive = services.configuration.keepAliveMilliseconds
    let first = Int64.random(in: keepAlive / 2...keepAlive, using: &services.random)
    services.timers.schedule(
      .keepAlive(connections[slot].id), at: services.moment.instant.advanced(milliseconds: first))
  }

  private mutating func handleKeepAlive(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    // A ping after unsent bytes shows nothing; `.stalled` checks the connection.
    if connections[slot].queue.unsent == 0 {
      if connections[slot].isStreaming {
        sendHeartbeat(slot)
      } else if !sendPing(slot) {
        abortConnection(slot)
        return
      }
    }
    services.timers.schedule(
      .keepAlive(id),
      at: services.moment.instant.advanced(
        milliseconds: services.configuration.keepAliveMilliseconds))
  }

  /// Sends a ping. Returns false if too many pings were not answered.
  private mutating func sendPing(_ slot: Hub.Slot) -> Bool {
    // A pong that is not read shows nothing either.
    guard let socket = connections[slot].socket, !connections[slot].isPaused,
      !socket.reader.hasPartialInput || readsMessages(slot)
    else { return true }
    if socket.unansweredPings >= 2 { return false }
    connections[slot].socket?.unansweredPings += 1
    send(slot, WebSocketFrame.ping())
    if socket.stage == .open { sendReconnectPeriod(slot) }
    return true
  }

  /// Starts the check of unsent bytes: the connection is closed if none of them leaves for long.
  mutating func startStallTimer(_ slot: Hub.Slot) {
    guard !connections[slot].queue.isWatched else { return }
    connections[slot].queue.isWatched = true
    services.timers.schedule(
      .stalled(connections[slot].id),
      at: services.moment.instant.advanced(milliseconds: stalledMilliseconds))
  }

  private var stalledMilliseconds: Int64 {
    Int64(services.configuration.limits.stalledMilliseconds)
  }

  private mutating func checkStalledQueue(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].queue.isWatched = false
    let queue = connections[slot].queue
    if queue.unsent == 0 { return }
    let end = queue.movedAt.advanced(milliseconds: stalledMilliseconds)
    if services.moment.instant < end {
      connections[slot].queue.isWatched = true
      services.timers.schedule(.stalled(id), at: end)
    } else {
      services.status.slowConsumers += 1
      abortConnection(slot)
    }
  }

  /// Closes a connection whose device is gone, or accepts nothing: a close frame would not arrive.
  private mutating func abortConnection(_ slot: Hub.Slot) {
    if connections[slot].socket != nil { services.status.socketsClosed.add(CloseCounts.abnormal) }
    close(slot, .now)
  }

  // MARK: counters

  /// The current counters.
  var currentStatus: RelayStatus {
    var status = services.status
    status.connections = services.connections
    status.sockets = services.sockets
    status.parkedPolls = services.hub.pollCount
    status.streams = services.hub.streamCount
    status.uploads = services.uploads.count
    status.downloads = services.downloads.count
    status.storeRequestsWaiting = services.queue.count
    status.bodyBytes = services.admission.bodyBytes
    status.unsentBytes = connections.slotsInUse.reduce(0) { $0 + connections[$1].queue.unsent }
    return status
  }

  /// Counters of all nodes, as last reported.
  var sumOfStatuses: RelayStatus {
    services.otherStatuses.reduce(currentStatus) { $0.adding($1) }
  }

  private mutating func broadcastStatus() {
    services.isStatusPlanned = false
    let status = currentStatus
    if status != sentStatus {
      sentStatus = status
      services.actions.append(.broadcast(.status(node: services.configuration.node, status)))
    }
    if connections.count > 0 { services.scheduleStatus() }
  }
}

/// Names of the node's timers.
enum TimerID: Hashable, Sendable {
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
  /// End of the time for stopping.
  case drain
}

/// Rate limits of requests and sockets: the device or address that is charged, and the handling of
/// clients that exceed their rate. A request is answered with 429 after a short delay, so that a
/// client that does not wait costs little. A socket is not read until a token is available again,
/// so that no message is lost. The owner's listeners are not limited.
extension RelayNode {
  /// Charges the address for a request without a device, or with one that is still to be looked up.
  mutating func chargeAddress(_ slot: Hub.Slot) -> Refusal? {
    guard isCharged(slot), !connections[slot].client.isExempt else { return nil }
    let network = connections[slot].client.network
    return services.rates.addresses.takeToken(network, at: services.moment.instant).map(
      RequestRates.tooOften)
  }

  /// Refunds the address: the request was a device's, which is charged itself.
  mutating func refundAddress(_ slot: Hub.Slot) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    services.rates.addresses.returnToken(connections[slot].client.network)
  }

  mutating func chargeDevice(_ slot: Hub.Slot, _ session: Session) -> Refusal? {
    guard isCharged(slot) else { return nil }
    return services.rates.devices.takeToken(session.presenceKey, at: services.moment.instant).map(
      RequestRates.tooOften)
  }

  /// Charges a message or a control frame that was read on a socket. If it exceeds the rate, the
  /// next one is read later.
  mutating func chargeFrame(_ slot: Hub.Slot) {
    guard isCharged(slot), connections[slot].socket != nil else { return }
    let wait: Int64?
    if let session = connections[slot].session {
      wait = services.rates.devices.spendTokens(session.presenceKey, at: services.moment.instant)
    } else if connections[slot].client.isExempt {
      wait = nil
    } else {
      wait = services.rates.addresses.spendTokens(
        connections[slot].client.network, at: services.moment.instant)
    }
    guard let wait else { return }
    services.status.throttles += 1
    connections[slot].socket?.isThrottled = true
    services.timers.schedule(
      .throttled(connections[slot].id), at: services.moment.instant.advanced(milliseconds: wait))
  }

  /// Delays the answer to a request that exceeds the rate; returns false if it is to be sent now.
  /// If the body is not complete, the connection closes after the answer, without a delay.
  mutating func delayIfLimited(_ slot: Hub.Slot, _ answer: Answer) -> Bool {
    guard answer.refused == .tooManyRequests, isCharged(slot), services.stage == .running else {
      return false
    }
    switch connections[slot].http.exchange?.value.stage {
    case .whole, .awaitingStore: break
    case .reading, .full, .delayed, .sending, .parked, .streaming, nil: return false
    }
    connections[slot].http.exchange?.value.pendingAnswer = answer
    connections[slot].http.exchange?.value.stage = .delayed
    services.timers.schedule(
      .throttled(connections[slot].id),
      at: services.moment.instant.advanced(milliseconds: Limits.rateLimitDelayMilliseconds))
    return true
  }

  /// Welcomes a socket that has signed in: now, or later if its account's sockets come too often.
  mutating func scheduleWelcome(_ slot: Hub.Slot, _ session: Session, since: ChangeToken?) {
    let wait =
      isCharged(slot)
      ? services.rates.welcomes.takeToken(session.account, at: services.moment.instant) : nil
    connections[slot].socket?.isWelcomeDelayed = wait != nil
    guard let wait else { return beginWelcome(slot, session, since: since) }
    services.status.throttles += 1
    services.timers.schedule(
      .throttled(connections[slot].id), at: services.moment.instant.advanced(milliseconds: wait))
  }

  mutating func endThrottle(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].http.exchange?.value.stage == .delayed,
      let pendingAnswer = connections[slot].http.exchange?.value.pendingAnswer
    {
      answer(slot, pendingAnswer)
      guard connections.isInUse(slot) else { return }
    }
    connections[slot].socket?.isThrottled = false
    if connections[slot].socket?.isWelcomeDelayed == true, let session = connections[slot].session,
      case .signingIn(let since) = connections[slot].socket?.stage
    {
      scheduleWelcome(slot, session, since: since)
      guard connections.isInUse(slot) else { return }
    }
    processInput(slot)
  }

  /// Counts an account that is about to be created here and, by news, on all other nodes.
  mutating func countNewAccount(_ slot: Hub.Slot) throws(Refusal) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    let network = connections[slot].client.network
    if let wait = services.rates.newAccounts.takeToken(network, at: services.moment.instant) {
      throw RequestRates.tooManyAccounts(wait)
    }
    services.actions.append(.broadcast(.newAccount(address: network)))
  }

  /// Throws if the account may not hold one more socket, stream or waiting poll on this node.
  func checkConnections(_ slot: Hub.Slot, of account: AccountID) throws(Refusal) {
    guard services.hub.watcherCount(of: account) < watcherLimit(slot) else {
      throw RequestRates.tooManyConnections
    }
  }

  func watcherLimit(_ slot: Hub.Slot) -> Int {
    connections[slot].client.isExempt ? .max : services.configuration.limits.connectionsPerAccount
  }

  private func isCharged(_ slot: Hub.Slot) -> Bool {
    connections[slot].opening.listenerKind == .public
  }
}

/// Refuses requests that name another host than the relay (`AllowedHosts`).
extension RelayNode {
  /// Returns nil if the request names the relay, or no host at all. The control socket is not
  /// checked, because browsers cannot reach it; health checks are not, because a page cannot use
  /// their answers.
  mutating func refusalOfHost(
    _ slot: Hub.Slot, _ head: HTTPRequestHead, of routing: Router.Routing
  ) -> Refusal? {
    switch routing {
    case .call(.health(.live)), .call(.health(.ready)): return nil
    case .call, .options, .refused: break
    }
    guard connections[slot].opening.listenerKind != .control, !services.hosts.isAny else {
      return nil
    }
    // A trusted proxy may forward these fields as its client wrote them, so all must be allowed.
    for forwarded in connections[slot].client.hosts where !services.hosts.allow(forwarded) {
      return services.refuseHost(forwarded)
    }
    if let host = head.target.authority {
      return services.hosts.allow(host) ? nil : services.refuseHost(host)
    }
    guard let bytes = head.headers.bytes(of: "Host"), !services.allowedHost.elementsEqual(bytes)
    else {
      return nil
    }
    let host = String(decoding: bytes, as: UTF8.self)
    guard services.hosts.allow(host) else { return services.refuseHost(host) }
    services.allowedHost = Array(bytes)
    return nil
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
    services.pages.endDeferral()
    startDuePageReads()
    services.timers.schedule(
      .drain, at: services.moment.instant.advanced(milliseconds: Limits.drainMilliseconds))
    for slot in connections.slotsInUse { endIfIdle(slot) }
    services.writeSightings(isLast: true)
  }

  /// Ends a connection's socket, stream or parked poll that has no request under way.
  mutating func endIfIdle(_ slot: Hub.Slot) {
    if let socket = connections[slot].socket {
      if socket.requests == 0 && !socket.chain.hasWaitingSaves { closeForStop(slot) }
    } else if connections[slot].isStreaming {
      endStream(slot, services.stoppingRefusal())
    } else if connections[slot].http.exchange?.value.stage == .parked {
      answerEmpty(slot)
    }
  }

  /// Closes a socket because the relay stops. A close frame carries no time to reconnect, so that
  /// is sent before it.
  private mutating func closeForStop(_ slot: Hub.Slot) {
    if services.reconnectWithin > 0, connections[slot].socket?.stage == .open {
      sendMessage(slot, .error(id: nil, services.stoppingRefusal()))
    }
    closeSocket(slot, RelayServices.isStopping)
  }

  /// True if a request is under way; an idle connection has nothing to lose.
  private func isBusy(_ slot: Hub.Slot) -> Bool {
    connections[slot].socket != nil || connections[slot].http.exchange != nil
      || !connections[slot].http.parser.isIdle
  }

  mutating func finishStopping() {
    guard services.queue.count == 0 else { return }
    let slots = connections.slotsInUse
    for slot in slots where isBusy(slot) { return }
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
