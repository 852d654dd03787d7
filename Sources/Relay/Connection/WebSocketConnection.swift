import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// A connection after its upgrade to WebSocket: messages of the device, changes pushed to it, and
/// pages that it missed.
///
/// Each method gets the connection's channel and the services that all connections share. A method
/// may close the channel; then the connection reads nothing more.
struct WebSocketConnection: Sendable {
  /// The terms of an upgrade, and the bytes that came after its request.
  struct Upgrade: Sendable {
    var deflate: DeflateTerms?
    var rest: [UInt8]
  }

  private enum Stage: Hashable, Sendable {
    /// → signingIn, welcoming
    case awaitingHello
    /// The token of the hello is being looked up. → welcoming
    indirect case signingIn(since: ChangeToken?)
    /// → open
    indirect case welcoming(since: ChangeToken?)
    case open
  }

  // In an order almost without gaps: most connections of a relay are sockets.
  private var reader: WebSocketReader
  /// True if large messages are compressed for it, with `RelayServices.deflate`.
  let takesCompressed: Bool
  /// True if one of the requests is a fetch.
  private var isFetching = false
  /// True if a page must be read as soon as the connection accepts bytes again.
  private var needsRead = false
  /// True if what has begun to come must be complete when the timer `.request` expires.
  private var isTimed = false
  /// True if its device exceeds its rate: reading resumes with the timer `.throttled`.
  private var isThrottled = false
  /// True if it has signed in, and is welcomed with the timer `.throttled`.
  private var isWelcomeDelayed = false
  private var unansweredPings: UInt8 = 0
  /// Requests without an answer so far, and the bytes of their messages.
  private var requests: Int32 = 0
  private var requestBytes = 0
  private var stage = Stage.awaitingHello
  private var chain = CursorChain()
  /// Period, last sent to its device, over which devices reconnect if all lose the relay, in
  /// milliseconds.
  private var reconnectWithin: Int32 = 0

  init(_ upgrade: Upgrade) {
    reader = WebSocketReader(
      role: .server, maximumMessageBytes: Limits.helloBytes, deflate: upgrade.deflate)
    takesCompressed = upgrade.deflate != nil
    reader.receive(upgrade.rest.span.bytes)
  }

  /// Received bytes that are not processed yet.
  var bufferedBytes: Int { mutating get { reader.bufferedBytes } }

  /// Memory of received data that waits for something, in bytes.
  var bytesToHold: Int { mutating get { requestBytes + reader.heldBytes } }

  /// True if no bytes are held.
  mutating func holdsNothing() -> Bool { requestBytes == 0 && reader.bufferedBytes == 0 }

  /// Starts the deadline for the hello, and the keep-alive.
  mutating func open(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    services.sockets += 1
    services.timers.schedule(
      .request(channel.id),
      at: services.moment.instant.advanced(
        milliseconds: Int64(services.configuration.limits.helloMilliseconds)))
    channel.scheduleKeepAlive(&services)
  }

  // MARK: messages

  mutating func receive(_ bytes: RawSpan) { reader.receive(bytes) }

  /// True if a message would be read now.
  mutating func readsMessages(
    _ channel: inout ConnectionChannel, _ services: borrowing RelayServices
  ) -> Bool {
    if isThrottled { return false }
    switch stage {
    case .awaitingHello, .open:
      // One page at a time: each may be large, and the answer to a save may wait for its end.
      return requests < services.configuration.limits.socketRequests && !isFetching
        && !channel.isCrowded(services)
    case .signingIn, .welcoming: return false
    }
  }

  mutating func readMessages(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    while !channel.isClosed, readsMessages(&channel, services) {
      let event: WebSocketEvent?
      do throws(WebSocketFault) {
        event = try reader.next()
      } catch {
        close(code: error.closeCode, error.reason, &channel, &services)
        return
      }
      if event != nil { endMessageTimer(&channel, &services) }
      switch event {
      case nil:
        startMessageTimer(&channel, &services)
        return
      case .text(let bytes): handleMessage(bytes, &channel, &services)
      case .binary: close(code: 1003, "Send JSON as text frames.", &channel, &services)
      case .ping(let payload): channel.send(WebSocketFrame.pong(payload), &services)
      case .pong:
        unansweredPings = 0
        if let session = channel.session {
          services.wakeContacts.recordPong(
            session.presenceKey, on: channel.id, at: services.moment.wall)
        }
      case .close(let code, let reason):
        recordEnd(reason, &channel, &services)
        services.status.socketsClosed.add(CloseCounts.byDevice)
        channel.send(WebSocketFrame.close(code: code), &services)
        channel.close(.afterSending, &services)
      }
      if !channel.isClosed { chargeFrame(&channel, &services) }
    }
  }

