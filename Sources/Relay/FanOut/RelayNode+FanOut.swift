import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Messages of devices on a socket, and its start and end.
extension RelayNode {
  // MARK: upgrade

  mutating func upgradeToWebSocket(_ slot: Hub.Slot) {
    guard let head = connections[slot].http.exchange?.value.head else { return }
    var headers: HTTPHeaders
    var deflate: DeflateTerms?
    do throws(Refusal) {
      headers = try WebSocketHandshake.answer(to: head)
      if services.configuration.compresses,
        let agreed = try DeflateNegotiation.answer(to: head.headers, .shared)
      {
        headers.append("Sec-WebSocket-Extensions", agreed.field)
        deflate = agreed.terms
      }
    } catch {
      answer(slot, Answer(error))
      return
    }
    reportRequest(slot, status: 101)
    send(slot, HTTPWriter.response(status: 101, headers: headers))
    let rest = connections[slot].http.parser.takeRest()
    connections[slot].http = HTTPState()
    connections[slot].socket = WebSocketState(deflate: deflate)
    connections[slot].socket?.reader.receive(rest.span.bytes)
    services.sockets += 1
    let id = connections[slot].id
    services.timers.schedule(
      .request(id),
      at: services.moment.instant.advanced(
        milliseconds: Int64(services.configuration.limits.helloMilliseconds)))
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
      return requests < services.configuration.limits.socketRequests && !isFetching
        && !isCrowded(slot)
    case .signingIn, .welcoming: return false
    }
  }

  mutating func readMessages(_ slot: Hub.Slot) {
    while connections.isInUse(slot), readsMessages(slot) {
      let event: WebSocketEvent?
      do throws(WebSocketFault) {
        event = try connections[slot].socket?.reader.next()
      } catch {
        closeSocket(slot, code: error.closeCode, error.reason)
        return
      }
      if event != nil { endMessageTimer(slot) }
      switch event {
      case nil:
        startMessageTimer(slot)
        return
      case .text(let bytes): handleMessage(slot, bytes)
      case .binary: closeSocket(slot, code: 1003, "Send JSON as text frames.")
      case .ping(let payload): send(slot, WebSocketFrame.pong(payload))
      case .pong: connections[slot].socket?.unansweredPings = 0
      case .close(let code, _):
        services.status.socketsClosed.add(CloseCounts.byDevice)
        send(slot, WebSocketFrame.close(code: code))
        close(slot, .afterSending)
      }
      if connections.isInUse(slot) { chargeFrame(slot) }
    }
  }

  private mutating func handleMessage(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    services.status.messages += 1
    let message: DeviceMessage
    do throws(Refusal) {
      message = try DeviceMessage.decode(bytes)
    } catch {
      refuseMessage(slot, bytes, error)
      return
    }
    if connections[slot].socket?.stage == .awaitingHello {
      guard case .hello(let token, let since) = message else {
        closeSocket(slot, Refusal(.badMessage, "Send hello as the first message."))
        return
      }
      handleHello(slot, token: token, since: since)
      return
    }
    guard let session = connections[slot].session else { return }
    switch message {
    case .hello: closeSocket(slot, Refusal(.badMessage, "Send hello only once."))
    case .save(let request):
      let overhead = request.mutations.count * Limits.recordOverheadBytes
      handleSave(slot, session, request, bytes: bytes.count + overhead)
    case .fetch(let id, let query): handleFetch(slot, session, id, query)
    case .time(let id, let t0):
      sendMessage(slot, .time(id: id, t0: t0, t1: services.moment.wall, t2: services.moment.wall))
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
      sendRefusal(slot, id, refusal)
    }
  }

  private mutating func handleSave(
    _ slot: Hub.Slot, _ session: Session, _ request: SaveRequest, bytes: Int
  ) {
    let id = connections[slot].id
    let commit = session.saveCommit(for: request, wall: services.moment.wall)
    guard services.stage == .running else {
      sendRefusal(slot, request.id.text, services.stoppingRefusal())
      return
    }
    guard
      services.submitCommit(
        .save(commit),
        for: .socketSave(
          id, request.id, bytes: bytes, receivedAt: request.timed ? services.moment.instant : nil))
    else {
      sendRefusal(slot, request.id.text, StoreQueue.overloaded)
      return
    }
    connections[slot].socket?.requests += 1
    connections[slot].socket?.requestBytes += bytes
  }

  private mutating func handleFetch(
    _ slot: Hub.Slot, _ session: Session, _ request: String, _ query: FetchQuery
  ) {
    guard services.stage == .running else {
      sendRefusal(slot, request, services.stoppingRefusal())
      return
    }
    let ofWholeAccount = query.zone == nil
    let isSubmitted = services.submitPageRead(
      session, query,
      as: PageForm(shape: .frame(request: request, isCompressed: takesCompressed(slot))),
      for: .socketFetch(
        connections[slot].id, request: request, ofWholeAccount: ofWholeAccount))
    guard isSubmitted else {
      sendRefusal(slot, request, services.admission.refusal(of: .account(session.account)))
      return
    }
    connections[slot].socket?.requests += 1
    connections[slot].socket?.isFetching = true
    connections[slot].socket?.chain.beginFetch(ofWholeAccount: ofWholeAccount)
  }

  // MARK: hello

  private mutating func handleHello(_ slot: Hub.Slot, token: String?, since: ChangeToken?) {
    let id = connections[slot].id
    services.timers.cancel(.request(id))
    let hash = token.map { DeviceToken.hash($0) }
    if let session = connections[slot].session {
      guard hash.map({ ConstantTime.equal($0, session.tokenHash) }) ?? true else {
        closeSocket(slot, Refusal(.badToken, "Two different tokens were sent; send one."))
        return
      }
      beginWelcome(slot, session, since: since)
      return
    }
    guard let hash else {
      closeSocket(slot, Refusal(.badToken, "Send the device's token, in the header or in hello."))
      return
    }
    connections[slot].socket?.stage = .signingIn(since: since)
    if !services.lookUpToken(id, tokenHash: hash) { closeSocket(slot, StoreQueue.overloaded) }
  }

  /// Registers the socket for news of the account, and only then reads the store.
  mutating func beginWelcome(_ slot: Hub.Slot, _ session: Session, since: ChangeToken?) {
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
    services.hub.addSocket(slot, session.account)
    if let since, since == services.hub.newest(of: session.account) {
      completeWelcome(slot, session, since: since, newest: since)
      return
    }
    if !services.submitRead(
      .newestToken(session.account), for: .welcome(connections[slot].id))
    {
      closeSocket(slot, StoreQueue.overloaded)
    }
  }

  mutating func handleWelcomeRead(_ id: ConnectionID, _ result: Result<ReadResult, Refusal>) {
    guard let slot = connections.slot(of: id), let session = connections[slot].session,
      case .welcoming(let since) = connections[slot].socket?.stage
    else { return }
    switch result {
    case .success(.token(let token)): completeWelcome(slot, session, since: since, newest: token)
    case .success: closeSocket(slot, StoreHealth.mismatch)
    case .failure(let refusal): closeSocket(slot, refusal)
    }
    processInput(slot)
  }

  /// Sends the welcome with the `newest` token, then the changes that the device missed since
  /// `since`.
  private mutating func completeWelcome(
    _ slot: Hub.Slot, _ session: Session, since: ChangeToken?, newest: ChangeToken
  ) {
    connections[slot].socket?.stage = .open
    connections[slot].socket?.reader.maximumMessageBytes = Limits.messageBytes
    sendMessage(
      slot,
      .welcome(
        account: session.account, device: session.device, token: newest, time: services.moment.wall,
        keepAliveMilliseconds: services.configuration.keepAliveMilliseconds))
    sendReconnectPeriod(slot)
    let push = connections[slot].socket?.chain.begin(since: since, newest: newest)
    performPush(slot, push ?? .nothing)
  }

  // MARK: end

  mutating func closeSocket(_ slot: Hub.Slot, _ refusal: Refusal) {
    services.count(refusal.code)
    closeSocket(slot, code: refusal.code.closeCode ?? 4400, refusal.detail)
  }

  mutating func closeSocket(_ slot: Hub.Slot, code: UInt16, _ reason: String) {
    services.status.socketsClosed.add(code)
    send(slot, WebSocketFrame.close(code: code, reason: reason))
    close(slot, .afterSending)
  }

  // MARK: sending

  mutating func sendMessage(_ slot: Hub.Slot, _ message: RelayMessage) {
    let payload = message.encoded()
    send(
      slot, takesCompressed(slot) ? services.deflater.text(payload) : WebSocketFrame.text(payload))
  }

  mutating func sendRefusal(_ slot: Hub.Slot, _ request: String?, _ refusal: Refusal) {
    services.count(refusal.code)
    sendMessage(slot, .error(id: request, refusal))
  }
}

