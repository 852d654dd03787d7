import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Sender of pushes (RFC 8030 section 5), over HTTP/1.1 and TLS: their queue, and the connections
/// to push services. Opens no socket and reads no clock: its owner passes events on, then performs
/// `nextAction` and handles `nextOutcome` until there are none.
///
/// - Each push has exactly one outcome, at the latest `Limits.wakeWaitMilliseconds` and
///   `Limits.wakeAnswerMilliseconds` after it was accepted.
/// - Push services take turns. One that does not answer has one connection, and one that has asked
///   for a pause has none until its end.
/// - A push is encrypted and signed when it is sent.
/// - Nothing of a redirect is followed.
package struct PushSender: Sendable {
  private struct Waiting: Sendable {
    let request: PushRequest
    /// End of the time for which it may wait.
    let deadline: Instant
  }

  /// State of one push service.
  private struct Origin: Sendable {
    var waiting = FIFOQueue<Waiting>()
    var connectionCount = 0
    var idleCount = 0
    /// True if the last push to it was answered.
    var isAnswering = false
    var pausedUntil: Instant?
    var usedAt: Instant

    var isUsed: Bool { !waiting.isEmpty || connectionCount > 0 }

    func isPaused(at now: Instant) -> Bool { pausedUntil.map { $0 > now } ?? false }
  }

  private let rules: PushRules
  private let secrets: SecretSource
  private let subject: String?
  /// By the time at which the key was made.
  private var tokens: [Int64: VAPIDTokens] = [:]
  private var origins: [String: Origin] = [:]
  /// Origins with waiting pushes; the first one that can send is next.
  private var turns: [String] = []
  /// In the order in which they were opened.
  private var connections: [PushConnection] = []
  private var idleCount = 0
  /// Connections to origins that are not answering.
  private var silentCount = 0
  private var nextConnection: UInt64
  private var isStopped = false
  private var actions = ActionQueue<PushAction>()
  private var outcomes = ActionQueue<PushOutcome>()

  /// Number of pushes that wait for their turn.
  package private(set) var waitingCount = 0
  /// Time of the next `expire`; nil if there is nothing to wait for.
  package private(set) var nextDeadline: Instant?

  /// `subject`: the owner's address for push services. Returns nil if it is not one
  /// (`VAPIDTokens.isValid`). `firstConnection`: number of the first connection; the owner opens
  /// none from there on.
  package init?(
    rules: PushRules, secrets: SecretSource, subject: String?, firstConnection: UInt64 = 0
  ) {
    guard VAPIDTokens.isValid(subject: subject) else { return nil }
    self.rules = rules
    self.secrets = secrets
    self.subject = subject
    nextConnection = firstConnection
  }

  package var connectionCount: Int { connections.count }

  /// True if there is neither a push nor a connection.
  package var isEmpty: Bool { connections.isEmpty && waitingCount == 0 }

  package mutating func nextAction() -> PushAction? { actions.popFirst() }

  package mutating func nextOutcome() -> PushOutcome? { outcomes.popFirst() }

  /// Replaces the keys. `madeAt`: name of the key (`PushRequest.keyMadeAt`).
  package mutating func setKeys(_ keys: [(madeAt: Int64, key: P256PrivateKey)]) {
    var next: [Int64: VAPIDTokens] = [:]
    for (madeAt, key) in keys {
      if let known = tokens[madeAt], known.publicKey == key.publicKey {
        next[madeAt] = known
      } else {
        next[madeAt] = VAPIDTokens(key: key, subject: subject)
      }
    }
    tokens = next
  }

  /// Accepts a push. Returns false, and there is no outcome, if too many pushes wait, in all or for
  /// this push service, or if the sender is stopped.
  package mutating func send(_ request: PushRequest, at moment: Moment) -> Bool {
    if let refusal = rules.refusal(of: request.endpoint) {
      finish(request, .refused(refusal))
      return true
    }
    guard tokens[request.keyMadeAt] != nil else {
      finish(request, .unreachable(.noKey))
      return true
    }
    guard !isStopped, waitingCount < Limits.wakesWaiting else { return false }
    let name = request.endpoint.origin
    if origins[name] == nil { addOrigin(name, at: moment.instant) }
    guard let count = origins[name]?.waiting.count, count < Limits.wakesWaitingPerOrigin else {
      return false
    }
    let deadline = moment.instant.advanced(milliseconds: Limits.wakeWaitMilliseconds)
    origins[name]?.waiting.append(Waiting(request: request, deadline: deadline))
    origins[name]?.usedAt = moment.instant
    waitingCount += 1
    if count == 0 { turns.append(name) }
    dropPaused(name, at: moment.instant)
    advance(at: moment)
    return true
  }

  /// Ends the pushes that wait, and closes each connection as soon as it has no push.
  package mutating func stop(at moment: Moment) {
    isStopped = true
    for name in turns {
      while let request = popWaiting(name) { finish(request, .unreachable(.stopped)) }
    }
    turns = []
    for connection in connections where connection.isIdle { close(connection.id) }
    advance(at: moment)
  }

  // MARK: events of connections

  package func owns(_ id: ConnectionID) -> Bool { place(of: id) != nil }

  package mutating func opened(_ id: ConnectionID, at moment: Moment) {
    guard let place = place(of: id), case .connecting(let attempt) = connections[place].stage else {
      return
    }
    write(attempt, at: place, moment)
    advance(at: moment)
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard let place = place(of: id) else { return }
    switch connections[place].stage {
    case .connecting: return
    case .idle:
      // It belongs to no push.
      close(id)
    case .waiting, .finishing:
      let progress = connections[place].receive(bytes)
      if let head = progress.head { answer(head, at: place, moment) }
      if let ending = progress.ending { end(ending, at: place, moment) }
    }
    advance(at: moment)
  }

  package mutating func closed(_ id: ConnectionID, _ cause: CloseCause, at moment: Moment) {
    guard let place = place(of: id) else { return }
    let connection = remove(at: place)
    switch connection.stage {
    case .connecting(let attempt) where cause == .addressNotAllowed:
      setAnswering(false, connection.origin)
      finish(attempt.request, .refused(.resolvedAddresses))
    case .connecting(let attempt), .waiting(let attempt):
      if let attempt = connection.retried() {
        open(for: attempt, to: connection.origin)
      } else {
        setAnswering(false, connection.origin)
        finish(attempt.request, .unreachable(.connection(cause)))
      }
    case .finishing, .idle: break
    }
    advance(at: moment)
  }

  /// Ends what is over at `nextDeadline`; does nothing before.
  package mutating func expire(at moment: Moment) {
    let now = moment.instant
    guard let nextDeadline, nextDeadline <= now else { return }
    for connection in connections where connection.deadline <= now {
      close(connection.id)
      switch connection.stage {
      case .connecting(let attempt), .waiting(let attempt):
        setAnswering(false, connection.origin)
        finish(attempt.request, .unreachable(.timedOut))
      case .finishing, .idle: break
      }
    }
    for name in turns {
      while let first = origins[name]?.waiting.first, first.deadline <= now,
        let request = popWaiting(name)
      {
        finish(request, .unreachable(.waited))
      }
    }
    removeEmptyTurns()
    advance(at: moment)
  }

  // MARK: answers

  private mutating func answer(_ head: HTTPResponseHead, at place: Int, _ moment: Moment) {
    guard case .waiting(let attempt) = connections[place].stage else { return }
    connections[place].markAnswered()
    let name = connections[place].origin
    let answer = PushAnswer(
      status: head.status, retryAfter: head.headers["Retry-After"], at: moment.wall)
    setAnswering(true, name)
    finish(attempt.request, .answered(answer), sentAt: attempt.sentAt)
    switch answer {
    case .keyRefused: tokens[attempt.request.keyMadeAt]?.forget(name)
    case .paused(let milliseconds):
      let end = moment.instant.advanced(milliseconds: milliseconds)
      let before = origins[name]?.pausedUntil ?? end
      origins[name]?.pausedUntil = max(before, end)
      dropPaused(name, at: moment.instant)
    case .sent, .gone, .invalid, .throttled, .redirected, .failed: break
    }
  }

  private mutating func end(_ ending: PushConnection.Ending, at place: Int, _ moment: Moment) {
    switch ending {
    case .reusable: release(place, at: moment.instant)
    case .complete: close(connections[place].id)
    case .failed(let fault):
      if case .waiting(let attempt) = connections[place].stage {
        setAnswering(false, connections[place].origin)
        finish(attempt.request, .unreachable(fault))
      }
      close(connections[place].id)
    }
  }

  private mutating func finish(
    _ request: PushRequest, _ result: PushOutcome.Result, sentAt: Int64? = nil
  ) {
    outcomes.append(PushOutcome(id: request.id, result: result, sentAt: sentAt))
  }

  // MARK: queue

  /// Ends the waiting pushes of an origin that would have to wait for too long until the end of its
  /// pause.
  private mutating func dropPaused(_ name: String, at now: Instant) {
    guard let end = origins[name]?.pausedUntil, end > now else { return }
    let rest = max(end.milliseconds(since: now), Limits.wakePauses.lowerBound)
    while let first = origins[name]?.waiting.first, first.deadline <= end,
      let request = popWaiting(name)
    {
      finish(request, .answered(.paused(milliseconds: rest)))
    }
    removeEmptyTurns()
  }

  private mutating func popWaiting(_ name: String) -> PushRequest? {
    guard let waiting = origins[name]?.waiting.popFirst() else { return nil }
    waitingCount -= 1
    return waiting.request
  }

  private mutating func removeEmptyTurns() {
    turns = turns.filter { origins[$0]?.waiting.isEmpty == false }
  }

  /// Starts all pushes that can be sent now, and sets the next deadline.
  private mutating func advance(at moment: Moment) {
    let now = moment.instant
    while let place = turns.firstIndex(where: { canStart($0, at: now) }) {
      let name = turns.remove(at: place)
      guard let request = popWaiting(name) else { continue }
      if origins[name]?.waiting.isEmpty == false { turns.append(name) }
      start(request, to: name, at: moment)
    }
    setDeadline(at: now)
  }

  private func canStart(_ name: String, at now: Instant) -> Bool {
    guard connections.count < Limits.wakeConnections || idleCount > 0,
      let origin = origins[name], !origin.isPaused(at: now)
    else { return false }
    if origin.idleCount > 0 { return true }
    return origin.isAnswering
      ? origin.connectionCount < Limits.wakeConnectionsPerOrigin
      : origin.connectionCount == 0 && silentCount < Limits.wakeSilentConnections
  }

  private mutating func start(_ request: PushRequest, to name: String, at moment: Moment) {
    let deadline = moment.instant.advanced(milliseconds: Limits.wakeAnswerMilliseconds)
    var attempt = PushConnection.Attempt(request: request, deadline: deadline)
    // The one that was used last is the least likely to be closed by now.
    let idle = connections.indices.filter {
      connections[$0].isIdle && connections[$0].origin == name
    }.max { connections[$0].deadline < connections[$1].deadline }
    guard let idle else { return open(for: attempt, to: name) }
    origins[name]?.idleCount -= 1
    idleCount -= 1
    attempt.isReused = true
    write(attempt, at: idle, moment)
  }

  private mutating func setDeadline(at now: Instant) {
    var earliest = connections.lazy.map(\.deadline).min()
    for name in turns {
      guard let origin = origins[name], let first = origin.waiting.first else { continue }
      var next = first.deadline
      if let end = origin.pausedUntil, end > now { next = min(next, end) }
      earliest = min(earliest ?? next, next)
    }
    nextDeadline = earliest
  }

  // MARK: connections

  private func place(of id: ConnectionID) -> Int? { connections.firstIndex { $0.id == id } }

  private mutating func open(for attempt: PushConnection.Attempt, to name: String) {
    if connections.count >= Limits.wakeConnections { closeLongestIdle() }
    let id = ConnectionID.outgoing(nextConnection)
    nextConnection += 1
    connections.append(PushConnection(id, to: name, for: attempt))
    origins[name]?.connectionCount += 1
    if origins[name]?.isAnswering == false { silentCount += 1 }
    let endpoint = attempt.request.endpoint
    actions.append(
      .open(
        id,
        .screened(
          endpoint.hostWithoutBrackets, port: endpoint.port,
          allowsLocal: rules.allowsLocal(endpoint))))
  }

  private mutating func closeLongestIdle() {
    let idle = connections.filter(\.isIdle).min { $0.deadline < $1.deadline }
    if let idle { close(idle.id) }
  }

  /// Sends a push on a connection that has none.
  private mutating func write(_ attempt: PushConnection.Attempt, at place: Int, _ moment: Moment) {
    let (request, name) = (attempt.request, connections[place].origin)
    guard
      let authorization = tokens[request.keyMadeAt]?.authorization(for: name, at: moment.wall),
      let body = PushMessage.encrypt(request.content, to: request.recipient, secrets: secrets)
    else {
      finish(request, .unreachable(.noKey))
      return release(place, at: moment.instant)
    }
    var sent = attempt
    sent.sentAt = moment.wall
    connections[place].expectAnswer(to: sent)
    let headers: HTTPHeaders = [
      "TTL": String(request.ttlSeconds), "Topic": request.topic,
      "Urgency": request.urgency.rawValue, "Content-Encoding": "aes128gcm",
      "Content-Type": "application/octet-stream", "Authorization": authorization,
    ]
    actions.append(
      .send(
        connections[place].id,
        HTTPWriter.request(
          method: "POST", rawTarget: request.endpoint.target, host: request.endpoint.authority,
          headers: headers, body: body)))
  }

  /// Keeps a connection without a push for the next one.
  private mutating func release(_ place: Int, at now: Instant) {
    if isStopped { return close(connections[place].id) }
    connections[place].markIdle(until: now.advanced(milliseconds: Limits.wakeIdleMilliseconds))
    origins[connections[place].origin]?.idleCount += 1
    idleCount += 1
  }

  private mutating func close(_ id: ConnectionID) {
    guard let place = place(of: id) else { return }
    actions.append(.close(id))
    _ = remove(at: place)
  }

  private mutating func remove(at place: Int) -> PushConnection {
    let connection = connections.remove(at: place)
    let name = connection.origin
    origins[name]?.connectionCount -= 1
    if origins[name]?.isAnswering == false { silentCount -= 1 }
    if connection.isIdle {
      origins[name]?.idleCount -= 1
      idleCount -= 1
    }
    return connection
  }

  // MARK: origins

  /// Adds an origin. If there are too many, the one that was used least recently is forgotten: if
  /// it has asked for a pause, it will ask again.
  private mutating func addOrigin(_ name: String, at now: Instant) {
    if origins.count >= Limits.wakeOrigins {
      let unused = origins.filter { !$0.value.isUsed }
      let oldest = unused.min { ($0.value.usedAt, $0.key) < ($1.value.usedAt, $1.key) }
      if let oldest { origins[oldest.key] = nil }
    }
    origins[name] = Origin(usedAt: now)
  }

  private mutating func setAnswering(_ isAnswering: Bool, _ name: String) {
    guard let origin = origins[name], origin.isAnswering != isAnswering else { return }
    origins[name]?.isAnswering = isAnswering
    silentCount += isAnswering ? -origin.connectionCount : origin.connectionCount
  }
}
