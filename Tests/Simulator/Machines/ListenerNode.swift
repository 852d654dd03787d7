import LockstepModel
import LockstepRuntime
import LockstepWire

/// A device that only listens on a socket. It keeps a cursor and no records, and reports what it
/// receives, to be checked against its subscription. Written from the protocol alone, separate from
/// the agent.
struct ListenerNode: Node, ~Copyable {
  typealias Order = Never
  typealias News = Never

  enum Report: Sendable {
    /// A page that was pushed, or sent as backlog; not an answer to a fetch.
    case pushed(ChangePage)
    case hinted(ChangeToken)
    /// The socket is open; `newest`: the account's newest token.
    case welcomed(newest: ChangeToken)
    case fetched(ChangePage)
    /// The page does not follow the cursor.
    case gap(ChangePage)
    case invalid(String)
  }

  private enum Stage {
    case closed
    case connecting
    case handshaking(HTTPResponseParser)
    case open(WebSocketReader)
  }

  private let token: String
  /// Cursor of the device; kept across its connections.
  private var cursor: ChangeToken?
  private var stage = Stage.closed
  private var connection = ConnectionID.outgoing(0)
  private var connections: UInt64
  private var fetches = 0
  private var isFetching = false
  /// True if this connection has fetched: an answer may cross a push, and then neither follows the
  /// other.
  private var hasFetched = false
  private var receivedAt = Instant(nanoseconds: 0)
  private var reopensAt: Instant?
  private var actions = ActionQueue<NodeAction<NoJob, Report, Never>>()

  private static let address = PeerAddress.host("relay.test", port: 5625)
  private static let key = WebSocketHandshake.key(nonce: Array(repeating: 7, count: 16))

  init(token: String, firstNumber: UInt64, at moment: Moment) {
    self.token = token
    connections = firstNumber
    open(at: moment)
  }

  var nextDeadline: Instant? { reopensAt ?? silenceEnd }

  private var silenceEnd: Instant {
    receivedAt.advanced(milliseconds: 2 * Limits.keepAliveMilliseconds)
  }

  mutating func nextAction() -> NodeAction<NoJob, Report, Never>? { actions.popFirst() }

  mutating func handle(_ event: NodeEvent<NoJob, Never, Never>, at moment: Moment) {
    switch event {
    case .opened(let id, _) where id == connection: sendUpgrade(at: moment)
    case .closed(let id, _) where id == connection: close(at: moment)
    case .deadlineReached: handleDeadline(at: moment)
    case .opened, .closed, .drained, .holding, .connectionRejected, .finished, .stopping: break
    }
  }

  mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    guard id == connection else { return }
    receivedAt = moment.instant
    switch stage {
    case .closed, .connecting: break
    case .handshaking(var parser):
      parser.receive(bytes)
      continueHandshakes(parser, at: moment)
    case .open(var reader):
      reader.receive(bytes)
      read(reader, at: moment)
    }
  }

  // MARK: the connection

  private mutating func open(at moment: Moment) {
    reopensAt = nil
    receivedAt = moment.instant
    connection = .outgoing(connections)
    connections += 1
    stage = .connecting
    actions.append(.open(connection, Self.address))
  }

  private mutating func handleDeadline(at moment: Moment) {
    if let reopensAt, reopensAt <= moment.instant { return open(at: moment) }
    guard reopensAt == nil, silenceEnd <= moment.instant else { return }
    actions.append(.close(connection, .now))
    close(at: moment)
  }

  private mutating func close(at moment: Moment) {
    stage = .closed
    isFetching = false
    hasFetched = false
    reopensAt = moment.instant.advanced(milliseconds: 700)
  }

  private mutating func sendUpgrade(at moment: Moment) {
    receivedAt = moment.instant
    var headers = WebSocketHandshake.offer(key: Self.key)
    headers.append("Authorization", "Bearer " + token)
    var parser = HTTPResponseParser()
    parser.expectAnswer(to: "GET")
    stage = .handshaking(parser)
    let target = RequestTarget(path: ["v1", "socket"])
    actions.append(
      .send(
        connection,
        HTTPWriter.request(method: "GET", target: target, host: "relay.test", headers: headers)))
  }

  private mutating func continueHandshakes(
    _ parser: consuming HTTPResponseParser, at moment: Moment
  ) {
    do {
      guard case .head(let head)? = try parser.next() else {
        stage = .handshaking(parser)
        return
      }
      guard head.status == 101 else {
        actions.append(.close(connection, .now))
        return close(at: moment)
      }
      var reader = WebSocketReader(
        role: .client, maximumMessageBytes: Limits.relayMessageBytes)
      reader.receive(parser.takeRest().span.bytes)
      stage = .open(reader)
      send(.hello(token: nil, since: cursor))
      read(reader, at: moment)
    } catch {
      reportInvalid("the handshake: \(error.detail)")
    }
  }

  // MARK: messages

  private mutating func read(_ reader: consuming WebSocketReader, at moment: Moment) {
    var reader = reader
    var messages: [[UInt8]] = []
    var isOver = false
    do {
      while let event = try reader.next() {
        switch event {
        case .text(let bytes): messages.append(bytes)
        case .ping(let payload):
          actions.append(.send(connection, WebSocketFrame.pong(payload, mask: 1)))
        case .close: isOver = true
        case .binary, .pong: break
        }
      }
    } catch {
      return reportInvalid(error.reason)
    }
    stage = .open(reader)
    for message in messages { handleMessage(message) }
    if isOver {
      actions.append(.close(connection, .afterSending))
      close(at: moment)
    }
  }

  private mutating func handleMessage(_ bytes: [UInt8]) {
    let message: RelayMessage
    do throws(Refusal) {
      message = try RelayMessage.decode(bytes)
    } catch {
      return reportInvalid(error.detail)
    }
    switch message {
    case .welcome(_, _, let newest, _, _):
      actions.append(.report(.welcomed(newest: newest)))
      if cursor == nil { fetch() }
    case .changes(let id, let page): handlePage(page, isAnswer: id != nil)
    case .changed(let token):
      actions.append(.report(.hinted(token)))
      fetch()
    case .error(_, let refusal):
      isFetching = false
      // Reads from the start if the cursor cannot be followed any more.
      if refusal.code.advice == .fetchFirst { cursor = nil }
      if refusal.code.advice == .fetchFirst { fetch() }
    case .saved, .time, .reconnect, .unknown: break
    }
  }

  private mutating func handlePage(_ page: ChangePage, isAnswer: Bool) {
    guard page.since == cursor else {
      if isAnswer { isFetching = false }
      if !hasFetched { actions.append(.report(.gap(page))) }
      return fetch()
    }
    cursor = page.token
    guard isAnswer else {
      actions.append(.report(.pushed(page)))
      return
    }
    isFetching = false
    actions.append(.report(.fetched(page)))
    if page.more { fetch() }
  }

  private mutating func fetch() {
    guard !isFetching else { return }
    isFetching = true
    hasFetched = true
    fetches += 1
    send(.fetch(id: "f\(fetches)", FetchQuery(since: cursor)))
  }

  private mutating func send(_ message: DeviceMessage) {
    actions.append(.send(connection, WebSocketFrame.text(message.encoded(), mask: 1)))
  }

  private mutating func reportInvalid(_ reason: String) {
    actions.append(.report(.invalid(reason)))
  }
}
