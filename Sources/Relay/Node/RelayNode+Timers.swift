import LockstepModel
import LockstepWire

/// Handling of expired timers.
extension RelayNode {
  mutating func expireTimers() {
    while let timer = timers.popExpired(at: moment.instant) {
      switch timer {
      case .request(let id): requestExpired(id)
      case .keepAlive(let id): keepAlive(id)
      case .stalled(let id): checkQueue(id)
      case .crowded(let id): if let slot = connections.slot(of: id) { read(slot) }
      case .throttled(let id): endThrottle(id)
      case .sightings: writeSightings(isLast: false)
      case .storeProbe: tryStore()
      case .pages: passPages()
      case .status: tellStatus()
      case .movements: lookForMovements()
      case .collection: collect()
      case .drain: giveUp()
      }
    }
  }

  // MARK: requests

  /// Sets the timer for the next deadline of a connection before its upgrade.
  mutating func watchRequest(_ slot: Hub.Slot) {
    guard connections[slot].socket == nil else { return }
    let deadline: HTTPState.Deadline
    switch connections[slot].http.exchange?.value.stage {
    // While its answers wait, its requests are not read, and `.stalled` checks it.
    case nil where isClogged(slot): deadline = .none
    case nil: deadline = connections[slot].http.awaitsRequest() ? .idle : .head
    case .reading:
      // A chunk of a file is large: progress is enough.
      deadline = uploads[connections[slot].id].map { .part($0.partsReceived) } ?? .body
    case .full, .whole, .asking, .delayed, .sending, .streaming: deadline = .none
    case .parked: deadline = .poll
    }
    guard deadline != connections[slot].http.deadline else { return }
    connections[slot].http.deadline = deadline
    let now = moment.instant
    let dueAt: Instant
    switch deadline {
    case .none:
      timers.cancel(.request(connections[slot].id))
      connections[slot].http.timerAt = nil
      return
    case .idle: dueAt = now.advanced(milliseconds: Int64(configuration.limits.idleMilliseconds))
    case .head, .body, .part:
      dueAt = now.advanced(milliseconds: Int64(configuration.limits.requestMilliseconds))
    case .poll: dueAt = connections[slot].http.exchange?.value.poll?.endsAt ?? now
    }
    connections[slot].http.dueAt = dueAt
    if let timerAt = connections[slot].http.timerAt, timerAt <= dueAt { return }
    setRequestTimer(slot)
  }

  private mutating func setRequestTimer(_ slot: Hub.Slot) {
    let dueAt = connections[slot].http.dueAt
    connections[slot].http.timerAt = dueAt
    timers.schedule(.request(connections[slot].id), at: dueAt)
  }