/// Continues a socket's cursor chain: pages that the relay reads for it, its own fetches, and the
/// answers to its saves.
extension RelayNode {
  /// Performs the chain's action, and then sends the answers that it makes due.
  mutating func performPush(_ slot: Hub.Slot, _ push: CursorChain.Push) {
    switch push {
    case .nothing, .push: break
    case .hint:
      if let token = connections[slot].socket?.chain.hintToken {
        services.status.hints += 1
        sendMessage(slot, .changed(token: token))
      }
    case .read: readPage(slot)
    }
    sendSaveAnswers(slot)
  }

  /// Reads the changes after the cursor, as soon as the connection accepts bytes.
  mutating func readPage(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let cursor = connections[slot].socket?.chain.cursor
    else { return }
    let isClogged = isClogged(slot)
    connections[slot].socket?.needsRead = isClogged
    if isClogged { return }
    let isSubmitted = services.submitPageRead(
      session, FetchQuery(since: cursor),
      as: PageForm(
        shape: .frame(request: nil, isCompressed: takesCompressed(slot)),
        keepsRecords: mayWithholdPages(slot)),
      for: .catchUp(connections[slot].id, since: cursor))
    if !isSubmitted { handlePageFailure(slot) }
  }

  /// True if the connection is a socket that accepts compressed messages.
  func takesCompressed(_ slot: Hub.Slot) -> Bool {
    connections[slot].socket?.takesCompressed ?? false
  }

