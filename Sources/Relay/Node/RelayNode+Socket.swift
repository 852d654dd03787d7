import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWire

/// Messages of devices on a socket, and its start and end.
extension RelayNode {
  // MARK: upgrade

  mutating func upgrade(_ slot: Hub.Slot) {
    guard let head = connections[slot].http.exchange?.value.head else { return }
    var headers: HTTPHeaders
    var deflate: DeflateTerms?
    do throws(Refusal) {
      headers = try WebSocketHandshake.answer(to: head)
      if configuration.compresses,
        let agreed = try DeflateNegotiation.answer(to: head.headers, .shared)
      {
        headers.append("Sec-WebSocket-Extensions", agreed.field)
        deflate = agreed.terms
      }
    } catch {
      answer(slot, Answer(error))
      return
    }
    noteRequest(slot, status: 101)
    send(slot, HTTPWriter.response(status: 101, headers: headers))
    let rest = connections[slot].http.parser.takeRest()
    connections[slot].http = HTTPState()
    connections[slot].socket = WebSocketState(deflate: deflate)
    connections[slot].socket?.reader.receive(rest.span.bytes)
    sockets += 1
    let id = connections[slot].id
    timers.schedule(
      .request(id),
      at: moment.instant.advanced(milliseconds: Int64(configuration.limits.helloMilliseconds)))
    scheduleKeepAlive(slot)
  }

  // MARK: messages

  /// True if a message would be read now.
  func readsMessages(_ slot: Hub.Slot) -> Bool {
    guard connections[slot].socket?.isThrottled == false,
      let stage = connections[slot].socket?.stage,
      let requests = connections[slot].socket?.requests,
      let isFetching = connections[slot].socket?.isFetching
    else { return false }
    switch stage {
    case .awaitingHello, .open:
      // One page at a time: each may be large, and the answer to a save may wait for its end.
      return requests < configuration.limits.socketRequests && !isFetching && !isCrowded(slot)
    case .signingIn, .welcoming: return false
    }
  }

  mutating func readMessages(_ slot: Hub.Slot) {
    while connections.isTaken(slot), readsMessages(slot) {
      let event: WebSocketEvent?
      do throws(WebSocketFault) {
        event = try connections[slot].socket?.reader.next()
      } catch {
        closeSocket(slot, code: error.closeCode, error.reason)
        return
      }
      if event != nil { messageCame(slot) }
      switch event {
      case nil:
        watchMessage(slot)
        return
      case .text(let bytes): message(slot, bytes)
      case .binary: closeSocket(slot, code: 1003, "Send JSON as text frames.")
      case .ping(let payload): send(slot, WebSocketFrame.pong(payload))
      case .pong: connections[slot].socket?.unansweredPings = 0
      case .close(let code, _):
        status.socketsClosed.add(CloseTally.byTheDevice)
        send(slot, WebSocketFrame.close(code: code))
        close(slot, .afterSending)
      }
      if connections.isTaken(slot) { chargeFrame(slot) }
    }
  }

  private mutating func message(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    status.messages += 1
    let message: DeviceMessage
    do throws(Refusal) {
      message = try DeviceMessage.decode(bytes)
    } catch {
      refuseMessage(slot, bytes, error)
      return
    }
    if connections[slot].socket?.stage == .awaitingHello {
      guard case .hello(let token, let since) = message else {
        closeSocket(slot, Refusal(.badMessage, "Say hello first."))
        return
      }
      hello(slot, token: token, since: since)
      return
    }
    guard let session = connections[slot].session else { return }
    switch message {
    case .hello: closeSocket(slot, Refusal(.badMessage, "Say hello once."))
    case .save(let request):
      let overhead = request.mutations.count * Limits.recordOverheadBytes
      save(slot, session, request, bytes: bytes.count + overhead)
    case .fetch(let id, let query): fetch(slot, session, id, query)
    case .time(let id, let t0):
      say(slot, .time(id: id, t0: t0, t1: moment.wall, t2: moment.wall))
    }
  }

  /// Handles an invalid message. If it does not have the protocol's form, the socket closes; an
  /// error in a request answers that request.
  private mutating func refuseMessage(_ slot: Hub.Slot, _ bytes: [UInt8], _ refusal: Refusal) {
    let isOpen = connections[slot].socket?.stage == .open
    switch refusal.code {
    case .badMessage, .badJSON: closeSocket(slot, refusal)
    default:
      guard isOpen, let id = DeviceMessage.requestID(in: bytes) else {
        closeSocket(slot, code: 4400, refusal.detail)
        return
      }
      refuse(slot, id, refusal)
    }
  }

  private mutating func save(
    _ slot: Hub.Slot, _ session: Session, _ request: SaveRequest, bytes: Int
  ) {
    let id = connections[slot].id
    let commit = session.commit(of: request, wall: moment.wall)
    guard stage == .running else {
      refuse(slot, request.id.text, stoppingRefusal())
      return
    }
    guard
      askCommit(
        .save(commit),
        for: .socketSave(
          id, request.id, bytes: bytes, timedFrom: request.timed ? moment.instant : nil))
    else {
      refuse(slot, request.id.text, CommitQueue.overloaded)
      return
    }
    connections[slot].socket?.requests += 1
    connections[slot].socket?.requestBytes += bytes
  }

