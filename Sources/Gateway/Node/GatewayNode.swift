import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Gateway from Web Push to APNs: gives devices endpoints, and turns each push of a relay to one of
/// them into a notification. Keeps nothing but counters and limits: an endpoint holds all that is
/// needed.
package struct GatewayNode: Node {
  package typealias Order = Never
  package typealias News = Never
  package typealias Action = NodeAction<NoJob, GatewayReport, Never>

  /// Push that waits for APNs.
  private struct Pending {
    var connection: ConnectionID
    var target: APNsTarget
    /// Network that answers for the device token.
    var asker: PeerNetwork
    /// Validity in seconds, for the answer.
    var seconds: Int64
  }

  private let configuration: GatewayConfiguration
  private let key: SIV
  private let check: PushRequestCheck
  private var authorizer: RelayAuthorizer
  private var sender: APNsSender
  private var clients: [ConnectionID: GatewayConnection] = [:]
  private var pending: [UInt64: Pending] = [:]
  private var nextPush: UInt64 = 0
  private var endpointRates: TokenBuckets<PeerNetwork>
  private var devices = DeviceLimiter()
  private var metrics = GatewayMetrics()
  private var reports = ReportLimiter()
  private var nextSweep: Instant?
  private var isStopping = false
  private var isStopped = false
  private var actions = ActionQueue<Action>()

  package init(_ configuration: GatewayConfiguration) {
    self.configuration = configuration
    key = SIV(key: configuration.sealingKey)
    check = PushRequestCheck(key: key)
    authorizer = RelayAuthorizer(origin: configuration.origin)
    sender = APNsSender(configuration.team, host: configuration.host)
    endpointRates = TokenBuckets(
      GatewayLimits.endpointsPerNetwork, inMilliseconds: GatewayLimits.rateMilliseconds,
      burst: GatewayLimits.endpointsPerNetwork, keys: GatewayLimits.rateKeys)
  }

  package mutating func nextAction() -> Action? { actions.popFirst() }

  package var nextDeadline: Instant? {
    guard let nextSweep, !clients.isEmpty else { return sender.nextDeadline }
    return sender.nextDeadline.map { min($0, nextSweep) } ?? nextSweep
  }

  // MARK: events

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    if id.isOutgoing {
      sender.received(id, bytes, at: moment)
    } else {
      clients[id]?.receive(bytes)
      advance(id, at: moment)
    }
    finish(at: moment)
  }

  package mutating func handle(
    _ event: consuming NodeEvent<NoJob, Never, Never>, at moment: Moment
  ) {
    switch event {
    case .opened(let id, let opening): opened(id, opening, at: moment)
    case .closed(let id, let cause):
      if id.isOutgoing { sender.closed(id, cause, at: moment) } else { clients[id] = nil }
    case .drained(let id, let unsent):
      if id.isOutgoing { sender.drained(id, unsent: unsent, at: moment) }
    case .connectionRejected: metrics.rejectedConnections += 1
    case .deadlineReached:
      sender.expire(at: moment)
      sweep(at: moment)
    case .stopping: stop(at: moment)
    case .holding, .finished: break
    }
    finish(at: moment)
  }

  private mutating func opened(_ id: ConnectionID, _ opening: Opening, at moment: Moment) {
    if id.isOutgoing { return sender.opened(id, at: moment) }
    guard !isStopping || opening.listenerKind == .admin else {
      return actions.append(.close(id, .now))
    }
    clients[id] = GatewayConnection(opening, at: moment.instant)
    if nextSweep == nil {
      nextSweep = moment.instant.advanced(milliseconds: GatewayLimits.sweepMilliseconds)
    }
  }

  private mutating func stop(at moment: Moment) {
    isStopping = true
    sender.stop(at: moment)
    for (id, client) in clients.sorted(by: { $0.key < $1.key }) where client.isIdle {
      close(id)
    }
  }

  /// Closes the connections whose time is over.
  private mutating func sweep(at moment: Moment) {
    guard let due = nextSweep, due <= moment.instant else { return }
    let overdue = clients.filter { $0.value.deadline.map { $0 <= moment.instant } ?? false }
    for (id, client) in overdue.sorted(by: { $0.key < $1.key }) {
      if client.isIdle { close(id) } else { refuse(id, GatewayConnection.late) }
    }
    nextSweep =
      clients.isEmpty
      ? nil : moment.instant.advanced(milliseconds: GatewayLimits.sweepMilliseconds)
  }

  /// Passes on what the sender wants, and reports the end once there is nothing left to do.
  private mutating func finish(at moment: Moment) {
    while let outcome = sender.nextOutcome() { answer(outcome, at: moment) }
    while let action = sender.nextAction() {
      switch action {
      case .open(let id, let host): actions.append(.open(id, .http2(host.host, port: host.port)))
      case .send(let id, let bytes): actions.append(.send(id, bytes))
      case .close(let id): actions.append(.close(id, .afterSending))
      case .report(let report):
        if reports.admits(report, at: moment.instant) { actions.append(.report(.apns(report))) }
      }
    }
    guard isStopping, !isStopped, pending.isEmpty, !sender.hasConnections,
      clients.values.allSatisfy({ $0.listenerKind == .admin })
    else { return }
    isStopped = true
    actions.append(.report(.stopped))
  }

  // MARK: requests

  /// Reads the requests that have come, up to one that must wait for APNs.
  private mutating func advance(_ id: ConnectionID, at moment: Moment) {
    while clients[id] != nil {
      do throws(Refusal) {
        guard let step = try clients[id]?.next(at: moment.instant) else { return hold(id) }
        switch step {
        case .expectsContinue: actions.append(.send(id, GatewayConnection.continueLine))
        case .request(let request): handle(request, of: id, at: moment)
        }
      } catch {
        return refuse(id, GatewayAnswer(error))
      }
    }
  }

  /// Stops reading from a client that sends more than one request ahead.
  private mutating func hold(_ id: ConnectionID) {
    switch clients[id]?.pauses() {
    case true?: actions.append(.pauseReading(id))
    case false?: actions.append(.resumeReading(id))
    case nil: break
    }
  }

  private mutating func handle(
    _ request: GatewayConnection.Request, of id: ConnectionID, at moment: Moment
  ) {
    do throws(GatewayProblem) {
      guard let reply = try route(request, of: id, at: moment) else { return }
      answer(id, reply, at: moment)
    } catch {
      answer(id, GatewayAnswer(error), at: moment)
    }
  }

  /// Returns the answer; nil if it depends on APNs.
  private mutating func route(
    _ request: GatewayConnection.Request, of id: ConnectionID, at moment: Moment
  ) throws(GatewayProblem) -> GatewayAnswer? {
    let head = request.head
    switch head.target.path {
    case ["healthz"]:
      try expect(["GET", "HEAD"], head)
      return isStopping
        ? GatewayAnswer(status: 503, body: Array("stopping\n".utf8))
        : GatewayAnswer(status: 200, body: Array("ok\n".utf8))
    case ["metrics"] where clients[id]?.listenerKind == .admin:
      try expect(["GET", "HEAD"], head)
      let text = metrics.text(
        of: sender, connections: clients.count, version: configuration.version)
      return GatewayAnswer(
        status: 200, headers: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
        body: Array(text.utf8))
    case ["v1", "endpoints"]:
      do throws(GatewayProblem) {
        let answer = try makeEndpoint(request, of: id, at: moment)
        metrics.countEndpoint(isRefused: false)
        return answer
      } catch {
        metrics.countEndpoint(isRefused: true)
        throw error
      }
    case let path where path.count == 3 && path.starts(with: ["v1", "push"]):
      do throws(GatewayProblem) {
        try push(request, to: path[2], of: id, at: moment)
        return nil
      } catch {
        metrics.countPush(error.code == .gone ? .gone : .refused)
        throw error
      }
    default:
      throw GatewayProblem(
        .notFound, "POST a device token to /v1/endpoints, or a push to an endpoint from there.")
    }
  }

  private func expect(_ methods: [String], _ head: HTTPRequestHead) throws(GatewayProblem) {
    guard methods.contains(head.method) else {
      throw GatewayProblem(.methodNotAllowed, "Use \(methods.joined(separator: " or ")) here.")
    }
    guard !isStopping || head.method != "POST" else {
      throw GatewayProblem(.stopping, "Try again in a moment.", retryAfterMilliseconds: 5_000)
    }
  }

  private mutating func makeEndpoint(
    _ request: GatewayConnection.Request, of id: ConnectionID, at moment: Moment
  ) throws(GatewayProblem) -> GatewayAnswer {
    try expect(["POST"], request.head)
    let network = network(of: id, request.head)
    if let wait = endpointRates.takeToken(network, at: moment.instant) {
      throw GatewayProblem(
        .tooManyRequests, "Too many endpoints were made from this address; try again later.",
        retryAfterMilliseconds: wait)
    }
    let wanted = try EndpointRequest(parsing: request.body)
    guard configuration.topics.contains(wanted.target.topic) else {
      throw GatewayProblem(
        .topicNotAllowed,
        "This gateway has no key for that app; check the bundle id and the gateway's URL.")
    }
    devices.recordEndpoint(wanted.target, from: network, at: moment.instant)
    let sealed = SealedEndpoint(target: wanted.target, relayKey: wanted.relayKey).sealed(with: key)
    var writer = JSONWriter(capacity: sealed.utf8.count + 128)
    writer.beginObject()
    writer.member("endpoint")
    writer.string(configuration.origin + "/v1/push/" + sealed)
    writer.endObject()
    return GatewayAnswer(
      status: 200, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
      body: writer.finish())
  }

  private mutating func push(
    _ request: GatewayConnection.Request, to capability: String, of id: ConnectionID,
    at moment: Moment
  ) throws(GatewayProblem) {
    try expect(["POST"], request.head)
    let (headers, network) = (request.head.headers, network(of: id, request.head))
    let endpoint = try check.endpoint(capability)
    try authorizer.authorize(headers, for: endpoint, from: network, at: moment)
    let notification = try check.notification(
      nextPush, to: endpoint, headers, body: request.body, at: moment.wall)
    let asker = try devices.admit(endpoint.target, from: network, at: moment.instant)
    guard sender.send(notification, at: moment) else {
      throw GatewayProblem(
        .apnsUnavailable, "Too many pushes wait for APNs; try this one again later.",
        retryAfterMilliseconds: GatewayLimits.pauseMilliseconds)
    }
    nextPush += 1
    let seconds = notification.expires == 0 ? 0 : notification.expires - max(0, moment.wall) / 1_000
    pending[notification.id] = Pending(
      connection: id, target: endpoint.target, asker: asker, seconds: seconds)
  }

  private func network(of id: ConnectionID, _ head: HTTPRequestHead) -> PeerNetwork {
    guard let opening = clients[id]?.opening else { return PeerNetwork(of: .local(path: "")) }
    let trusted = configuration.trustedProxies
    guard let address = opening.address, trusted.contains(address: address),
      case .address(let client) = Forwarding(head.headers, trusted: trusted).client
    else { return PeerNetwork(of: opening) }
    return PeerNetwork(of: client)
  }

  // MARK: answers

  private mutating func answer(_ outcome: APNsSender.Outcome, at moment: Moment) {
    guard let push = pending.removeValue(forKey: outcome.id) else { return }
    devices.record(
      outcome.result, of: push.target, asker: push.asker, at: moment.instant)
    let reply: GatewayAnswer
    switch outcome.result {
    case .accepted(let notification):
      metrics.countPush(.accepted)
      // RFC 8030 section 5. The message cannot be read or deleted: APNs has no such call.
      let name = notification.map { "/v1/messages/" + $0.lowercased() } ?? "/v1/messages"
      reply = GatewayAnswer(
        status: 201,
        headers: ["Location": configuration.origin + name, "TTL": String(push.seconds)])
    case .gone, .badToken:
      metrics.countPush(.gone)
      reply = GatewayAnswer(.gone)
    case .throttled(let milliseconds):
      metrics.countPush(.throttled)
      reply = GatewayAnswer(
        GatewayProblem(
          .tooManyRequests, "APNs wants fewer pushes to this device.",
          retryAfterMilliseconds: milliseconds))
    case .unavailable(let milliseconds):
      metrics.countPush(.unavailable)
      reply = GatewayAnswer(
        GatewayProblem(
          .apnsUnavailable, "APNs was not reached, or failed; try this push again later.",
          retryAfterMilliseconds: milliseconds))
    case .misconfigured:
      metrics.countPush(.misconfigured)
      reply = GatewayAnswer(
        GatewayProblem(
          .apnsRefused, "The gateway's owner finds the reason in its log; try again later."))
    }
    answer(push.connection, reply, at: moment)
    advance(push.connection, at: moment)
  }

  /// Answers the request that a connection waits for; does nothing if the client has gone.
  private mutating func answer(_ id: ConnectionID, _ answer: GatewayAnswer, at moment: Moment) {
    guard
      let (bytes, keepsAlive) = clients[id]?.finish(
        answer, closes: isStopping, at: moment.instant)
    else { return }
    actions.append(.send(id, bytes))
    if !keepsAlive { close(id) }
  }

  private mutating func refuse(_ id: ConnectionID, _ answer: GatewayAnswer) {
    actions.append(.send(id, GatewayConnection.lastAnswer(answer)))
    close(id)
  }

  private mutating func close(_ id: ConnectionID) {
    clients[id] = nil
    actions.append(.close(id, .afterSending))
  }
}

/// Report of a gateway for its owner's log.
package enum GatewayReport: Hashable, Sendable {
  case apns(APNsReport)
  /// The gateway has stopped: everything was answered.
  case stopped
}

/// Limiter of log lines: the same refusal of APNs is reported once a minute.
private struct ReportLimiter {
  private var times: [APNsReport: Instant] = [:]

  mutating func admits(_ report: APNsReport, at now: Instant) -> Bool {
    switch report {
    case .connected, .lost, .goingAway, .tooManyTokens: return true
    case .clockWrong, .notAuthorized, .rejected: break
    }
    if let last = times[report],
      now.milliseconds(since: last) < GatewayLimits.reportMilliseconds
    {
      return false
    }
    if times.count >= GatewayLimits.reportedReasons { times.removeAll() }
    times[report] = now
    return true
  }
}