  /// Sets the timer for a message that has begun on an open socket, as for a request's body.
  private mutating func startMessageTimer(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard stage == .open, !isTimed, reader.hasPartialInput else { return }
    isTimed = true
    services.timers.schedule(
      .request(channel.id),
      at: services.moment.instant.advanced(
        milliseconds: Int64(services.configuration.limits.requestMilliseconds)))
  }

  /// Handles a complete message or control frame. A control frame between the fragments of a
  /// message does not postpone that message's deadline.
  private mutating func endMessageTimer(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard isTimed, !reader.isInMessage else { return }
    isTimed = false
    services.timers.cancel(.request(channel.id))
  }

  /// Charges a message or a control frame that was read. If it exceeds the rate, the next one is
  /// read later.
  private mutating func chargeFrame(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let wait = channel.chargeFrame(&services) else { return }
    services.status.throttles += 1
    isThrottled = true
    services.timers.schedule(
      .throttled(channel.id), at: services.moment.instant.advanced(milliseconds: wait))
  }

  private mutating func handleMessage(
    _ bytes: [UInt8], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    services.status.messages += 1
    let message: DeviceMessage
    do throws(Refusal) {
      message = try DeviceMessage.decode(bytes)
    } catch {
      refuseMessage(bytes, error, &channel, &services)
      return
    }
    if stage == .awaitingHello {
      guard case .hello(let token, let since) = message else {
        close(Refusal(.badMessage, "Send hello as the first message."), &channel, &services)
        return
      }
      handleHello(token: token, since: since, &channel, &services)
      return
    }
    guard let session = channel.session else { return }
    switch message {
    case .hello: close(Refusal(.badMessage, "Send hello only once."), &channel, &services)
    case .save(let request):
      let overhead = request.mutations.count * Limits.recordOverheadBytes
      handleSave(session, request, bytes: bytes.count + overhead, &channel, &services)
    case .fetch(let id, let query): handleFetch(session, id, query, &channel, &services)
    case .time(let id, let t0):
      sendMessage(
        .time(id: id, t0: t0, t1: services.moment.wall, t2: services.moment.wall), &channel,
        &services)
    }
  }

  /// Handles an invalid message. If it does not have the protocol's form, the socket closes; an
  /// error in a request answers that request.
  private mutating func refuseMessage(
    _ bytes: [UInt8], _ refusal: Refusal, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    let isOpen = stage == .open
    switch refusal.code {
    case .badMessage, .badJSON: close(refusal, &channel, &services)
    default:
      guard isOpen, let id = DeviceMessage.requestID(in: bytes) else {
        close(code: 4400, refusal.detail, &channel, &services)
        return
      }
      sendRefusal(id, refusal, &channel, &services)
    }
  }

  private mutating func handleSave(
    _ session: Session, _ request: SaveRequest, bytes: Int, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    let id = channel.id
    let commit = session.saveCommit(for: request, wall: services.moment.wall)
    guard services.stage == .running else {
      sendRefusal(request.id.text, services.stoppingRefusal(), &channel, &services)
      return
    }
    guard
      services.submitCommit(
        .save(commit),
        for: .socketSave(
          id, session.account, request.id, bytes: bytes,
          receivedAt: request.timed ? services.moment.instant : nil))
    else {
      sendRefusal(request.id.text, StoreQueue.overloaded, &channel, &services)
      return
    }
    services.hub.beginSave(session.account)
    requests += 1
    requestBytes += bytes
  }

  private mutating func handleFetch(
    _ session: Session, _ request: String, _ query: FetchQuery, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard services.stage == .running else {
      sendRefusal(request, services.stoppingRefusal(), &channel, &services)
      return
    }
    if let refusal = session.refusal(of: query) {
      sendRefusal(request, refusal, &channel, &services)
      return
    }
    let ofWholeAccount = query.zone == nil
    let isSubmitted = services.submitPageRead(
      session, query,
      as: PageForm(shape: .frame(request: request, isCompressed: takesCompressed)),
      for: .socketFetch(
        channel.id, request: request, ofWholeAccount: ofWholeAccount))
    guard isSubmitted else {
      sendRefusal(
        request, services.admission.refusal(of: .account(session.account)), &channel, &services)
      return
    }
    requests += 1
    isFetching = true
    chain.beginFetch(ofWholeAccount: ofWholeAccount)
  }

  // MARK: hello

