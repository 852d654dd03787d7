import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Tests one connection to a relay and records what was received and when. A second connection
/// makes the change that the first must report.
package struct ProbeNode: Node {
  package typealias Order = Never
  package typealias Report = ProbeReport
  package typealias News = Never

  /// Parser for the answers of one connection.
  private enum Reader {
    case nothing
    case http(HTTPResponseParser)
    case stream(HTTPResponseParser, EventStreamReader)
    case socket(RawSocket)
  }

  private static let first = ConnectionID.outgoing(1)
  private static let second = ConnectionID.outgoing(2)

  private let plan: ProbePlan
  private var reader: Reader
  /// Parser of the connection that makes the change; nil if there is none.
  private var changeParser: HTTPResponseParser?
  private var report: ProbeReport
  private var isFinished = false
  private var deadline: Instant
  /// Time at which to make the change; nil: not yet known, or already made.
  private var changeDue: Instant?
  private var actions = ActionQueue<NodeAction<NoJob, ProbeReport, Never>>()

  package init(_ plan: ProbePlan, random: SeededRandom, at moment: Moment) {
    self.plan = plan
    report = ProbeReport(begun: moment)
    deadline = moment.instant.advanced(milliseconds: ProbePlan.milliseconds)
    switch plan.kind {
    case .connection: reader = .nothing
    case .request, .longPoll, .events: reader = .http(HTTPResponseParser())
    case .socket(let token):
      reader = .socket(RawSocket(Self.first, to: plan.relay, token: token, random: random))
    }
    actions.append(.open(Self.first, plan.relay.peer))
  }

  package mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    if isFinished { return }
    switch event {
    case .opened(Self.first, let opening): handleOpened(opening, at: moment)
    case .opened(Self.second, _): sendChange(at: moment)
    case .opened: break
    case .closed(Self.first, let cause): handleClosed(cause, at: moment)
    case .closed: finish(.broken("the change could not be saved"), at: moment)
    case .deadlineReached: handleDeadline(at: moment)
    case .stopping: finish(.broken("the probe was stopped"), at: moment)
    case .drained, .holding, .connectionRejected, .finished: break
    }
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    if isFinished { return }
    do throws(Refusal) {
      if id == Self.second { return try readChangeResponse(bytes, at: moment) }
      switch reader {
      case .nothing: break
      case .http(var parser):
        reader = .nothing
        parser.receive(bytes)
        try readResponse(&parser, at: moment)
      case .stream(var parser, var events):
        reader = .nothing
        parser.receive(bytes)
        try readEvents(&parser, &events, at: moment)
        reader = .stream(parser, events)
      case .socket(var socket):
        reader = .nothing
        socket.receive(bytes)
        try readSocket(&socket, at: moment)
        reader = .socket(socket)
      }
    } catch {
      finish(.broken(error.detail), at: moment)
    }
  }

  package mutating func nextAction() -> NodeAction<NoJob, ProbeReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    isFinished ? nil : [deadline, changeDue].compactMap(\.self).min()
  }

  // MARK: Connections

  private mutating func handleOpened(_ opening: Opening, at moment: Moment) {
    report.opened = moment.instant
    if case .agreed(let version, let end) = opening.terms {
      report.version = version
      report.certificateEnd = end
    }
    switch plan.kind {
    case .connection: finish(.done, at: moment)
    case .request(let request): send(request, on: Self.first)
    case .longPoll(let token, let since, let seconds):
      var request = HTTPCallRequest("GET", path: ["v1", "changes"], token: token)
      request.query = [
        RequestTarget.QueryItem(name: "since", value: since.text),
        RequestTarget.QueryItem(name: "wait", value: String(seconds)),
      ]
      send(request, on: Self.first)
      changeDue = plan.change.map { _ in
        moment.instant.advanced(milliseconds: ProbePlan.quietMilliseconds)
      }
    case .events(let token):
      send(HTTPCallRequest("GET", path: ["v1", "events"], token: token), on: Self.first)
    case .socket:
      guard case .socket(var socket) = reader else { return }
      actions.append(.send(Self.first, socket.opened()))
      reader = .socket(socket)
    }
  }

  private mutating func send(_ request: HTTPCallRequest, on id: ConnectionID) {
    if id == Self.first, case .http(var parser) = reader {
      parser.expectAnswer(to: request.method)
      parser.bodyLimit = Limits.relayMessageBytes
      reader = .http(parser)
    }
    var headers: HTTPHeaders = [:]
    if let token = request.token { headers.append("Authorization", "Bearer " + token) }
    if request.body != nil { headers.append("Content-Type", "application/json") }
    let target = RequestTarget(path: request.path, query: request.query)
    actions.append(
      .send(
        id,
        HTTPWriter.request(
          method: request.method, target: target, host: plan.relay.authority, headers: headers,
          body: request.body)))
  }

  private mutating func handleClosed(_ cause: CloseCause, at moment: Moment) {
    switch cause {
    case .notTrusted(let fault): finish(.untrusted(fault.explanation), at: moment)
    case .connectFailed(let words): finish(.unreachable(words), at: moment)
    case .failed(let words): finish(.broken(words), at: moment)
    case .endOfStream: finish(.broken("the server closed the connection"), at: moment)
    }
  }

  private mutating func handleDeadline(at moment: Moment) {
    if deadline <= moment.instant {
      let isIdle = report.idleSince != nil
      let isUp = report.opened != nil
      return finish(isIdle ? .done : isUp ? .late : .unreachable(Self.timeoutText), at: moment)
    }
    if let changeDue, changeDue <= moment.instant { openChangeConnection() }
  }

  private static let timeoutText = "the connection was not established in time"

  // MARK: Change

  private mutating func openChangeConnection() {
    changeDue = nil
    guard plan.change != nil, changeParser == nil else { return }
    changeParser = HTTPResponseParser()
    actions.append(.open(Self.second, plan.relay.peer))
  }

  private mutating func sendChange(at moment: Moment) {
    guard let change = plan.change else { return }
    changeParser?.expectAnswer(to: change.method)
    send(change, on: Self.second)
    report.changeRequested = moment.instant
  }

  private mutating func readChangeResponse(_ bytes: RawSpan, at moment: Moment) throws(Refusal) {
    guard var parser = changeParser else { return }
    changeParser = nil
    defer { changeParser = parser }
    parser.receive(bytes)
    while let event = try parser.next() {
      if case .head(let head) = event, head.status != 200 {
        let reason = "the save of the change was answered with status \(head.status)"
        return finish(.broken(reason), at: moment)
      }
    }
  }

  // MARK: Input

  private mutating func readResponse(
    _ parser: inout HTTPResponseParser, at moment: Moment
  ) throws(Refusal) {
    while let event = try parser.next() {
      switch event {
      case .head(let head):
        recordHead(head, at: moment)
        if case .events = plan.kind, head.status == 200 {
          parser.bodyLimit = .max
          var events = EventStreamReader()
          try readEvents(&parser, &events, at: moment)
          reader = .stream(parser, events)
          return
        }
      case .body(let chunk): report.body += chunk
      case .end:
        if case .longPoll = plan.kind { report.changeReported = moment.instant }
        return finish(.done, at: moment)
      }
    }
    reader = .http(parser)
  }

  private mutating func recordHead(_ head: HTTPResponseHead, at moment: Moment) {
    report.answered = moment.instant
    report.status = head.status
    report.proxyHeaders = ProbeReport.proxyHeaders(in: head.headers)
  }

  private mutating func readEvents(
    _ parser: inout HTTPResponseParser, _ events: inout EventStreamReader, at moment: Moment
  ) throws(Refusal) {
    while !isFinished, let event = try parser.next() {
      guard case .body(let chunk) = event else {
        return finish(.broken("the stream of events ended"), at: moment)
      }
      events.receive(chunk.span.bytes)
      while let event = try events.next() {
        switch try RelayEvent.decode(event) {
        case .changes(let page): recordToken(page.token, at: moment)
        case .changed(let token): recordToken(token, at: moment)
        case .error(let refusal): throw refusal
        case .unknown: break
        }
      }
    }
  }

  private mutating func readSocket(_ socket: inout RawSocket, at moment: Moment) throws(Refusal) {
    while !isFinished, let event = socket.next() {
      switch event {
      case .opened:
        report.answered = moment.instant
        report.status = 101
        actions.append(.send(Self.first, socket.frame(of: .hello(token: nil, since: nil))))
      case .text(let text):
        switch try RelayMessage.decode(text) {
        case .welcome(_, _, let token, _, _):
          recordToken(token, at: moment)
          let timeRequest = DeviceMessage.time(id: "doctor", t0: JSONNumber(moment.wall))
          actions.append(.send(Self.first, socket.frame(of: timeRequest)))
        case .time:
          report.timeAnswered = moment.instant
          finishIfComplete(at: moment)
        case .changes(_, let page): recordToken(page.token, at: moment)
        case .changed(let token): recordToken(token, at: moment)
        case .error(_, let refusal): throw refusal
        case .saved, .reconnect, .unknown: break
        }
      case .ended(let reason): finish(.broken(reason), at: moment)
      }
    }
    for reply in socket.drainReplies() {
      report.pings += 1
      actions.append(.send(Self.first, reply))
    }
  }

  /// Records a change token. The first one is the account's current state; every later one is a
  /// change.
  private mutating func recordToken(_ token: ChangeToken, at moment: Moment) {
    if report.welcomed == nil {
      report.welcomed = moment.instant
      report.token = token
      if plan.change != nil { openChangeConnection() }
    } else if report.changeRequested != nil, report.changeReported == nil {
      report.changeReported = moment.instant
    }
    finishIfComplete(at: moment)
  }

  // MARK: End

  /// Ends the probe, or starts the idle time, once everything expected has arrived.
  private mutating func finishIfComplete(at moment: Moment) {
    guard !isFinished, report.welcomed != nil, report.idleSince == nil else { return }
    if plan.change != nil, report.changeReported == nil { return }
    if case .socket = plan.kind, report.timeAnswered == nil { return }
    if plan.idleMilliseconds == 0 { return finish(.done, at: moment) }
    report.idleSince = moment.instant
    deadline = moment.instant.advanced(milliseconds: plan.idleMilliseconds)
  }

  private mutating func finish(_ end: ProbeReport.End, at moment: Moment) {
    guard !isFinished else { return }
    isFinished = true
    report.end = end
    report.ended = moment
    actions.append(.close(Self.first, .now))
    if changeParser != nil { actions.append(.close(Self.second, .now)) }
    actions.append(.report(report))
  }
}

