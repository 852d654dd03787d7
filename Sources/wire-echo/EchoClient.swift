import LockstepModel
import LockstepRuntime
import LockstepWire

/// Client that a conformance suite tests: requests the number of cases, opens a WebSocket for each,
/// echoes all messages until the suite closes it, and then requests that the reports be written.
struct EchoClient: Node {
  typealias Order = Never
  typealias News = Never

  enum Report: Hashable, Sendable {
    /// The number of cases in the suite.
    case cases(Int)
    case finished
    /// The run ends early, for this reason.
    case failed(String)
  }

  private enum Step {
    case count
    case run(Int)
    case report
  }

  private enum Stage {
    /// → opening
    case connecting
    /// → open
    case opening(HTTPResponseParser, key: String)
    case open(EchoSocket)
    case over
  }

  /// Allows the server any window, and to keep its context.
  private static let offer = DeflateOffer(keepsServerContext: true, letsServerLimitWindow: true)

  private let suite: SuiteAddress
  private let deflates: Bool
  private var random: SeededRandom
  private var step = Step.count
  private var cases = 0
  private var stage = Stage.over
  private var backlog = EchoBacklog()
  private var connections: UInt64 = 0
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()
  private(set) var nextDeadline: Instant?

  /// Begins at `now`.
  init(_ suite: SuiteAddress, deflates: Bool, random: SeededRandom, at now: Instant) {
    self.suite = suite
    self.deflates = deflates
    self.random = random
    open(.count, at: now)
  }

  private var id: ConnectionID { .outgoing(connections) }

  mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    switch event {
    case .opened(id, _): sendRequest()
    case .closed(id, let cause): handleClose(cause, at: moment.instant)
    case .drained(id, let unsent):
      guard let pauses = backlog.pauses(at: unsent) else { return }
      actions.append(pauses ? .pauseReading(id) : .resumeReading(id))
    case .deadlineReached:
      guard let deadline = nextDeadline, deadline <= moment.instant else { return }
      fail("\(suite.text)\(target.text) did not finish within its timeout")
    case .stopping: fail("stopped by a signal")
    case .opened, .closed, .drained, .holding, .connectionRejected, .finished: break
    }
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard id == self.id else { return }
    switch stage {
    case .connecting, .over: break
    case .opening(var parser, let key):
      parser.receive(bytes)
      readResponse(&parser, key, at: moment.instant)
    case .open(let socket):
      socket.receive(bytes)
      reply(socket, at: moment.instant)
    }
  }

  // MARK: one connection

  private mutating func open(_ step: Step, at now: Instant) {
    self.step = step
    connections += 1
    stage = .connecting
    backlog = EchoBacklog()
    nextDeadline = now.advanced(milliseconds: Limits.echoCaseMilliseconds)
    actions.append(.open(id, suite.peer))
  }

  private var target: RequestTarget {
    let agent = RequestTarget.QueryItem(name: "agent", value: "lockstep")
    switch step {
    case .count: return RequestTarget(path: ["getCaseCount"])
    case .run(let number):
      let item = RequestTarget.QueryItem(name: "case", value: String(number))
      return RequestTarget(path: ["runCase"], query: [item, agent])
    case .report: return RequestTarget(path: ["updateReports"], query: [agent])
    }
  }

  /// Sends the request once the connection is established.
  private mutating func sendRequest() {
    var nonce: [UInt8] = []
    for _ in 0..<16 { nonce.append(UInt8.random(in: 0...255, using: &random)) }
    let key = WebSocketHandshake.key(nonce: nonce)
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    stage = .opening(parser, key: key)
    let headers = WebSocketHandshake.offer(key: key, deflate: deflates ? Self.offer : nil)
    let request = HTTPWriter.request(
      method: "GET", target: target, host: suite.text, headers: headers)
    actions.append(.send(id, request))
  }

  private mutating func readResponse(
    _ parser: inout HTTPResponseParser, _ key: String, at now: Instant
  ) {
    do throws(Refusal) {
      guard case .head(let head) = try parser.next() else {
        stage = .opening(parser, key: key)
        return
      }
      let terms = try WebSocketHandshake.check(
        head, key: key, deflate: deflates ? Self.offer : nil)
      let socket = EchoSocket(role: .client, deflate: terms, random: random.branch())
      stage = .open(socket)
      let rest = parser.takeRest()
      socket.receive(rest.span.bytes)
      reply(socket, at: now)
    } catch {
      fail("\(suite.text)\(target.text) did not open a WebSocket: \(error.detail)")
    }
  }

  private mutating func reply(_ socket: EchoSocket, at now: Instant) {
    while let reply = socket.nextReply() {
      switch reply {
      case .frame(let frame):
        // The number of cases is an answer, and must not be echoed.
        if case .run = step { actions.append(.send(id, frame)) }
      case .last(let frame):
        actions.append(.send(id, frame))
        actions.append(.close(id, .afterSending))
        return finishStep(socket, at: now)
      }
    }
  }

  private mutating func handleClose(_ cause: CloseCause, at now: Instant) {
    guard case .open(let socket) = stage else {
      return fail(
        "\(suite.text) cannot be reached (\(cause)); is the suite's server running?")
    }
    finishStep(socket, at: now)
  }

  // MARK: from one step to the next

  private mutating func finishStep(_ socket: EchoSocket, at now: Instant) {
    switch step {
    case .count:
      guard let count = Int(String(decoding: socket.lastText, as: UTF8.self)), count >= 0 else {
        return fail("\(suite.text)\(target.text) returned no number; is it a suite's server?")
      }
      cases = count
      actions.append(.report(.cases(count)))
      open(count == 0 ? .report : .run(1), at: now)
    case .run(let number): open(number < cases ? .run(number + 1) : .report, at: now)
    case .report:
      stage = .over
      nextDeadline = nil
      actions.append(.report(.finished))
    }
  }

  private mutating func fail(_ reason: String) {
    actions.append(.close(id, .now))
    stage = .over
    nextDeadline = nil
    actions.append(.report(.failed(reason)))
  }
}

/// Address of a suite's server: `ws://HOST[:PORT]`.
struct SuiteAddress: Hashable, Sendable {
  let host: String
  let port: UInt16

  /// Returns nil if `text` is not such a URL.
  init?(_ text: String) {
    guard text.hasPrefix("ws://") else { return nil }
    var rest = text.dropFirst("ws://".count)
    if rest.hasSuffix("/") { rest.removeLast() }
    let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
    guard let host = parts.first, !host.isEmpty, !rest.contains("/"), parts.count <= 2 else {
      return nil
    }
    guard let port = parts.count == 1 ? 80 : UInt16(parts[1]), port > 0 else { return nil }
    self.host = String(host)
    self.port = port
  }

  var text: String { "\(host):\(port)" }
  var peer: PeerAddress { .host(host, port: port) }
}