  private mutating func fetch(
    _ slot: Hub.Slot, _ session: Session, _ request: String, _ query: FetchQuery
  ) {
    guard stage == .running else {
      refuse(slot, request, stoppingRefusal())
      return
    }
    let ofWholeAccount = query.zone == nil
    let isAsked = askPage(
      session, query,
      as: PageForm(shape: .frame(request: request, isCompressed: takesCompressed(slot))),
      for: .socketFetch(
        connections[slot].id, request: request, ofWholeAccount: ofWholeAccount))
    guard isAsked else {
      refuse(slot, request, admission.refusal(of: .account(session.account)))
      return
    }
    connections[slot].socket?.requests += 1
    connections[slot].socket?.isFetching = true
    connections[slot].socket?.chain.fetchBegan(ofWholeAccount: ofWholeAccount)
  }

  // MARK: hello

  private mutating func hello(_ slot: Hub.Slot, token: String?, since: ChangeToken?) {
    let id = connections[slot].id
    timers.cancel(.request(id))
    let hash = token.map { DeviceToken.hash($0) }
    if let session = connections[slot].session {
      guard hash.map({ ConstantTime.equal($0, session.tokenHash) }) ?? true else {
        closeSocket(slot, Refusal(.badToken, "Two different tokens were sent; send one."))
        return
      }
      welcome(slot, session, since: since)
      return
    }
    guard let hash else {
      closeSocket(slot, Refusal(.badToken, "Send the device's token, in the header or in hello."))
      return
    }
    connections[slot].socket?.stage = .signingIn(since: since)
    if !askWho(id, tokenHash: hash) { closeSocket(slot, CommitQueue.overloaded) }
  }

  /// Registers the socket for news of the account, and only then reads the store.
  mutating func welcome(_ slot: Hub.Slot, _ session: Session, since: ChangeToken?) {
    if session.plan.hasNoZone {
      closeSocket(slot, Session.needsPlan)
      return
    }
    do throws(Refusal) {
      try checkConnections(slot, of: session.account)
    } catch {
      closeSocket(slot, error)
      return
    }
    connections[slot].socket?.stage = .welcoming(since: since)
    hub.watchBySocket(slot, session.account)
    if let since, since == hub.newest(of: session.account) {
      open(slot, session, since: since, newest: since)
      return
    }
    if !ask(.read(.newestToken(session.account)), for: .welcome(connections[slot].id)) {
      closeSocket(slot, CommitQueue.overloaded)
    }
  }

  mutating func welcomed(_ id: ConnectionID, _ result: Result<ReadResult, Refusal>) {
    guard let slot = connections.slot(of: id), let session = connections[slot].session,
      case .welcoming(let since) = connections[slot].socket?.stage
    else { return }
    switch result {
    case .success(.token(let token)): open(slot, session, since: since, newest: token)
    case .success: closeSocket(slot, ResponseBuilder.mismatch)
    case .failure(let refusal): closeSocket(slot, refusal)
    }
    read(slot)
  }

  /// Sends the welcome with the `newest` token, then the changes that the device missed since
  /// `since`.
  private mutating func open(
    _ slot: Hub.Slot, _ session: Session, since: ChangeToken?, newest: ChangeToken
  ) {
    connections[slot].socket?.stage = .open
    connections[slot].socket?.reader.maximumMessageBytes = Limits.messageBytes
    say(
      slot,
      .welcome(
        account: session.account, device: session.device, token: newest, time: moment.wall,
        keepAliveMilliseconds: configuration.keepAliveMilliseconds))
    tellReconnect(slot)
    let push = connections[slot].socket?.chain.begin(since: since, newest: newest)
    follow(slot, push ?? .nothing)
  }

  // MARK: end

  mutating func closeSocket(_ slot: Hub.Slot, _ refusal: Refusal) {
    count(refusal.code)
    closeSocket(slot, code: refusal.code.closeCode ?? 4400, refusal.detail)
  }

  mutating func closeSocket(_ slot: Hub.Slot, code: UInt16, _ reason: String) {
    status.socketsClosed.add(code)
    send(slot, WebSocketFrame.close(code: code, reason: reason))
    close(slot, .afterSending)
  }

  // MARK: sending

  mutating func say(_ slot: Hub.Slot, _ message: RelayMessage) {
    let payload = message.encoded()
    send(
      slot, takesCompressed(slot) ? deflater.text(payload) : WebSocketFrame.text(payload))
  }

  mutating func refuse(_ slot: Hub.Slot, _ request: String?, _ refusal: Refusal) {
    count(refusal.code)
    say(slot, .error(id: request, refusal))
  }
}
