import LockstepModel
import LockstepStorage
import LockstepWire

/// One connection of the test's relay: HTTP at first, then possibly a WebSocket.
final class TestConnection {
  let device: DeviceID
  let relay: TestRelay
  /// Host that the device asked for.
  var host = ""
  private var requests = HTTPRequestParser()
  private var frames: WebSocketReader?
  private var head: HTTPRequestHead?
  private(set) var body: [UInt8] = []
  private(set) var cursor: ChangeToken?
  private var parked: ChangeToken?
  private(set) var parkedUntil: Int64?
  /// Reaction of the intermediary when the long-poll has been held for its maximum time.
  private var cutBy: TestReaction?
  /// True if the intermediary was silent then: nothing sent on this connection arrives.
  private var isSwallowed = false
  /// Bytes for the device that the stage has not transferred yet.
  var outgoing: [UInt8] = []
  private(set) var isCut = false

  var isSocket: Bool { frames != nil }
  var isParked: Bool { parked != nil }

  init(_ device: DeviceID, _ relay: TestRelay) {
    self.device = device
    self.relay = relay
    requests.bodyLimit = Limits.chunkBytes
  }

  func cut() { isCut = true }

  func receive(_ bytes: [UInt8]) throws {
    guard !isCut else { return }
    if frames == nil {
      requests.receive(bytes.span.bytes)
      while let event = try requests.next() {
        switch event {
        case .head(let found):
          head = found
          requests.bodyLimit = Limits.chunkBytes
          body = []
        case .body(let bytes): body += bytes
        case .end:
          if let head { try answer(head) }
        }
        if frames != nil { break }
      }
    } else {
      frames?.receive(bytes.span.bytes)
    }
    while !isCut, let event = try frames?.next() {
      switch event {
      case .text(let bytes): try handleMessage(try DeviceMessage.decode(bytes))
      case .close(_, let reason):
        relay.recordClose(reason)
        cut()
      case .ping, .pong, .binary: break
      }
    }
  }

  func send(_ message: RelayMessage) {
    outgoing += WebSocketFrame.text(message.encoded())
  }

  func ping() { outgoing += WebSocketFrame.ping() }

  func close(_ code: UInt16) {
    outgoing += WebSocketFrame.close(code: code, reason: "")
    // The stage closes the connection after the frame.
    isCut = true
  }

  // MARK: the socket

  private func handleMessage(_ message: DeviceMessage) throws {
    relay.recordRequest(message.summary)
    if case .hello(_, let since) = message { relay.recordHello(since) }
    switch relay.onReceive?(self) ?? relay.onMessage?(message) {
    case nil: try answer(message)
    case .reply(let messages): messages.forEach(send)
    case .ignore, .respond: break
    case .loseAnswer:
      let before = outgoing
      try answer(message)
      outgoing = before
      cut()
    case .close(let code): close(code)
    case .cut: cut()
    }
  }

  private func answer(_ message: DeviceMessage) throws {
    switch message {
    case .hello(_, let since):
      let newest = try relay.newestToken()
      send(
        .welcome(
          account: TestRelay.account, device: device, token: newest, time: relay.wall,
          keepAliveMilliseconds: relay.keepAliveMilliseconds))
      guard let since else { return }
      cursor = since
      guard since != newest else { return }
      while true {
        guard let page = try read(since: cursor) else { return }
        send(.changes(id: nil, page))
        cursor = page.token
        if !page.more { return }
      }
    case .save(let request):
      switch try relay.commit(request, by: device, from: self) {
      case .saved(let outcome):
        if cursor == outcome.answer.since { cursor = outcome.answer.token }
        send(.saved(id: request.id, outcome.answer))
      case .refused(let refusal): send(.error(id: request.id.text, refusal))
      default: throw TestFault("no answer to a save")
      }
    case .fetch(let id, let query):
      switch try relay.read(since: query.since, limit: query.limit, for: device) {
      case .page(let page):
        cursor = page.token
        send(.changes(id: id, page))
      case .refused(let refusal): send(.error(id: id, refusal))
      default: throw TestFault("no page")
      }
    case .time(let id, let t0):
      send(.time(id: id, t0: t0, t1: relay.wall, t2: relay.wall))
    }
  }

  private func read(since: ChangeToken?) throws -> ChangePage? {
    switch try relay.read(since: since, limit: Limits.pageRecords, for: device) {
    case .page(let page): return page
    case .refused(let refusal):
      cursor = nil
      send(.error(id: nil, refusal))
      return nil
    default: throw TestFault("no page")
    }
  }

