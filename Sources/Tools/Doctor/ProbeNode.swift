import LockstepClient
public import LockstepModel
public import LockstepWire

/// Tests one connection to a relay and records what was received and when. A second connection
/// makes the change that the first must report.
public struct ProbeNode: Node {
  public typealias Job = Never
  public typealias Outcome = Never
  public typealias Order = Never
  public typealias Report = ProbeReport
  public typealias News = Never

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
  private var changer: HTTPResponseParser?
  private var report: ProbeReport
  private var isOver = false
  private var deadline: Instant
  /// Time at which to make the change; nil: not yet known, or already made.
  private var changeDue: Instant?
  private var actions = ActionQueue<NodeAction<Never, ProbeReport, Never>>()

  public init(_ plan: ProbePlan, random: SeededRandom, at moment: Moment) {
    self.plan = plan
    report = ProbeReport(begun: moment)
    deadline = moment.instant.advanced(milliseconds: ProbePlan.milliseconds)
    switch plan.question {
    case .connection: reader = .nothing
    case .request, .longPoll, .events: reader = .http(HTTPResponseParser())
    case .socket(let token):
      reader = .socket(RawSocket(Self.first, to: plan.relay, token: token, random: random))
    }
    actions.append(.open(Self.first, plan.relay.peer))
  }

  public mutating func handle(_ event: NodeEvent<Never, Never, Never>, at moment: Moment) {
    if isOver { return }
    switch event {
    case .opened(Self.first, let opening): stand(opening, at: moment)
    case .opened(Self.second, _): sendChange(at: moment)
    case .opened: break
    case .closed(Self.first, let cause): lose(cause, at: moment)
    case .closed: finish(.broken("the change could not be made"), at: moment)
    case .deadlineReached: expire(at: moment)
    case .stopping: finish(.broken("it was stopped"), at: moment)
    case .drained, .holding, .turnedAway: break
    }
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    if isOver { return }
    do throws(Refusal) {
      if id == Self.second { return try hearOfChange(bytes, at: moment) }
      switch reader {
      case .nothing: break
      case .http(var parser):
        reader = .nothing
        parser.receive(bytes)
        try read(&parser, at: moment)
      case .stream(var parser, var events):
        reader = .nothing
        parser.receive(bytes)
        try read(&parser, &events, at: moment)
        reader = .stream(parser, events)
      case .socket(var socket):
        reader = .nothing
        socket.receive(bytes)
        try read(&socket, at: moment)
        reader = .socket(socket)
      }
    } catch {
      finish(.broken(error.detail), at: moment)
    }
  }

  public mutating func nextAction() -> NodeAction<Never, ProbeReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? {
    isOver ? nil : [deadline, changeDue].compactMap(\.self).min()
  }

  // MARK: Connections