  private mutating func handlePageFailure(_ slot: Hub.Slot) {
    let push = connections[slot].socket?.chain.handlePageFailure()
    performPush(slot, push ?? .nothing)
  }

  mutating func handleCatchUpRead(
    _ id: ConnectionID, since: ChangeToken, _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id),
      connections[slot].socket?.chain.awaitsPage(since: since) == true
    else { return }
    switch result {
    case .success(let page) where withholds(slot, page, connections[slot].socket?.chain):
      let push = connections[slot].socket?.chain.handleWithheldPage(to: page.token)
      performPush(slot, push ?? .nothing)
    case .success(let page):
      // An empty page that does not move the cursor carries no information.
      if !page.isEmpty || page.token != since { send(slot, page.bytes) }
      let push = connections[slot].socket?.chain.handleSentPage(to: page.token, more: page.more)
      performPush(slot, push ?? .nothing)
    case .failure(let refusal):
      if refusal.code.advice == .fetchFirst {
        connections[slot].socket?.chain.clearCursor()
        sendRefusal(slot, nil, refusal)
        sendSaveAnswers(slot)
      } else {
        handlePageFailure(slot)
      }
    }
    processInput(slot)
  }

  mutating func handleFetchRead(
    _ id: ConnectionID, request: String, ofWholeAccount: Bool,
    _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].socket?.requests -= 1
    connections[slot].socket?.isFetching = false
    switch result {
    case .success(let page):
      send(slot, page.bytes)
      if ofWholeAccount {
        let push = connections[slot].socket?.chain.completeFetch(to: page.token, more: page.more)
        performPush(slot, push ?? .nothing)
      }
    case .failure(let refusal): refuseFetch(slot, request, ofWholeAccount, refusal)
    }
    processInput(slot)
  }

  private mutating func refuseFetch(
    _ slot: Hub.Slot, _ request: String, _ ofWholeAccount: Bool, _ refusal: Refusal
  ) {
    sendRefusal(slot, request, refusal)
    guard ofWholeAccount else { return }
    connections[slot].socket?.chain.failFetch()
    sendSaveAnswers(slot)
  }

  // MARK: saves

  mutating func handleSaveResult(
    _ id: ConnectionID, _ batch: BatchID, bytes: Int, _ result: Result<CommitResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    connections[slot].socket?.requestBytes -= bytes
    if case .success(.saved(let outcome)) = result {
      // Counts as a request until it has its place in the chain.
      connections[slot].socket?.requestBytes += outcome.answer.conflictBytes
      connections[slot].socket?.chain.enqueueSaved(.init(id: batch, answer: outcome.answer))
      sendSaveAnswers(slot)
      processInput(slot)
      return
    }
    connections[slot].socket?.requests -= 1
    switch result {
    case .success: sendRefusal(slot, batch.text, StoreHealth.mismatch)
    case .failure(let refusal) where refusal.code == .badToken: closeSocket(slot, refusal)
    case .failure(let refusal): sendRefusal(slot, batch.text, refusal)
    }
    processInput(slot)
  }

  /// Sends the answers to saves that are due.
  private mutating func sendSaveAnswers(_ slot: Hub.Slot) {
    while let turn = connections[slot].socket?.chain.nextSaved() {
      switch turn {
      case .send(let saved):
        connections[slot].socket?.requests -= 1
        connections[slot].socket?.requestBytes -= saved.answer.conflictBytes
        sendMessage(slot, .saved(id: saved.id, saved.answer))
      case .read:
        readPage(slot)
        return
      case .wait: return
      }
    }
  }
}

extension SaveAnswer {
  /// Bytes of the records in its conflicts.
  fileprivate var conflictBytes: Int {
    results.reduce(0) { sum, result in
      guard case .conflict(_, let record) = result else { return sum }
      return sum + (record.fields?.count ?? 0)
    }
  }
}