  /// Handles a save on another connection.
  func pushPage(_ page: ChangePage) {
    guard !isCut, !isSwallowed else { return }
    if let parked {
      self.parked = nil
      parkedUntil = nil
      guard
        case .page(let page)? = try? relay.store.read(
          .changes(TestRelay.account, since: parked, zones: .all, limit: Limits.pageRecords))
      else { return }
      return respond(200, page.encodedBody())
    }
    guard isSocket else { return }
    guard !relay.pushesHints, let cursor, cursor == page.since else {
      return send(.changed(token: page.token))
    }
    self.cursor = page.token
    send(.changes(id: nil, page))
  }

  // MARK: HTTP

  private func answer(_ head: HTTPRequestHead) throws {
    relay.recordRequest("\(head.method) /\(head.target.path.joined(separator: "/"))")
    switch relay.onReceive?(self) ?? relay.onRequest?(head) {
    case nil: try answerAsUsual(head)
    case .respond(let status, let headers, let body):
      outgoing += HTTPWriter.response(status: status, headers: headers, body: body)
    case .ignore, .reply: break
    case .loseAnswer:
      try answerAsUsual(head)
      outgoing = []
      cut()
    case .close, .cut: cut()
    }
  }

  private func answerAsUsual(_ head: HTTPRequestHead) throws {
    switch head.target.path {
    case ["v1", "time"]: respond(200, TimeAnswer(time: relay.wall).encodedBody())
    case ["v1", "socket"]:
      outgoing += HTTPWriter.response(
        status: 101, headers: try WebSocketHandshake.answer(to: head))
      frames = WebSocketReader(role: .server, maximumMessageBytes: Limits.messageBytes)
      let rest = requests.takeRest()
      frames?.receive(rest.span.bytes)
    case ["v1", "changes"]: try changes(head)
    case let path where path.count == 3 && path[1] == "chunks": try chunks(head)
    case let path where path.count == 4 && path[3] == "records":
      let request = try SaveRequest.decoded(body: body, zone: Name(trusted: path[2]))
      switch try relay.commit(request, by: device, from: self) {
      case .saved(let outcome): respond(200, outcome.answer.encodedBody())
      case .refused(let refusal): refuse(refusal)
      default: throw TestFault("no answer to a save")
      }
    default: refuse(Refusal(.notFound, "nothing"))
    }
  }

  private func changes(_ head: HTTPRequestHead) throws {
    let since = head.target["since"].flatMap { ChangeToken(text: $0) }
    switch try relay.read(since: since, limit: Limits.pageRecords, for: device) {
    case .page(let page):
      if let wait = head.target["wait"].flatMap({ Int64($0) }), page.changes.isEmpty, let since {
        parked = since
        let most = relay.cutsLongPolls?.afterMilliseconds ?? .max
        cutBy = most < wait * 1_000 ? relay.cutsLongPolls?.how : nil
        parkedUntil = relay.now + min(wait * 1_000, most)
        return
      }
      respond(200, page.encodedBody())
    case .refused(let refusal): refuse(refusal)
    default: throw TestFault("no page")
    }
  }

  func endWait() {
    guard let parked else { return }
    parkedUntil = nil
    if let cutBy {
      switch cutBy {
      // The relay still holds the request, but its answer will not arrive.
      case .ignore, .reply: isSwallowed = true
      case .respond(let status, let headers, let body): respond(status, headers: headers, body)
      case .close, .cut, .loseAnswer: cut()
      }
      if !isSwallowed { self.parked = nil }
      return
    }
    self.parked = nil
    respond(
      200, ChangePage(since: parked, token: parked, more: false, changes: []).encodedBody())
  }

  func refuse(_ refusal: Refusal) {
    respond(
      refusal.code.status, headers: ["Content-Type": "application/problem+json"],
      refusal.encodedProblem())
  }

  func respond(_ status: Int, headers: HTTPHeaders = [:], _ body: [UInt8]) {
    outgoing += HTTPWriter.response(status: status, headers: headers, body: body)
  }
}

extension DeviceMessage {
  var summary: String {
    switch self {
    case .hello(_, let since): since == nil ? "hello" : "hello since"
    case .save(let request): "save \(request.mutations.map(\.name.text).joined(separator: ","))"
    case .fetch(_, let query): query.since == nil ? "fetch" : "fetch since"
    case .time: "time"
    }
  }
}