  private mutating func handleHello(
    token: String?, since: ChangeToken?, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    let id = channel.id
    services.timers.cancel(.request(id))
    let hash = token.map { DeviceToken.hash($0) }
    if let session = channel.session {
      guard hash.map({ TokenHash($0) == session.tokenHash }) ?? true else {
        close(Refusal(.badToken, "Two different tokens were sent; send one."), &channel, &services)
        return
      }
      beginWelcome(session, since: since, &channel, &services)
      return
    }
    guard let hash else {
      close(
        Refusal(.badToken, "Send the device's token, in the header or in hello."), &channel,
        &services)
      return
    }
    stage = .signingIn(since: since)
    if !services.lookUpToken(id, tokenHash: hash) {
      close(StoreQueue.overloaded, &channel, &services)
    }
  }

  /// Handles the device of the hello's token. Returns false if there is no hello: the upgrade
  /// signed in.
  mutating func handleSignIn(
    _ session: Session, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    guard case .signingIn(let since) = stage else { return false }
    // Refunds both the upgrade and the hello.
    channel.refundAddress(&services)
    chargeFrame(&channel, &services)
    scheduleWelcome(session, since: since, &channel, &services)
    return true
  }

  /// Welcomes a socket that has signed in: now, or later if its account's sockets come too often.
  private mutating func scheduleWelcome(
    _ session: Session, since: ChangeToken?, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    let wait = channel.chargeWelcome(session, &services)
    isWelcomeDelayed = wait != nil
    guard let wait else { return beginWelcome(session, since: since, &channel, &services) }
    services.status.throttles += 1
    services.timers.schedule(
      .throttled(channel.id), at: services.moment.instant.advanced(milliseconds: wait))
  }

  /// Registers the socket for news of the account, and only then reads the store.
  private mutating func beginWelcome(
    _ session: Session, since: ChangeToken?, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    if session.plan.hasNoZone {
      close(Session.needsPlan, &channel, &services)
      return
    }
    do throws(Refusal) {
      try channel.checkConnections(of: session.account, services)
    } catch {
      close(error, &channel, &services)
      return
    }
    stage = .welcoming(since: since)
    services.hub.addSocket(channel.slot, session.account)
    if let since, since == services.hub.newest(of: session.account) {
      completeWelcome(session, since: since, newest: since, &channel, &services)
      return
    }
    if !services.submitRead(.newestToken(session.account), for: .welcome(channel.id)) {
      close(StoreQueue.overloaded, &channel, &services)
    }
  }

  mutating func handleWelcomeRead(
    _ result: Result<ReadResult, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard let session = channel.session, case .welcoming(let since) = stage else { return }
    switch result {
    case .success(.token(let token)):
      completeWelcome(session, since: since, newest: token, &channel, &services)
    case .success: close(StoreHealth.mismatch, &channel, &services)
    case .failure(let refusal): close(refusal, &channel, &services)
    }
  }

  /// Sends the welcome with the `newest` token, then the changes that the device missed since
  /// `since`.
  private mutating func completeWelcome(
    _ session: Session, since: ChangeToken?, newest: ChangeToken,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    stage = .open
    if let since {
      services.wakeContacts.recordSeen(session.presenceKey, since, at: services.moment.wall)
    }
    reader.maximumMessageBytes = Limits.messageBytes
    sendMessage(
      .welcome(
        account: session.account, device: session.device, token: newest, time: services.moment.wall,
        keepAliveMilliseconds: services.configuration.keepAliveMilliseconds), &channel, &services)
    sendReconnectPeriod(&channel, &services)
    let push = chain.begin(since: since, newest: newest)
    performPush(push, &channel, &services)
  }

  /// Continues after a delay because of the device's rate.
  mutating func endThrottle(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    isThrottled = false
    if isWelcomeDelayed, let session = channel.session, case .signingIn(let since) = stage {
      scheduleWelcome(session, since: since, &channel, &services)
    }
  }

  // MARK: changes

  /// Returns the reaction to a commit. `isOwn`: this socket requested it. `isLarge`: it is too
  /// large for a push. `limit`: bytes that may wait.
  mutating func handleCommit(
    _ change: borrowing AccountChange, isOwn: Bool, isLarge: Bool, limit: Int,
    _ channel: inout ConnectionChannel, at now: Instant
  ) -> CursorChain.Push {
    chain.handleCommit(
      since: change.since, token: change.token, isOwn: isOwn, isLarge: isLarge,
      isCrowded: channel.isCrowded(limit: limit, at: now),
      isClogged: channel.isClogged(limit: limit))
  }