/// Sends a commit to the connections that watch the account. Each encoding is built once and shared
/// by all receivers.
extension RelayNode {
  mutating func handleNews(_ news: RelayNews) {
    switch news {
    case .changed(let change):
      if change.origin?.node == services.configuration.node {
        services.status.recordsSaved += change.contents?.records.count ?? 0
        durableAt = change.durableAt
      }
      services.configuration.sharesStore ? handleOwnCommit(change) : pushChange(change)
    case .revoked(let account, let device, let origin):
      handleRevocation(account, device, by: origin)
    case .planChanged(let account, let plan): applyPlan(account, plan)
    case .subscribed(let account, let device, let all): applySubscriptions(account, device, all)
    case .accountRemoved(let account): handleAccountRemoval(account)
    case .presence(let node, let account, let device, let isConnected):
      services.presence.recordPresence(
        of: Presence.Key(account: account, device: device), isConnected: isConnected, on: node)
    case .pairingGuess(let address):
      services.admission.guesses.recordGuess(from: address, at: services.moment.instant)
    case .pairingRight(let address): services.admission.guesses.uncountGuess(from: address)
    case .newAccount(let address):
      _ = services.rates.newAccounts.spendTokens(address, at: services.moment.instant)
    case .status(let node, let status):
      if services.otherStatuses.indices.contains(node) { services.otherStatuses[node] = status }
    case .remoteCommit(let account, let token): handleRemoteCommit(account, to: token)
    case .remoteMembershipChange(let account): rereadMembership(of: account)
    case .remoteNewsLost: checkAccountVersions()
    }
  }

  /// Sends a change to all connections that watch the account. `lastPoll`: the last poll parked
  /// before the store was read for this; later ones may need more changes.
  mutating func pushChange(_ change: AccountChange, lastPoll: UInt64 = .max) {
    services.commits.recordChange(change.account)
    services.hub.recordCommit(change.account, to: change.token)
    guard let watchers = services.hub.watchers(of: change.account) else { return }
    let unmatchedDevices = change.unmatchedDevices(watchers.filters)
    let before = services.status.pushes
    if !watchers.sockets.isEmpty { pushToSockets(watchers.sockets, change, unmatchedDevices) }
    if !watchers.polls.isEmpty { pushToPolls(watchers.polls, change, unmatchedDevices, lastPoll) }
    if !watchers.streams.isEmpty { pushToStreams(watchers.streams, change, unmatchedDevices) }
    measureLag(of: change, receivers: services.status.pushes - before)
  }

  /// The clock is read once a turn, so a change may seem durable slightly after it was announced.
  private mutating func measureLag(of change: AccountChange, receivers: Int) {
    guard receivers > 0, let durableAt = change.durableAt else { return }
    let lag = services.moment.instant.nanoseconds - durableAt.nanoseconds
    services.status.notifyLag.observe(max(0, lag), times: receivers)
  }

  // MARK: sockets

  private mutating func pushToSockets(
    _ sockets: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>
  ) {
    let own = change.origin?.node == services.configuration.node ? change.origin?.connection : nil
    let frame = change.frame ?? []
    let limit = services.sendQueueLimit(for: .account(change.account))
    var pushed: [ConnectionID] = []
    pushed.reserveCapacity(sockets.count)
    var deflated: [ConnectionID] = []
    var hinted: [ConnectionID] = []
    var behind: [Hub.Slot] = []
    for slot in sockets {
      if !unmatchedDevices.isEmpty && isUnmatched(slot, unmatchedDevices) {
        let isOwn = own == connections[slot].id
        connections[slot].socket?.chain.recordUnmatched(change.token, isOwn: isOwn)
        continue
      }
      // One access, because every delivery costs this.
      let (id, push, isDeflated) = connections[slot].handleCommit(
        change, own: own, frameBytes: frame.count, limit: limit, at: services.moment.instant)
      switch push {
      case .nothing: break
      case .push where isDeflated: deflated.append(id)
      case .push: pushed.append(id)
      case .hint: hinted.append(id)
      case .read: behind.append(slot)
      }
    }
    services.status.pushes += pushed.count + deflated.count
    services.status.hints += hinted.count
    if !pushed.isEmpty { services.actions.append(.multicast(frame, pushed)) }
    if !deflated.isEmpty { sendDeflated(frame, to: deflated) }
    if !hinted.isEmpty { sendHints(to: hinted, change.token) }
    for slot in behind { readPage(slot) }
  }

  /// Sends the same frame to connections that accept it compressed; it is compressed once for all.
  private mutating func sendDeflated(_ frame: [UInt8], to ids: [ConnectionID]) {
    let deflated = services.deflater.frame(of: frame)
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.recordSent(deflated.count, at: services.moment.instant)
    }
    services.actions.append(.multicast(deflated, ids))
  }

  func isUnmatched(_ slot: Hub.Slot, _ unmatchedDevices: Set<DeviceID>) -> Bool {
    connections[slot].session.map { unmatchedDevices.contains($0.device) } ?? false
  }

  private mutating func sendHints(to ids: [ConnectionID], _ token: ChangeToken) {
    let hint = WebSocketFrame.text(RelayMessage.changed(token: token).encoded())
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.recordSent(hint.count, at: services.moment.instant)
    }
    services.actions.append(.multicast(hint, ids))
  }
}