  private mutating func stand(_ opening: Opening, at moment: Moment) {
    report.opened = moment.instant
    if case .agreed(let version, let end) = opening.terms {
      report.version = version
      report.certificateEnd = end
    }
    switch plan.question {
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

  private mutating func lose(_ cause: CloseCause, at moment: Moment) {
    switch cause {
    case .notTrusted(let fault): finish(.untrusted(fault.explanation), at: moment)
    case .connectFailed(let words): finish(.unreachable(words), at: moment)
    case .failed(let words): finish(.broken(words), at: moment)
    case .endOfStream: finish(.broken("it closed the connection"), at: moment)
    }
  }

  private mutating func expire(at moment: Moment) {
    if deadline <= moment.instant {
      let isIdle = report.idleSince != nil
      let isUp = report.opened != nil
      return finish(isIdle ? .done : isUp ? .late : .unreachable(Self.slow), at: moment)
    }
    if let changeDue, changeDue <= moment.instant { makeChange() }
  }

  private static let slow = "no connection came about in time"

  // MARK: Change

  private mutating func makeChange() {
    changeDue = nil
    guard plan.change != nil, changer == nil else { return }
    changer = HTTPResponseParser()
    actions.append(.open(Self.second, plan.relay.peer))
  }

  private mutating func sendChange(at moment: Moment) {
    guard let change = plan.change else { return }
    changer?.expectAnswer(to: change.method)
    send(change, on: Self.second)
    report.changed = moment.instant
  }

  private mutating func hearOfChange(_ bytes: RawSpan, at moment: Moment) throws(Refusal) {
    guard var parser = changer else { return }
    changer = nil
    defer { changer = parser }
    parser.receive(bytes)
    while let event = try parser.next() {
      if case .head(let head) = event, head.status != 200 {
        return finish(.broken("the change was answered with \(head.status)"), at: moment)
      }
    }
  }

  // MARK: Input

  private mutating func read(
    _ parser: inout HTTPResponseParser, at moment: Moment
  ) throws(Refusal) {
    while let event = try parser.next() {
      switch event {
      case .head(let head):
        take(head, at: moment)
        if case .events = plan.question, head.status == 200 {
          parser.bodyLimit = .max
          var events = EventStreamReader()
          try read(&parser, &events, at: moment)
          reader = .stream(parser, events)
          return
        }
      case .body(let chunk): report.body += chunk
      case .end:
        if case .longPoll = plan.question { report.told = moment.instant }
        return finish(.done, at: moment)
      }
    }
    reader = .http(parser)
  }

  private mutating func take(_ head: HTTPResponseHead, at moment: Moment) {
    report.answered = moment.instant
    report.status = head.status
    report.signs = ProbeReport.signs(in: head.headers)
  }

  private mutating func read(
    _ parser: inout HTTPResponseParser, _ events: inout EventStreamReader, at moment: Moment
  ) throws(Refusal) {
    while !isOver, let event = try parser.next() {
      guard case .body(let chunk) = event else {
        return finish(.broken("the stream of events ended"), at: moment)
      }
      events.receive(chunk.span.bytes)
      while let event = try events.next() {
        switch try RelayEvent.decode(event) {
        case .changes(let page): hear(page.token, at: moment)
        case .changed(let token): hear(token, at: moment)
        case .error(let refusal): throw refusal
        case .unknown: break
        }
      }
    }
  }

  private mutating func read(_ socket: inout RawSocket, at moment: Moment) throws(Refusal) {
    while !isOver, let event = socket.next() {
      switch event {
      case .standing:
        report.answered = moment.instant
        report.status = 101
        actions.append(.send(Self.first, socket.frame(of: .hello(token: nil, since: nil))))
      case .text(let text):
        switch try RelayMessage.decode(text) {
        case .welcome(_, _, let token, _, _):
          hear(token, at: moment)
          let question = DeviceMessage.time(id: "doctor", t0: JSONNumber(moment.wall))
          actions.append(.send(Self.first, socket.frame(of: question)))
        case .time:
          report.timed = moment.instant
          settle(at: moment)
        case .changes(_, let page): hear(page.token, at: moment)
        case .changed(let token): hear(token, at: moment)
        case .error(_, let refusal): throw refusal
        case .saved, .reconnect, .unknown: break
        }
      case .ended(let reason): finish(.broken(reason), at: moment)
      }
    }
    for reply in socket.takeReplies() {
      report.pings += 1
      actions.append(.send(Self.first, reply))
    }
  }

  /// Records a change token. The first one is the account's current state; every later one is a
  /// change.
  private mutating func hear(_ token: ChangeToken, at moment: Moment) {
    if report.greeted == nil {
      report.greeted = moment.instant
      report.token = token
      if plan.change != nil { makeChange() }
    } else if report.changed != nil, report.told == nil {
      report.told = moment.instant
    }
    settle(at: moment)
  }

  // MARK: End

  /// Ends the probe, or starts the idle time, once everything expected has arrived.
  private mutating func settle(at moment: Moment) {
    guard !isOver, report.greeted != nil, report.idleSince == nil else { return }
    if plan.change != nil, report.told == nil { return }
    if case .socket = plan.question, report.timed == nil { return }
    if plan.idleMilliseconds == 0 { return finish(.done, at: moment) }
    report.idleSince = moment.instant
    deadline = moment.instant.advanced(milliseconds: plan.idleMilliseconds)
  }

  private mutating func finish(_ end: ProbeReport.End, at moment: Moment) {
    guard !isOver else { return }
    isOver = true
    report.end = end
    report.ended = moment
    actions.append(.close(Self.first, .now))
    if changer != nil { actions.append(.close(Self.second, .now)) }
    actions.append(.report(report))
  }
}

extension ProbeReport {
  /// Header fields of proxies and other servers. A relay sends none of them.
  private static let signFields: [StaticString] = [
    "Server", "Via", "X-Accel-Buffering", "X-Cache", "X-Served-By", "X-Varnish", "CF-Ray",
    "X-Powered-By", "Alt-Svc",
  ]

  static func signs(in headers: HTTPHeaders) -> [String] {
    signFields.compactMap { name in headers[name].map { "\(name): \($0)" } }
  }
}