  /// Records commits from `since` to `token` whose pushes are sent together. Returns false, and
  /// does nothing, if they are not the next link.
  mutating func handleCommits(since: ChangeToken, token: ChangeToken) -> Bool {
    chain.handleCommits(since: since, token: token)
  }

  /// Records that a commit up to `token` did not match the device's filter.
  mutating func recordUnmatched(_ token: ChangeToken, isOwn: Bool) {
    chain.recordUnmatched(token, isOwn: isOwn)
  }

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent.
  mutating func applyFilterChange(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let push = chain.applyFilterChange(isClogged: channel.isClogged(services))
    performPush(push, &channel, &services)
  }

  /// Continues when the connection accepts bytes again.
  mutating func resume(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    if chain.handleUnclogged() == .hint { performPush(.hint, &channel, &services) }
    if needsRead { readPage(&channel, &services) }
  }

  /// Performs the chain's action, and then sends the answers that it makes due.
  private mutating func performPush(
    _ push: CursorChain.Push, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    switch push {
    case .nothing, .push: break
    case .hint:
      if let token = chain.hintToken {
        services.status.hints += 1
        sendMessage(.changed(token: token), &channel, &services)
      }
    case .read: readPage(&channel, &services)
    }
    sendSaveAnswers(&channel, &services)
  }

  /// Reads the changes after the cursor, as soon as the connection accepts bytes.
  mutating func readPage(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    guard let session = channel.session, let cursor = chain.cursor else { return }
    let isClogged = channel.isClogged(services)
    needsRead = isClogged
    if isClogged { return }
    let isSubmitted = services.submitPageRead(
      session, FetchQuery(since: cursor),
      as: PageForm(
        shape: .frame(request: nil, isCompressed: takesCompressed),
        keepsRecords: services.mayWithholdPages(for: session)),
      for: .catchUp(channel.id, since: cursor))
    if !isSubmitted { handlePageFailure(&channel, &services) }
  }

  private mutating func handlePageFailure(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let push = chain.handlePageFailure()
    performPush(push, &channel, &services)
  }

  /// Handles a page that was read for the device after its cursor.
  mutating func handleCatchUpRead(
    since: ChangeToken, _ result: Result<ReadPage, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard chain.awaitsPage(since: since) else { return }
    switch result {
    case .success(let page)
    where chain.mayWithholdPage && services.withholds(page, from: channel.session):
      let push = chain.handleWithheldPage(to: page.token)
      performPush(push, &channel, &services)
    case .success(let page):
      // An empty page that does not move the cursor carries no information.
      if !page.isEmpty || page.token != since { channel.send(page.bytes, &services) }
      let push = chain.handleSentPage(to: page.token, more: page.more)
      performPush(push, &channel, &services)
    case .failure(let refusal):
      if refusal.code.advice == .fetchFirst {
        chain.clearCursor()
        sendRefusal(nil, refusal, &channel, &services)
        sendSaveAnswers(&channel, &services)
      } else {
        handlePageFailure(&channel, &services)
      }
    }
  }

  mutating func handleFetchRead(
    request: String, ofWholeAccount: Bool, _ result: Result<ReadPage, Refusal>,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    requests -= 1
    isFetching = false
    switch result {
    case .success(let page):
      channel.send(page.bytes, &services)
      if ofWholeAccount {
        let push = chain.completeFetch(to: page.token, more: page.more)
        performPush(push, &channel, &services)
      }
    case .failure(let refusal): refuseFetch(request, ofWholeAccount, refusal, &channel, &services)
    }
  }

  private mutating func refuseFetch(
    _ request: String, _ ofWholeAccount: Bool, _ refusal: Refusal,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    sendRefusal(request, refusal, &channel, &services)
    guard ofWholeAccount else { return }
    chain.failFetch()
    sendSaveAnswers(&channel, &services)
  }

  // MARK: saves

  mutating func handleSaveResult(
    _ batch: BatchID, bytes: Int, _ result: Result<CommitResult, Refusal>,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    requestBytes -= bytes
    if case .success(.saved(let outcome)) = result {
      // Counts as a request until it has its place in the chain.
      requestBytes += outcome.answer.conflictBytes
      chain.enqueueSaved(.init(id: batch, answer: outcome.answer))
      sendSaveAnswers(&channel, &services)
      return
    }
    requests -= 1
    switch result {
    case .success: sendRefusal(batch.text, StoreHealth.mismatch, &channel, &services)
    case .failure(let refusal) where [.badToken, .accountMoved].contains(refusal.code):
      close(refusal, &channel, &services)
    case .failure(let refusal): sendRefusal(batch.text, refusal, &channel, &services)
    }
  }

