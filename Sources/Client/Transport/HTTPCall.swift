import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepWire

/// One HTTP request to one address, and its response as a report: for the commands that join, pair
/// and list devices.
package struct HTTPCall: Node {
  package typealias Order = Never
  package typealias Report = HTTPCallReport
  package typealias News = Never

  private enum Stage {
    case waiting
    case over
  }

  private let peer: PeerAddress
  private var exchange: HTTPExchange
  private var output = UplinkOutput(firstNumber: 0)
  private var stage = Stage.waiting
  private var reports = ActionQueue<NodeAction<NoJob, HTTPCallReport, Never>>()

  package init(_ call: HTTPCallRequest, to relay: RelayAddress, at moment: Moment) {
    self.init(call, to: relay.peer, authority: relay.authority, at: moment)
  }

  /// Sends the call to the relay's control socket on this machine.
  package init(_ call: HTTPCallRequest, toSocket path: String, at moment: Moment) {
    self.init(call, to: .local(path: path), authority: "localhost", at: moment)
  }

  private init(
    _ call: HTTPCallRequest, to peer: PeerAddress, authority: String, at moment: Moment
  ) {
    self.peer = peer
    exchange = HTTPExchange(authority: authority)
    exchange.sendRequest(
      HTTPExchange.Request(
        method: call.method, target: RequestTarget(path: call.path, query: call.query),
        token: call.token, body: call.body, milliseconds: call.deadlineMilliseconds),
      at: moment.instant, &output)
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard exchange.id == id else { return }
    handleResult(exchange.received(bytes, at: moment.instant, &output))
  }

  package mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      if exchange.id == id { exchange.opened(at: moment.instant, &output) }
    case .closed(let id, .notTrusted(let fault)) where exchange.id == id:
      end(with: .untrusted(reason: fault.explanation))
    case .closed(let id, let cause):
      if exchange.id == id { handleResult(exchange.closed(cause, at: moment.instant, &output)) }
    case .deadlineReached: handleResult(exchange.expired(at: moment.instant, &output))
    case .drained, .holding, .connectionRejected, .finished: break
    case .stopping: handleResult(.unanswered(localized("the call was stopped")))
    }
  }

  package mutating func nextAction() -> NodeAction<NoJob, HTTPCallReport, Never>? {
    output.nextAction()?.map(to: peer) ?? reports.popFirst()
  }

  package var nextDeadline: Instant? { exchange.deadline }

  private mutating func handleResult(_ result: HTTPExchange.Result?) {
    switch result {
    case nil: break
    case .answered(let status, let headers, let body, _):
      let wall = headers["Date"].flatMap(HTTPDate.milliseconds)
      end(with: .answered(status: status, body: body, wall: wall))
    case .unreachable(let reason): end(with: .unreachable(reason: reason))
    case .unanswered(let reason): end(with: .unanswered(reason: reason))
    }
  }

  private mutating func end(with report: HTTPCallReport) {
    guard case .waiting = stage else { return }
    stage = .over
    exchange.close(&output)
    reports.append(.report(report))
  }
}

/// Content of a call.
package struct HTTPCallRequest: Hashable, Sendable {
  package var method: String
  /// Path segments, not percent-encoded: `["v1", "devices"]`.
  package var path: [String]
  package var query: [RequestTarget.QueryItem] = []
  package var token: String?
  /// JSON body; nil: no body.
  package var body: [UInt8]?
  /// Timeout from the start to the response's last byte.
  package var deadlineMilliseconds = Limits.answerMilliseconds

  package init(_ method: String, path: [String], token: String? = nil, body: [UInt8]? = nil) {
    self.method = method
    self.path = path
    self.token = token
    self.body = body
  }
}

/// Result of the call; reported once.
package enum HTTPCallReport: Hashable, Sendable {
  /// Any status; problems are in the body (`Refusal.decoded(problem:status:)`). `wall`: time of the
  /// response by the relay's clock, milliseconds since the Unix epoch; nil if the relay did not
  /// send it.
  case answered(status: Int, body: [UInt8], wall: Int64?)
  /// No connection could be made: no request was sent.
  case unreachable(reason: String)
  /// The peer could not prove that it is the relay: no request was sent.
  case untrusted(reason: String)
  /// The relay may have performed the request, or not: it did not answer in time, or the answer was
  /// not HTTP.
  case unanswered(reason: String)
}
