import LockstepModel
import LockstepStorage
import LockstepWire

/// Event streams: start, delivery and end. A stream takes no requests, so bytes that its client
/// sends are ignored.
extension RelayNode {
  // MARK: start

  /// Registers a stream for news, before the store is read for it.
  mutating func watchEvents(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let head = connections[slot].http.exchange?.value.head
    else { return }
    connections[slot].stream = CopyOnWriteBox(EventStreamState(isChunked: head.minorVersion > 0))
    hub.watchByStream(slot, session.account)
  }

  /// Starts a stream after the store was read: its first event is the page.
  mutating func beginStream(_ slot: Hub.Slot, _ page: ReadPage) {
    guard let method = connections[slot].http.exchange?.value.head.method, let since = page.since
    else { return }
    guard stage == .running, connections[slot].session?.plan.hasNoZone == false else {
      answer(slot, Answer(stage == .running ? Session.needsPlan : stoppingRefusal()))
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
    tellPage(slot, page)
  }

  /// Starts a stream without a cursor at the account's newest token, with an event that carries it.
  mutating func beginStream(_ slot: Hub.Slot, at newest: ChangeToken) {
    beginStream(slot, ReadPage(ChangePage(nothingSince: newest), as: eventForm(slot)))
  }

  /// Returns the form of a stream's pages.
  func eventForm(_ slot: Hub.Slot) -> PageForm {
    PageForm(
      shape: .event(isChunked: connections[slot].stream?.value.isChunked ?? false),
      keepsRecords: mayPassPages(slot))
  }

  private mutating func sendStreamHead(_ slot: Hub.Slot, closes: Bool) {
    var headers = HTTPHeaders()
    headers.append("Content-Type", "text/event-stream")
    // Proxies must pass each event on as it comes, and store none.
    headers.append("Cache-Control", "no-cache, no-store, no-transform")
    headers.append("X-Accel-Buffering", "no")
    headers.append("Lockstep-Keep-Alive", String(configuration.keepAliveMilliseconds))
    addCommonFields(&headers, connections[slot].opening, connections[slot].crossOrigin)
    if closes { headers.append("Connection", "close") }
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    connections[slot].http.exchange?.value.status = 200
    send(slot, HTTPWriter.responseHead(status: 200, headers: headers, isChunked: isChunked))
  }

  // MARK: commits

  mutating func tellStreams(
    _ streams: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>
  ) {
    var pushed: [Hub.Slot] = []
    var hinted: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    let limit = sendQueueLimit(for: .account(change.account))
    for slot in streams {
      if !unmatchedDevices.isEmpty && isAsleep(slot, unmatchedDevices) {
        connections[slot].stream?.value.chain.passedOver(change.token, isOwn: false)
        continue
      }
      switch connections[slot].hearOnStream(change, limit: limit, at: moment.instant) {
      case .nothing: break
      case .push: pushed.append(slot)
      case .hint: hinted.append(slot)
      case .read: behind.append(slot)
      }
    }
    status.pushes += pushed.count
    status.hints += hinted.count
    if !pushed.isEmpty, let changes = change.told?.changes {
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
    for slot in slots { connections[slot].queue.add(bytes.count, at: moment.instant) }
    actions.append(.multicast(bytes, slots.map { connections[$0].id }))
  }

  // MARK: missed changes

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent.
  mutating func ruleChanged(ofStream slot: Hub.Slot) {
    let isClogged = isClogged(slot)
    let push = connections[slot].stream?.value.chain.ruleChanged(isClogged: isClogged)
    if push == .read { readBacklog(slot) }
  }

  /// Reads the changes after the cursor, as soon as the connection takes bytes.
  mutating func readBacklog(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let cursor = connections[slot].stream?.value.chain.cursor
    else { return }
    let isClogged = isClogged(slot)
    connections[slot].stream?.value.owesRead = isClogged
    if isClogged { return }
    let isAsked = askPage(
      session, FetchQuery(since: cursor), as: eventForm(slot),
      for: .backlog(connections[slot].id, since: cursor))
    if !isAsked { backlogFailed(slot) }
  }

  mutating func backlogRead(
    _ id: ConnectionID, since: ChangeToken, _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id),
      connections[slot].stream?.value.chain.awaitsPage(since: since) == true
    else { return }
    switch result {
    case .success(let page) where passes(slot, page, connections[slot].stream?.value.chain):
      let push = connections[slot].stream?.value.chain.passedPage(to: page.token)
      if push == .read { readBacklog(slot) }
    case .success(let page): tellPage(slot, page)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // The cursor is no longer valid.
      endStream(slot, refusal)
      return
    case .failure: backlogFailed(slot)
    }
    read(slot)
  }

  /// Sends a hint: the device must fetch.
  private mutating func backlogFailed(_ slot: Hub.Slot) {
    guard connections[slot].stream?.value.chain.pageFailed() == .hint,
      let token = connections[slot].stream?.value.chain.hintToken
    else { return }
    status.hints += 1
    sendEvent(slot, RelayEvent.encodedHint(token))
  }

  private mutating func tellPage(_ slot: Hub.Slot, _ page: ReadPage) {
    send(slot, page.bytes)
    let push = connections[slot].stream?.value.chain.paged(to: page.token, more: page.more)
    if push == .read { readBacklog(slot) }
  }

  // MARK: end

  /// Ends a stream cleanly, with the reason as its last event.
  mutating func endStream(_ slot: Hub.Slot, _ refusal: Refusal) {
    count(refusal.code)
    // Streams that end together must not reconnect together.
    let retry = refusal.retryAfterMilliseconds.map {
      $0 + Int64.random(in: 0...1_000, using: &random)
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
  mutating func beat(_ slot: Hub.Slot) {
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    send(slot, isChunked ? RelayNode.heartbeat : EventStreamWriter.heartbeat)
  }

  private static let heartbeat = HTTPWriter.chunk(EventStreamWriter.heartbeat)
}

extension Connection {
  /// Returns a stream's reaction to a commit. `limit`: bytes that may wait.
  fileprivate mutating func hearOnStream(
    _ change: borrowing AccountChange, limit: Int, at now: Instant
  ) -> CursorChain.Push {
    let push = stream?.value.chain.heard(
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