  /// Sends the answers to saves that are due.
  private mutating func sendSaveAnswers(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    while true {
      switch chain.nextSaved() {
      case .send(let saved):
        requests -= 1
        requestBytes -= saved.answer.conflictBytes
        sendMessage(.saved(id: saved.id, saved.answer), &channel, &services)
      case .read:
        readPage(&channel, &services)
        return
      case .wait: return
      }
    }
  }

  // MARK: timers

  mutating func handleTimeout(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    guard stage == .open else {
      close(Refusal(.helloRequired, "No hello arrived in time."), &channel, &services)
      return
    }
    isTimed = false
    // While the relay itself does not read, no device is late.
    guard readsMessages(&channel, services) else {
      startMessageTimer(&channel, &services)
      return
    }
    services.count(.requestTimeout)
    close(code: 4408, "The message did not arrive in time.", &channel, &services)
  }

  /// Sends a ping. Returns false if too many pings were not answered.
  mutating func sendPing(_ channel: inout ConnectionChannel, _ services: inout RelayServices)
    -> Bool
  {
    // A pong that is not read shows nothing either.
    guard !channel.isPaused, !reader.hasPartialInput || readsMessages(&channel, services) else {
      return true
    }
    if unansweredPings >= 2 { return false }
    unansweredPings += 1
    channel.send(WebSocketFrame.ping(), &services)
    if let session = channel.session, let cursor = chain.cursor {
      services.wakeContacts.recordPing(session.presenceKey, cursor, on: channel.id)
    }
    if stage == .open { sendReconnectPeriod(&channel, &services) }
    return true
  }

  /// Sends a socket the period for reconnecting, if it differs much from the one sent last.
  private mutating func sendReconnectPeriod(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let (sent, within) = (Int64(reconnectWithin), services.reconnectWithin)
    guard within > sent + sent / 4 || within < sent / 2 else { return }
    reconnectWithin = Int32(clamping: within)
    sendMessage(.reconnect(withinMilliseconds: within), &channel, &services)
  }

  // MARK: positions for wakes

  /// Records the position up to which the changes were sent.
  mutating func recordPosition(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let session = channel.session, let cursor = chain.cursor else { return }
    services.wakeContacts.recordTold(session.presenceKey, cursor, at: services.moment.wall)
  }

  /// Records the position of a device that ends the connection: the token that it gives as the
  /// reason. Without one, what was sent last may have crossed the close frame.
  private mutating func recordEnd(
    _ reason: String, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let session = channel.session, services.wakeContacts.follows(session.presenceKey) else {
      return
    }
    if let token = ChangeToken(text: reason) {
      services.wakeContacts.recordSeen(session.presenceKey, token, at: services.moment.wall)
    }
  }

  // MARK: end

  /// Closes the socket because the relay stops, unless a request is under way.
  mutating func endIfIdle(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    guard requests == 0, !chain.hasWaitingSaves else { return }
    // A close frame carries no time to reconnect, so that is sent before it.
    if services.reconnectWithin > 0, stage == .open {
      sendMessage(.error(id: nil, services.stoppingRefusal()), &channel, &services)
    }
    close(RelayServices.isStopping, &channel, &services)
  }

  mutating func close(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    services.count(refusal.code)
    // A close frame has no room for the address.
    if refusal.relay != nil { sendMessage(.error(id: nil, refusal), &channel, &services) }
    close(code: refusal.code.closeCode ?? 4400, refusal.detail, &channel, &services)
  }

  /// Refuses the token of a hello. An account that is still arriving will be here in a moment.
  mutating func refuseSignIn(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard refusal.code == .accountMoving else { return close(refusal, &channel, &services) }
    sendRefusal(nil, refusal, &channel, &services)
    let code = RefusalCode.overloaded.closeCode ?? 1013
    close(code: code, refusal.detail, &channel, &services)
  }

  private mutating func close(
    code: UInt16, _ reason: String, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    services.status.socketsClosed.add(code)
    channel.send(WebSocketFrame.close(code: code, reason: reason), &services)
    channel.close(.afterSending, &services)
  }

  // MARK: sending

  private mutating func sendMessage(
    _ message: RelayMessage, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    channel.send(
      takesCompressed ? services.deflater.text(message.encoded()) : message.encodedFrame(),
      &services)
  }

  private mutating func sendRefusal(
    _ request: String?, _ refusal: Refusal, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    services.count(refusal.code)
    sendMessage(.error(id: request, refusal), &channel, &services)
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
