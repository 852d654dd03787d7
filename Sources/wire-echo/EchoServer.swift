import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepWire

/// Accepts WebSockets at any path, and echoes the messages of each.
struct EchoServer: Node {
  typealias Order = Never
  typealias Report = Never
  typealias News = Never

  private enum Stage {
    /// → open
    case opening(HTTPRequestParser)
    case open(EchoSocket)
  }

  private struct Connection {
    var stage = Stage.opening(HTTPRequestParser())
    var backlog = EchoBacklog()
  }

  /// All windows of zlib up to our own limit, and a context if the client keeps one.
  static let policy = DeflatePolicy(
    windowBits: Deflater.windowBits.lowerBound...Limits.deflateWindowBits, keepsContext: true)

  private let deflates: Bool
  private var random: SeededRandom
  private var connections: [ConnectionID: Connection] = [:]
  private var actions = ActionQueue<NodeAction<NoJob, Never, Never>>()

  init(deflates: Bool, random: SeededRandom) {
    self.deflates = deflates
    self.random = random
  }

  var nextDeadline: Instant? { nil }

  mutating func nextAction() -> NodeAction<NoJob, Never, Never>? { actions.popFirst() }

  mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _):
      guard connections.count < Limits.echoConnections else {
        return actions.append(.close(id, .now))
      }
      connections[id] = Connection()
    case .closed(let id, _): connections[id] = nil
    case .drained(let id, let unsent):
      guard let pauses = connections[id]?.backlog.pauses(at: unsent) else { return }
      actions.append(pauses ? .pauseReading(id) : .resumeReading(id))
    case .stopping:
      for id in connections.keys.sorted() { close(id, WebSocketFrame.close(code: 1001)) }
    case .holding, .connectionRejected, .finished, .deadlineReached: break
    }
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    switch connections[id]?.stage {
    case nil: break
    case .opening(var parser):
      parser.receive(bytes)
      readRequest(id, &parser)
    case .open(let socket):
      socket.receive(bytes)
      reply(id, socket)
    }
  }

  private mutating func readRequest(_ id: ConnectionID, _ parser: inout HTTPRequestParser) {
    do throws(Refusal) {
      guard case .head(let head) = try parser.next() else {
        connections[id]?.stage = .opening(parser)
        return
      }
      try open(id, head, rest: parser.takeRest())
    } catch {
      close(
        id,
        HTTPWriter.response(
          status: error.code.status, headers: ["Connection": "close"],
          body: Array((error.detail + "\n").utf8)))
    }
  }

  private mutating func open(
    _ id: ConnectionID, _ head: HTTPRequestHead, rest: [UInt8]
  ) throws(Refusal) {
    var headers = try WebSocketHandshake.answer(to: head)
    var terms: DeflateTerms?
    if deflates, let agreed = try DeflateNegotiation.answer(to: head.headers, EchoServer.policy) {
      headers.append("Sec-WebSocket-Extensions", agreed.field)
      terms = agreed.terms
    }
    actions.append(.send(id, HTTPWriter.response(status: 101, headers: headers)))
    let socket = EchoSocket(role: .server, deflate: terms, random: random.branch())
    connections[id]?.stage = .open(socket)
    socket.receive(rest.span.bytes)
    reply(id, socket)
  }

  private mutating func reply(_ id: ConnectionID, _ socket: EchoSocket) {
    while let reply = socket.nextReply() {
      switch reply {
      case .frame(let frame): actions.append(.send(id, frame))
      case .last(let frame): return close(id, frame)
      }
    }
  }

  private mutating func close(_ id: ConnectionID, _ last: [UInt8]) {
    actions.append(.send(id, last))
    actions.append(.close(id, .afterSending))
    connections[id] = nil
  }
}