extension ProbeReport {
  /// Header fields of proxies and other servers. A relay sends none of them.
  private static let proxyHeaderNames: [StaticString] = [
    "Server", "Via", "X-Accel-Buffering", "X-Cache", "X-Served-By", "X-Varnish", "CF-Ray",
    "X-Powered-By", "Alt-Svc",
  ]

  static func proxyHeaders(in headers: HTTPHeaders) -> [String] {
    proxyHeaderNames.compactMap { name in headers[name].map { "\(name): \($0)" } }
  }
}

/// Test of one connection to a relay.
package struct ProbePlan: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Only the connection.
    case connection
    /// An HTTP request, until the end of its answer.
    case request(HTTPCallRequest)
    /// A long-poll from a cursor in the account's changes, held for this many seconds.
    case longPoll(token: String, since: ChangeToken, seconds: Int)
    /// An event stream from the newest cursor, until its first event.
    case events(token: String)
    /// A WebSocket, until its welcome and the answer to a time request.
    case socket(token: String)
  }

  package var relay: RelayAddress
  package var kind: Kind
  /// A change that another device makes while the request is pending, and that the tested
  /// connection must report. nil: no change is made.
  package var change: HTTPCallRequest?
  /// Time for which a socket stays open after everything else, and only answers pings.
  package var idleMilliseconds: Int64 = 0

  /// Time limit for everything except the idle time.
  package static let milliseconds: Int64 = 6_000
  /// Time for which a long-poll must have waited before the change is made.
  package static let quietMilliseconds: Int64 = 300

  package init(_ relay: RelayAddress, _ kind: Kind, change: HTTPCallRequest? = nil) {
    self.relay = relay
    self.kind = kind
    self.change = change
  }
}