  private mutating func requestExpired(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].socket != nil {
      messageExpired(slot)
      return
    }
    connections[slot].http.timerAt = nil
    if connections[slot].http.deadline != .none, moment.instant < connections[slot].http.dueAt {
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
      read(slot)
    }
  }

  // MARK: messages

  /// Sets the timer for a message that has begun on an open socket, as for a request's body.
  mutating func watchMessage(_ slot: Hub.Slot) {
    guard connections[slot].socket?.stage == .open, connections[slot].socket?.isTimed == false,
      connections[slot].socket?.reader.isInMidst == true
    else { return }
    connections[slot].socket?.isTimed = true
    timers.schedule(
      .request(connections[slot].id),
      at: moment.instant.advanced(milliseconds: Int64(configuration.limits.requestMilliseconds)))
  }

  /// Handles a complete message or control frame. A control frame between the fragments of a
  /// message does not postpone that message's deadline.
  mutating func messageCame(_ slot: Hub.Slot) {
    guard connections[slot].socket?.isTimed == true,
      connections[slot].socket?.reader.isInMessage == false
    else { return }
    connections[slot].socket?.isTimed = false
    timers.cancel(.request(connections[slot].id))
  }

  private mutating func messageExpired(_ slot: Hub.Slot) {
    guard connections[slot].socket?.stage == .open else {
      closeSocket(slot, Refusal(.helloRequired, "No hello came in time."))
      return
    }
    connections[slot].socket?.isTimed = false
    // While the relay itself does not read, no device is late.
    guard readsMessages(slot) else {
      watchMessage(slot)
      return
    }
    count(.requestTimeout)
    closeSocket(slot, code: 4408, "The message did not arrive in time.")
  }

  // MARK: silent connections

  /// Starts the keep-alive: the connection sends something at least every `keepAlive`. The first
  /// delay is random, so that connections that came together do not send together.
  mutating func scheduleKeepAlive(_ slot: Hub.Slot) {
    let keepAlive = configuration.keepAliveMilliseconds
    let first = Int64.random(in: keepAlive / 2...keepAlive, using: &random)
    timers.schedule(
      .keepAlive(connections[slot].id), at: moment.instant.advanced(milliseconds: first))
  }

  private mutating func keepAlive(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    // A ping after unsent bytes shows nothing; `.stalled` checks the connection.
    if connections[slot].queue.unsent == 0 {
      if connections[slot].isStreaming {
        beat(slot)
      } else if !ping(slot) {
        giveUp(slot)
        return
      }
    }
    timers.schedule(
      .keepAlive(id),
      at: moment.instant.advanced(milliseconds: configuration.keepAliveMilliseconds))
  }

  /// Sends a ping. Returns false if too many pings were not answered.
  private mutating func ping(_ slot: Hub.Slot) -> Bool {
    // A pong that is not read shows nothing either.
    guard let socket = connections[slot].socket, !connections[slot].isPaused,
      !socket.reader.isInMidst || readsMessages(slot)
    else { return true }
    if socket.unansweredPings >= 2 { return false }
    connections[slot].socket?.unansweredPings += 1
    send(slot, WebSocketFrame.ping())
    if socket.stage == .open { tellReconnect(slot) }
    return true
  }

  /// Starts the check of unsent bytes: the connection is closed if none of them leaves for long.
  mutating func watchQueue(_ slot: Hub.Slot) {
    guard !connections[slot].queue.isWatched else { return }
    connections[slot].queue.isWatched = true
    timers.schedule(
      .stalled(connections[slot].id),
      at: moment.instant.advanced(milliseconds: stalledMilliseconds))
  }

  private var stalledMilliseconds: Int64 { Int64(configuration.limits.stalledMilliseconds) }

  private mutating func checkQueue(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].queue.isWatched = false
    let queue = connections[slot].queue
    if queue.unsent == 0 { return }
    let end = queue.movedAt.advanced(milliseconds: stalledMilliseconds)
    if moment.instant < end {
      connections[slot].queue.isWatched = true
      timers.schedule(.stalled(id), at: end)
    } else {
      status.slowConsumers += 1
      giveUp(slot)
    }
  }

  /// Closes a connection whose device is gone, or takes nothing: a close frame would not arrive.
  private mutating func giveUp(_ slot: Hub.Slot) {
    if connections[slot].socket != nil { status.socketsClosed.add(CloseTally.brokenOff) }
    close(slot, .now)
  }

  // MARK: counters

  /// The current counters.
  var currentStatus: RelayStatus {
    var status = status
    status.connections = connections.count
    status.sockets = sockets
    status.parkedPolls = hub.pollCount
    status.streams = hub.streamCount
    status.uploads = uploads.count
    status.downloads = downloads.count
    status.storeRequestsWaiting = queue.count
    status.bodyBytes = admission.bodyBytes
    status.unsentBytes = connections.taken.reduce(0) { $0 + connections[$1].queue.unsent }
    return status
  }

  /// Counters of all nodes, as last reported.
  var sumOfStatuses: RelayStatus {
    otherStatuses.reduce(currentStatus) { $0.adding($1) }
  }

  mutating func scheduleStatus() {
    guard configuration.nodes > 1, !isStatusPlanned else { return }
    isStatusPlanned = true
    timers.schedule(
      .status, at: moment.instant.advanced(milliseconds: Limits.statusMilliseconds))
  }

  private mutating func tellStatus() {
    isStatusPlanned = false
    let status = currentStatus
    if status != toldStatus {
      toldStatus = status
      actions.append(.tell(.status(node: configuration.node, status)))
    }
    if connections.count > 0 { scheduleStatus() }
  }
}