extension Connection {
  /// Returns a socket's reaction to a commit, and whether the push is compressed. Only an
  /// uncompressed push is added to its queue here. `own`: the connection that requested the commit.
  /// `frameBytes`: of the push, 0 if it is too large for one. `limit`: bytes that may wait.
  fileprivate mutating func handleCommit(
    _ change: borrowing AccountChange, own: ConnectionID?, frameBytes: Int, limit: Int,
    at now: Instant
  ) -> (ConnectionID, CursorChain.Push, isDeflated: Bool) {
    let push = socket?.chain.handleCommit(
      since: change.since, token: change.token, isOwn: own == id, isLarge: frameBytes == 0,
      isCrowded: queue.isCrowded(limit: limit, at: now), isClogged: queue.isClogged(limit: limit))
    let isDeflated = socket?.takesCompressed == true && frameBytes >= Limits.deflateBytes
    if push == .push, !isDeflated { queue.recordSent(frameBytes, at: now) }
    return (id, push ?? .nothing, isDeflated)
  }
}

/// Event streams: start, delivery and end. A stream accepts no requests, so bytes that its client
/// sends are ignored.
extension RelayNode {
  // MARK: start

  /// Registers a stream for news, before the store is read for it.
  mutating func registerStream(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let head = connections[slot].http.exchange?.value.head
    else { return }
    connections[slot].stream = CopyOnWriteBox(EventStreamState(isChunked: head.minorVersion > 0))
    services.hub.addStream(slot, session.account)
  }

  /// Starts a stream after the store was read: its first event is the page.
  mutating func beginStream(_ slot: Hub.Slot, _ page: ReadPage) {
    guard let method = connections[slot].http.exchange?.value.head.method, let since = page.since
    else { return }
    guard services.stage == .running, connections[slot].session?.plan.hasNoZone == false else {
      answer(
        slot, Answer(services.stage == .running ? Session.needsPlan : services.stoppingRefusal()))
      return
    }
    let isHead = method == "HEAD"
    sendStreamHead(slot, closes: !isHead || closesAfterAnswer(slot))
    if isHead {
      endExchange(slot, closes: closesAfterAnswer(slot))
      return
    }
    let rest = connections[slot].http.parser.takeRest()
    connections[slot].http.exchange?.value.stage = .streaming
    connections[slot].stream?.value.hasBegun = true
    connections[slot].stream?.value.ignoredBytes = rest.count
    connections[slot].stream?.value.chain.beginReading(from: since)
    scheduleKeepAlive(slot)
    sendPage(slot, page)
  }

  /// Starts a stream without a cursor at the account's newest token, with an event that carries it.
  mutating func beginStream(_ slot: Hub.Slot, at newest: ChangeToken) {
    beginStream(slot, ReadPage(ChangePage(nothingSince: newest), as: eventForm(slot)))
  }

  /// Returns the form of a stream's pages.
  func eventForm(_ slot: Hub.Slot) -> PageForm {
    PageForm(
      shape: .event(isChunked: connections[slot].stream?.value.isChunked ?? false),
      keepsRecords: mayWithholdPages(slot))
  }

  private mutating func sendStreamHead(_ slot: Hub.Slot, closes: Bool) {
    var headers = HTTPHeaders()
    headers.append("Content-Type", "text/event-stream")
    // Proxies must pass each event on as it comes, and store none.
    headers.append("Cache-Control", "no-cache, no-store, no-transform")
    headers.append("X-Accel-Buffering", "no")
    headers.append("Lockstep-Keep-Alive", String(services.configuration.keepAliveMilliseconds))
    services.addCommonFields(&headers, connections[slot].opening, connections[slot].crossOrigin)
    if closes { headers.append("Connection", "close") }
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    connections[slot].http.exchange?.value.status = 200
    send(slot, HTTPWriter.responseHead(status: 200, headers: headers, isChunked: isChunked))
  }

  // MARK: commits

  mutating func pushToStreams(
    _ streams: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>
  ) {
    var pushed: [Hub.Slot] = []
    var hinted: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    let limit = services.sendQueueLimit(for: .account(change.account))
    for slot in streams {
      if !unmatchedDevices.isEmpty && isUnmatched(slot, unmatchedDevices) {
        connections[slot].stream?.value.chain.recordUnmatched(change.token, isOwn: false)
        continue
      }
      switch connections[slot].handleStreamCommit(change, limit: limit, at: services.moment.instant)
      {
      case .nothing: break
      case .push: pushed.append(slot)
      case .hint: hinted.append(slot)
      case .read: behind.append(slot)
      }
    }
    services.status.pushes += pushed.count
    services.status.hints += hinted.count
    if !pushed.isEmpty, let changes = change.contents?.changes {
      let event = changes.event(since: change.since, token: change.token, more: false)
      multicast(event, to: pushed)
    }
    if !hinted.isEmpty { multicast(RelayEvent.encodedHint(change.token), to: hinted) }
    for slot in behind { readBacklog(slot) }
  }

  /// Sends the same event to many streams: one buffer for all chunked streams, and one for the
  /// others.
  private mutating func multicast(_ event: [UInt8], to slots: [Hub.Slot]) {
    let plain = slots.filter { connections[$0].stream?.value.isChunked == false }
    let chunked = slots.filter { connections[$0].stream?.value.isChunked == true }
    if !plain.isEmpty { sendTogether(event, to: plain) }
    if !chunked.isEmpty { sendTogether(HTTPWriter.chunk(event), to: chunked) }
  }

