import LockstepModel
import LockstepStorage
import LockstepWire

/// How a stream of events goes: its beginning, what it is told, and its end. Nothing is asked on
/// it, so nothing that its client sends is read.
extension RelayNode {
  // MARK: the beginning

  /// A stream begins to listen before the store is read for it.
  mutating func watchEvents(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let head = connections[slot].http.exchange?.value.head
    else { return }
    connections[slot].stream = CopyOnWriteBox(EventStreamState(isChunked: head.minorVersion > 0))
    hub.watchByStream(slot, session.account)
  }

  /// The store was read for a stream: its first event is the page.
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

  /// Without a cursor it begins at the account's newest token: with an event that says so.
  mutating func beginStream(_ slot: Hub.Slot, at newest: ChangeToken) {
    beginStream(slot, ReadPage(ChangePage(nothingSince: newest), as: eventForm(slot)))
  }

  /// How the pages of a stream leave.
  func eventForm(_ slot: Hub.Slot) -> PageForm {
    PageForm(
      shape: .event(isChunked: connections[slot].stream?.value.isChunked ?? false),
      keepsRecords: mayPassPages(slot))
  }

  private mutating func sendStreamHead(_ slot: Hub.Slot, closes: Bool) {
    var headers = HTTPHeaders()
    headers.append("Content-Type", "text/event-stream")
    // Proxies are to pass each event on as it comes, and to keep none.
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
    _ streams: [Hub.Slot], _ change: AccountChange, _ sleepers: Set<DeviceID>
  ) {
    var pushed: [Hub.Slot] = []
    var hinted: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    let limit = sendQueueLimit(for: .account(change.account))
    for slot in streams {
      if !sleepers.isEmpty && isAsleep(slot, sleepers) {
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

  /// The same event for many streams: one buffer for all whose chunks are chunks, and one for the
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

  // MARK: what was missed

  /// The device's subscriptions are others now: what they passed over is told.
  mutating func ruleChanged(ofStream slot: Hub.Slot) {
    let isClogged = isClogged(slot)
    let push = connections[slot].stream?.value.chain.ruleChanged(isClogged: isClogged)
    if push == .read { readBacklog(slot) }
  }

  /// Reads what comes after the cursor, as soon as the connection takes bytes.
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
      // The cursor cannot be followed any more.
      endStream(slot, refusal)
      return
    case .failure: backlogFailed(slot)
    }
    read(slot)
  }

  /// The device has to ask itself.
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

  // MARK: the end

  /// Ends a stream in order, with the reason as its last event.
  mutating func endStream(_ slot: Hub.Slot, _ refusal: Refusal) {
    count(refusal.code)
    // Those that end together do not come back together.
    let retry = refusal.retryAfterMilliseconds.map {
      $0 + Int64.random(in: 0...1_000, using: &random)
    }
    sendEvent(slot, RelayEvent.encodedError(refusal, retryMilliseconds: retry))
    if connections[slot].stream?.value.isChunked == true { send(slot, HTTPWriter.lastChunk) }
    close(slot, .afterSending)
  }

  // MARK: saying

  private mutating func sendEvent(_ slot: Hub.Slot, _ event: [UInt8]) {
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    send(slot, isChunked ? HTTPWriter.chunk(event) : event)
  }

  /// Says nothing, so that all on the way see that the stream stands.
  mutating func beat(_ slot: Hub.Slot) {
    let isChunked = connections[slot].stream?.value.isChunked ?? false
    send(slot, isChunked ? RelayNode.heartbeat : EventStreamWriter.heartbeat)
  }

  private static let heartbeat = HTTPWriter.chunk(EventStreamWriter.heartbeat)
}

extension Connection {
  /// What a stream is told of a commit. `limit`: bytes that may wait.
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
  /// A link that moves nothing.
  init(nothingSince token: ChangeToken) {
    self.init(since: token, token: token, more: false, changes: [])
  }
}