/// Result of a probe, with times.
package struct ProbeReport: Hashable, Sendable {
  package enum End: Hashable, Sendable {
    /// All expected data arrived.
    case done
    /// No connection was made.
    case unreachable(String)
    /// The server answered but could not be authenticated as the relay.
    case untrusted(String)
    /// The connection was open, and ended or sent invalid data.
    case broken(String)
    /// The time limit was reached.
    case late
  }

  package var end = End.late
  package var begun: Moment
  package var ended: Moment
  /// Time at which the connection was open and the request was sent.
  package var opened: Instant?
  /// TLS version, for example `TLSv1.3`.
  package var version: String?
  /// End of the certificate, milliseconds since the Unix epoch.
  package var certificateEnd: Int64?
  /// Time of the answer's head; for a socket, of the upgrade.
  package var answered: Instant?
  package var status: Int?
  /// Header fields that the relay does not send itself: a proxy added them.
  package var proxyHeaders: [String] = []
  /// Body of a complete answer.
  package var body: [UInt8] = []
  /// Time of the first event, or of the socket's welcome.
  package var welcomed: Instant?
  /// The account's newest change token at that time.
  package var token: ChangeToken?
  /// Time of the socket's answer to the time request.
  package var timeAnswered: Instant?
  /// Time at which the change was requested.
  package var changeRequested: Instant?
  /// Time at which this connection reported the change.
  package var changeReported: Instant?
  /// Time since which the socket was idle.
  package var idleSince: Instant?
  /// Number of answered pings.
  package var pings = 0

  package init(begun: Moment) {
    self.begun = begun
    ended = begun
  }

  /// Returns the time between two instants, in nanoseconds; nil if one of them is missing.
  package func nanoseconds(_ from: Instant?, _ to: Instant?) -> Int64? {
    guard let from, let to else { return nil }
    return to.nanoseconds - from.nanoseconds
  }

  /// Time from requesting the change until it was reported, including the save; nil if one of them
  /// is missing, or the report came earlier.
  package var pushNanoseconds: Int64? {
    nanoseconds(changeRequested, changeReported).flatMap { $0 < 0 ? nil : $0 }
  }
}