  private mutating func sendTogether(_ bytes: [UInt8], to slots: [Hub.Slot]) {
    for slot in slots {
      connections[slot].queue.recordSent(bytes.count, at: services.moment.instant)
    }
    services.actions.append(.multicast(bytes, slots.map { connections[$0].id }))
  }

  // MARK: missed changes

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent.
  mutating func applyFilterChange(ofStream slot: Hub.Slot) {
    let isClogged = isClogged(slot)
    let push = connections[slot].stream?.value.chain.applyFilterChange(isClogged: isClogged)
    if push == .read { readBacklog(slot) }
  }

  /// Reads the changes after the cursor, as soon as the connection accepts bytes.
  mutating func readBacklog(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let cursor = connections[slot].stream?.value.chain.cursor
    else { return }
    let isClogged = isClogged(slot)
    connections[slot].stream?.value.needsRead = isClogged
    if isClogged { return }
    let isSubmitted = services.submitPageRead(
      session, FetchQuery(since: cursor), as: eventForm(slot),
      for: .backlog(connections[slot].id, since: cursor))
    if !isSubmitted { handleBacklogFailure(slot) }
  }

  mutating func handleBacklogRead(
    _ id: ConnectionID, since: ChangeToken, _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id),
      connections[slot].stream?.value.chain.awaitsPage(since: since) == true
    else { return }
    switch result {
    case .success(let page) where withholds(slot, page, connections[slot].stream?.value.chain):
      let push = connections[slot].stream?.value.chain.handleWithheldPage(to: page.token)
      if push == .read { readBacklog(slot) }
    case .success(let page): sendPage(slot, page)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // The cursor is no longer valid.
      endStream(slot, refusal)
      return
    case .failure: handleBacklogFailure(slot)
    }
    processInput(slot)
  }

  /// Sends a hint: the device must fetch.
  private mutating func handleBacklogFailure(_ slot: Hub.Slot) {
    guard connections[slot].stream?.value.chain.handlePageFailure() == .hint,
      let token = connections[slot].stream?.value.chain.hintToken
    else { return }
    services.status.hints += 1
    sendEvent(slot, RelayEvent.encodedHint(token))
  }

  private mutating func sendPage(_ slot: Hub.Slot, _ page: ReadPage) {
    send(slot, page.bytes)
    let push = connections[slot].stream?.value.chain.handleSentPage(to: page.token, more: page.more)
    if push == .read { readBacklog(slot) }
  }

  // MARK: end

  /// Ends a stream cleanly, with the reason as its last event.
  mutating func endStream(_ slot: Hub.Slot, _ refusal: Refusal) {
    services.count(refusal.code)
    // Streams that end together must not reconnect together.
    let retry = refusal.retryAfterMilliseconds.map {
      $0 + Int64.random(in: 0...1_000, using: &services.random)
    }
    sendEvent(slot, RelayEvent.encodedError(refusal, retryMilliseconds: retry))
    if connections[slot].stream?.value.isChunked == true { send(slot, HTTPWriter.lastChunk) }
    close(slot, .afterSending)
  }

  // MARK: sending

  private mutating func sendEvent(_ slot: Hub.Slot, _ event: [UInt8]) {
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    send(slot, isChunked ? HTTPWriter.chunk(event) : event)
  }

  /// Sends a heartbeat, so that the client and all proxies see that the stream is alive.
  mutating func sendHeartbeat(_ slot: Hub.Slot) {
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    send(slot, isChunked ? RelayNode.heartbeat : EventStreamWriter.heartbeat)
  }

  private static let heartbeat = HTTPWriter.chunk(EventStreamWriter.heartbeat)
}

extension Connection {
  /// Returns a stream's reaction to a commit. `limit`: bytes that may wait.
  fileprivate mutating func handleStreamCommit(
    _ change: borrowing AccountChange, limit: Int, at now: Instant
  ) -> CursorChain.Push {
    let push = stream?.value.chain.handleCommit(
      since: change.since, token: change.token, isOwn: false, isLarge: change.isLarge,
      isCrowded: queue.isCrowded(limit: limit, at: now), isClogged: queue.isClogged(limit: limit))
    return push ?? .nothing
  }
}

extension ChangePage {
  /// Creates a page that does not move the cursor.
  init(nothingSince token: ChangeToken) {
    self.init(since: token, token: token, more: false, changes: [])
  }
}

/// Long-polls: waiting, and answers to commits.
extension RelayNode {
  /// Registers a poll for news, before the store is read for it.
  mutating func registerPoll(_ slot: Hub.Slot, _ query: FetchQuery) {
    guard query.waitMilliseconds > 0, let since = query.since, since.pinned == nil,
      let session = connections[slot].session
    else { return }
    var poll = LongPoll(query, at: services.moment.instant)
    if let head = connections[slot].http.exchange?.value.head {
      poll.sharesAnswers = query.zone == nil && head.isPlainGet
    }
    connections[slot].http.exchange?.value.poll = poll
    services.hub.addPoll(slot, session.account)
  }

  /// Parks a poll at the account's newest known token, without a read of the store. Returns false
  /// if the store must be read.
  mutating func parkIfCurrent(_ slot: Hub.Slot) -> Bool {
    guard services.stage == .running, let session = connections[slot].session,
      let newest = services.hub.newest(of: session.account),
      connections[slot].http.exchange?.value.poll?.isWaiting(at: newest) == true
    else { return false }
    connections[slot].http.exchange?.value.poll?.token = newest
    park(slot)
    return true
  }

  private mutating func park(_ slot: Hub.Slot) {
    connections[slot].http.exchange?.value.poll?.number = services.peerRelays.park()
    connections[slot].http.exchange?.value.stage = .parked
  }

  /// Answers or parks a poll after the store was read for it.
  mutating func handlePollRead(_ slot: Hub.Slot, _ query: FetchQuery, _ page: ReadPage) {
    guard let poll = connections[slot].http.exchange?.value.poll, !page.more,
      page.isEmpty || !(poll.hasMatch || matchesFilter(slot, page.records))
    else {
      answer(slot, services.answerWithReconnect(page.bytes))
      return
    }
    if let session = connections[slot].session, session.plan.hasNoZone {
      answer(slot, Answer(Session.needsPlan))
      return
    }
    connections[slot].http.exchange?.value.poll?.token = page.token
    connections[slot].http.exchange?.value.poll?.hasMatch = false
    if !page.isEmpty { connections[slot].http.exchange?.value.poll?.unmatchedToken = page.token }
    guard services.moment.instant < poll.endsAt, services.stage == .running else {
      answerEmpty(slot)
      return
    }
    if let announced = poll.newestAnnounced, !page.token.covers(announced) {
      connections[slot].http.exchange?.value.poll?.hasMatch = poll.hasMatch
      rereadChanges(slot)
      return
    }
    if let session = connections[slot].session, poll.query.zone == nil {
      // The connection was a member before the read, so all commits since then were announced.
      services.hub.recordStoredToken(session.account, page.token)
    }
    park(slot)
  }

  /// True if one of the records matches the device's filter.
  func matchesFilter(_ slot: Hub.Slot, _ records: [Record]) -> Bool {
    guard let session = connections[slot].session,
      let filters = services.hub.watchers(of: session.account)?.filters
    else { return true }
    return filters.matches(session.device, records)
  }

  mutating func pushToPolls(
    _ polls: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>,
    _ lastPoll: UInt64
  ) {
    var answered: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    for slot in polls {
      guard let poll = connections[slot].http.exchange?.value.poll,
        change.mayConcern(poll.query.zone), !poll.covers(change.token)
      else { continue }
      if isUnmatched(slot, unmatchedDevices) {
        connections[slot].http.exchange?.value.poll?.unmatchedToken = change.token
        continue
      }
      switch connections[slot].http.exchange?.value.stage {
      case .parked:
        if isSharedAnswer(change, poll), poll.number <= lastPoll {
          answered.append(slot)
        } else {
          connections[slot].http.exchange?.value.poll?.hasMatch = true
          behind.append(slot)
        }
      case .awaitingStore:
        connections[slot].http.exchange?.value.poll?.newestAnnounced = change.token
        connections[slot].http.exchange?.value.poll?.hasMatch = true
      case .reading, .full, .whole, .delayed, .sending, .streaming, nil: break
      }
    }
    if !answered.isEmpty { answerPolls(answered, change) }
    for slot in behind { rereadChanges(slot) }
    for slot in behind { processInput(slot) }
    for slot in answered {
      // Usually no request follows a poll.
      if connections[slot].holdsNothing(), !isCrowded(slot) {
        updateRequestTimer(slot)
      } else {
        processInput(slot)
      }
    }
  }

  /// Handles new subscriptions of the device: changes that the old ones skipped are checked again.
  mutating func applyFilterChange(ofPoll slot: Hub.Slot) {
    guard let unmatchedToken = connections[slot].http.exchange?.value.poll?.unmatchedToken else {
      return
    }
    switch connections[slot].http.exchange?.value.stage {
    case .parked:
      rereadChanges(slot)
      processInput(slot)
    case .awaitingStore:
      connections[slot].http.exchange?.value.poll?.newestAnnounced = unmatchedToken
    case .reading, .full, .whole, .delayed, .sending, .streaming, nil: break
    }
  }

  /// True if the commit alone is the whole answer, in bytes shared with other connections.
  private func isSharedAnswer(_ change: borrowing AccountChange, _ poll: LongPoll) -> Bool {
    guard poll.sharesAnswers, services.stage == .running, let count = change.contents?.records.count
    else {
      return false
    }
    return poll.query.since == change.since && poll.token == change.since
      && count <= poll.query.limit
  }

  private mutating func answerPolls(_ slots: [Hub.Slot], _ change: AccountChange) {
    guard let contents = change.contents else { return }
    let body = contents.changes.body(since: change.since, token: change.token, more: false)
    let answer = services.answerWithReconnect(body)
    services.status.pushes += slots.count
    // Pages of one origin get the same bytes, and so do all clients that are not pages.
    var rest = slots
    while let first = rest.first {
      let crossOrigin = connections[first].crossOrigin
      let alike = rest.filter { connections[$0].crossOrigin == crossOrigin }
      rest.removeAll { connections[$0].crossOrigin == crossOrigin }
      let bytes = services.response(
        answer, head: nil, opening: connections[first].opening, crossOrigin: crossOrigin,
        closes: false)
      send(answer, as: bytes, to: alike)
    }
  }

  private mutating func send(
    _ answer: borrowing Answer, as bytes: [UInt8], to slots: [Hub.Slot]
  ) {
    services.actions.append(.multicast(bytes, slots.map { connections[$0].id }))
    for slot in slots {
      connections[slot].queue.recordSent(bytes.count, at: services.moment.instant)
      connections[slot].http.exchange?.value.recordAnswer(answer)
      endExchange(slot, closes: false)
    }
  }

  private mutating func rereadChanges(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let query = connections[slot].http.exchange?.value.poll?.query
    else { return }
    connections[slot].http.exchange?.value.poll?.newestAnnounced = nil
    connections[slot].http.exchange?.value.stage = .awaitingStore
    updateRequestTimer(slot)
    let isSubmitted = services.submitPageRead(
      session, query, as: PageForm(shape: .body, keepsRecords: true),
      for: .call(connections[slot].id, .changes(query)))
    if !isSubmitted { answer(slot, Answer(services.admission.refusal(of: holder(of: slot)))) }
  }

  /// Ends a poll whose time is up. If the store is shared, it is read once more, because commits of
  /// other relays may not be announced yet.
  mutating func endPoll(_ slot: Hub.Slot) {
    if services.configuration.sharesStore { rereadChanges(slot) } else { answerEmpty(slot) }
  }

  /// Ends a poll without changes: its time is up, the relay stops, or the client has closed its
  /// side and sends no more (`isLast`).
  mutating func answerEmpty(_ slot: Hub.Slot, isLast: Bool = false) {
    guard let poll = connections[slot].http.exchange?.value.poll,
      // Skipped changes were not sent to the device, so its token stays.
      let token = poll.unmatchedToken == nil ? poll.token ?? poll.query.since : poll.query.since
    else { return }
    let page = ChangePage(since: poll.query.since, token: token, more: false, changes: [])
    answer(slot, services.answerWithReconnect(page.encodedBody()), isLast: isLast)
  }

  // MARK: repeated polls

  /// Restarts a poll that differs from the one before only in its token, as clients send it that
  /// ask for nothing else: the parsed head and the session stay valid. Returns false, and does
  /// nothing, if the bytes must be parsed: it is another request, or incomplete, or needs more than
  /// waiting.
  mutating func repeatLastPoll(_ slot: Hub.Slot, _ bytes: RawSpan) -> Bool {
    guard let since = connections[slot].http.repeatedSince(in: bytes), services.stage == .running,
      !isCrowded(slot), let session = connections[slot].session, !session.plan.hasNoZone,
      services.hub.addPoll(slot, session.account, at: since, limit: watcherLimit(slot))
    else { return false }
    guard chargeDevice(slot, session) == nil else {
      services.hub.removePoll(slot, session.account)
      return false
    }
    services.status.requests += 1
    connections[slot].http.repeatPoll(
      since: since, number: services.peerRelays.park(), at: services.moment.instant)
    updateRequestTimer(slot)
    return true
  }
}

extension HTTPState {
  /// Keeps an answered poll for its repetition.
  mutating func expectRepetition() {
    if exchange?.value.repetition == nil {
      guard let request = exchange?.value, request.headBytes == 0,
        let query = request.poll?.query
      else { return }
      exchange?.value.repetition = RepeatedPoll(request.head, query)
    }
    if exchange?.value.repetition != nil { swap(&exchange, &lastPoll) }
  }

  /// Returns the token if `bytes` repeat the last poll and nothing else has come.
  fileprivate mutating func repeatedSince(in bytes: RawSpan) -> ChangeToken? {
    guard exchange == nil, awaitsRequest() else { return nil }
    return lastPoll?.value.repetition?.since(in: bytes)
  }

  /// Restarts the last poll, for changes after `since`, the account's token.
  fileprivate mutating func repeatPoll(since: ChangeToken, number: UInt64, at now: Instant) {
    swap(&exchange, &lastPoll)
    exchange?.value.repeatPoll(since: since, number: number, at: now)
  }
}

extension HTTPExchange {
  fileprivate mutating func repeatPoll(since: ChangeToken, number: UInt64, at now: Instant) {
    begunAt = now
    stage = .parked
    status = 0
    answerBytes = 0
    poll?.restart(since: since, at: now)
    poll?.number = number
  }
}
