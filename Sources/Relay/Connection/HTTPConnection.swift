import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Requests and answers of a connection: one at a time, in order, each answered before the next is
/// parsed. Long-polls, event streams, uploads and downloads of chunks are answers that take time.
///
/// Each method gets the connection's channel and the services that all connections share. A method
/// may close the channel; then the connection reads nothing more.
struct HTTPConnection: Sendable {
  private enum Deadline: Hashable, Sendable {
    case none
    /// No request is pending.
    case idle
    /// The head of a request must be complete.
    case head
    /// Its body must be complete.
    case body
    /// Upload of a chunk: the next part must be complete, after this number of parts.
    case part(Int)
    /// A long-poll ends.
    case poll
  }

  private var parser = HTTPRequestParser()
  /// The request that is being read or answered; nil between two.
  private var exchange: CopyOnWriteBox<HTTPExchange>?
  /// The origin of its page, for the header fields of the answer.
  private(set) var crossOrigin = CrossOrigin.none
  /// The request before, if it was a long-poll that the next request may repeat.
  private var lastPoll: CopyOnWriteBox<HTTPExchange>?
  /// Set from a `GET /v1/events` on.
  private var stream: CopyOnWriteBox<EventStreamConnection>?
  /// Meaning of the timer `.request`, and the time at which that is due.
  private var deadline = Deadline.none
  private var dueAt = Instant(nanoseconds: 0)
  /// Expiry of the timer; nil if it is not set. It may be before `dueAt`: most deadlines are
  /// postponed before they are due, and an unchanged timer costs nothing.
  private var timerAt: Instant?

  // MARK: state

  /// True if its answer is an event stream, which ends only with the connection.
  var isStreaming: Bool { stream?.value.hasBegun ?? false }

  /// True if an event stream is registered, or under way.
  var hasStream: Bool { stream != nil }

  /// True if an event of its stream is a chunk of the transfer coding.
  var isChunkedStream: Bool { stream?.value.isChunked ?? false }

  /// True if a long-poll waits for changes.
  var isParked: Bool { exchange?.value.stage == .parked }

  /// True if a request for a WebSocket is to be accepted.
  var isUpgrading: Bool { exchange?.value.stage == .upgrading }

  /// True if a chunk is uploaded, or downloaded.
  var isUploading: Bool { exchange?.value.transfer.isUploading ?? false }
  var isDownloading: Bool { exchange?.value.transfer.isDownloading ?? false }

  /// True if a request is being read or answered.
  var isBusy: Bool { mutating get { exchange != nil || !parser.isIdle } }

  /// Time at which the head of the request was complete; nil if there is none.
  var requestBegunAt: Instant? { exchange?.value.begunAt }

  /// Received bytes that are not processed yet.
  var bufferedBytes: Int {
    mutating get { parser.bufferedBytes + (stream?.value.ignoredBytes ?? 0) }
  }

  /// Memory of received data that waits for something, in bytes.
  var bytesToHold: Int {
    mutating get { parser.heldBytes + (exchange?.value.heldBytes ?? 0) }
  }

  /// True if no bytes are held, and there is no stream.
  mutating func holdsNothing() -> Bool {
    stream == nil && parser.bufferedBytes == 0 && exchange?.value.heldBytes ?? 0 == 0
  }

  /// True if reading of the client's bytes stops at once: an upload has sent enough, or more bytes
  /// have no use before its request is answered. A client that closes its side after its request
  /// still gets the whole answer, because the close is read only then. A long-poll is parked before
  /// the close is read, and ends with it. An upgrade has no use for a client that does not send.
  var pausesReading: Bool {
    switch exchange?.value.stage {
    case .full, .delayed, .sending: true
    case .whole, .awaitingStore: exchange?.value.isUpgrade == false
    case .reading, .upgrading, .parked, .streaming, nil: false
    }
  }

  // MARK: input

  /// Adds received bytes. Returns true if they are a repeated long-poll, and nothing is to be
  /// parsed.
  mutating func receive(
    _ bytes: RawSpan, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    if stream?.value.ignore(bytes.byteCount) == true { return false }
    if lastPoll != nil, repeatLastPoll(bytes, &channel, &services) { return true }
    parser.receive(bytes)
    return false
  }

  /// Continues when the connection accepts bytes again.
  mutating func resume(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    stream?.value.resume(&channel, &services)
    if exchange?.value.stage == .sending { continueDownload(&channel, &services) }
  }

  /// True if bytes of a request would be parsed now.
  mutating func readsRequests(
    _ channel: inout ConnectionChannel, _ services: borrowing RelayServices
  ) -> Bool {
    guard let stage = exchange?.value.stage else { return !channel.isCrowded(services) }
    return stage == .reading
  }

  mutating func readRequests(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    while !channel.isClosed, readsRequests(&channel, services) {
      let event: HTTPRequestEvent?
      do throws(Refusal) {
        event = try parser.next()
      } catch {
        refuseBytes(error, &channel, &services)
        return
      }
      switch event {
      case nil:
        updateRequestTimer(&channel, &services)
        return
      case .head(let head): beginExchange(head, &channel, &services)
      case .body(let bytes): addBody(bytes, &channel, &services)
      case .end:
        exchange?.value.stage = .whole
        performCall(&channel, &services)
      }
    }
    if !channel.isClosed { updateRequestTimer(&channel, &services) }
  }

  /// Refuses bytes that cannot be parsed, or for which there is no room: the answer is the
  /// connection's last.
  mutating func refuseBytes(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if let pendingAnswer = exchange?.value.pendingAnswer {
      // The request was refused before its body came, and that answer is the better one.
      answer(pendingAnswer, &channel, &services)
      return
    }
    services.count(refusal.code)
    let bytes = services.response(
      Answer(refusal), head: nil, opening: channel.opening,
      crossOrigin: crossOrigin, closes: true)
    channel.send(bytes, &services)
    channel.close(.afterSending, &services)
  }

  /// Ends the request of a connection that is closed.
  mutating func finish(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    reportRequest(&channel, &services)
    exchange?.value.transfer.drop(&services)
  }

  // MARK: head

  private mutating func beginExchange(
    _ head: HTTPRequestHead, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    services.status.requests += 1
    lastPoll = nil
    let isOfOwner =
      Router.isOfOwner(head.target.path)
      && (channel.opening.listenerKind != .public || services.configuration.hasPublicOwnerPage)
    crossOrigin = channel.identifyClient(head, isOfOwner: isOfOwner, &services)
    let (call, pendingAnswer) = routeRequest(head, &channel, &services)
    exchange = CopyOnWriteBox(
      HTTPExchange(
        head: head, call: call, pendingAnswer: pendingAnswer, begunAt: services.moment.instant))
    if pendingAnswer == nil {
      startSignIn(head.headers, &channel, &services)
    } else {
      applyRateLimit(channel.chargeAddress(&services))
    }
    if case .upload(let hash) = call, exchange?.value.pendingAnswer == nil {
      let refusal = exchange?.value.transfer.beginUpload(hash, &services) ?? nil
      exchange?.value.pendingAnswer = refusal.map { Answer($0) }
    }
    continueBody(&channel, &services)
  }

  /// Returns the call of a request, and the answer that is known before its body comes.
  private mutating func routeRequest(
    _ head: HTTPRequestHead, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> (Call?, Answer?) {
    let routing = Router.route(
      method: head.method, target: head.target,
      listenerKind: channel.opening.listenerKind,
      hasPublicOwnerPage: services.configuration.hasPublicOwnerPage,
      pages: services.configuration.pages)
    if let refusal = channel.refusalOfHost(head, of: routing, &services) {
      return (nil, Answer(refusal))
    }
    switch routing {
    case .options(let methods):
      return (nil, .options(methods: methods, isForeign: crossOrigin.allowsNoPreflight))
    case .refused(let refusal, let methods):
      return (nil, Answer(missing: refusal, to: head, methods: methods))
    case .call(let routed):
      let call = RequestCheck.checkBody(
        RequestCheck.resolveStatusPage(routed, head, services.configuration.pages), head)
      parser.bodyLimit = call.bodyLimit
      if let answer = answer(withoutOwner: call, head, &channel, &services) {
        return (call, answer)
      }
      let refusal =
        HTTPConnection.refusal(of: call, head, &services)
        ?? RequestCheck.refusal(ofOriginOf: call, crossOrigin)
      return (call, refusal.map { Answer($0) })
    }
  }

  /// Returns the answer to a call of the relay's owner that somebody else makes; nil if it is the
  /// owner's, or no such call.
  private func answer(
    withoutOwner call: Call, _ head: HTTPRequestHead, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) -> Answer? {
    guard call.needsOwner, channel.opening.listenerKind != .control, services.stage == .running
    else { return nil }
    if let refusal = RequestCheck.refusal(ofOriginOf: call, crossOrigin) { return Answer(refusal) }
    return services.refusalOfOwner(RequestCheck.bearerToken(head.headers))
  }

  /// Refuses a client that exceeds its rate, whatever else is wrong with the request.
  private mutating func applyRateLimit(_ refusal: Refusal?) {
    guard let refusal else { return }
    exchange?.value.pendingAnswer = Answer(refusal)
    exchange?.value.body = []
  }

  /// Returns the refusal that is known before the body comes.
  private static func refusal(
    of call: Call, _ head: HTTPRequestHead, _ services: inout RelayServices
  ) -> Refusal? {
    if services.stage != .running {
      if case .health = call { return nil }
      return services.stoppingRefusal()
    }
    if let refusal = RequestCheck.refusal(ofBodyOf: call, head) { return refusal }
    if case .length(let count) = head.framing, count > call.bodyLimit {
      return Refusal(
        .bodyTooLarge, "The body may have at most \(call.bodyLimit) bytes; send less at once.")
    }
    return nil
  }

  /// Authenticates the client, if the call needs it.
  private mutating func startSignIn(
    _ headers: HTTPHeaders, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let isNeeded: Bool
    switch exchange?.value.call {
    case .signed, .upload: isNeeded = true
    case .socket:
      isNeeded = headers.contains("Authorization")
      // Behind a proxy, the request before on this connection may be from another client.
      if !isNeeded { channel.signOut(&services) }
    case .unauthenticated, .owner, .ownerProcess, .health, .page, .ownPage, nil: isNeeded = false
    }
    guard isNeeded, let token = RequestCheck.bearerToken(headers) else {
      if isNeeded { exchange?.value.pendingAnswer = .missingToken }
      applyRateLimit(channel.chargeAddress(&services))
      return
    }
    let hash = DeviceToken.hash(token)
    if let session = channel.session, session.tokenHash == TokenHash(hash) {
      checkPlan(&channel, &services)
      applyRateLimit(channel.chargeDevice(session, &services))
      return
    }
    if let refusal = channel.chargeAddress(&services) {
      applyRateLimit(refusal)
      return
    }
    exchange?.value.isSigningIn = true
    if !services.lookUpToken(channel.id, tokenHash: hash) {
      exchange?.value.isSigningIn = false
      exchange?.value.pendingAnswer = Answer(StoreQueue.overloaded)
    }
  }

  /// Sends `100 Continue` to a client that waits for it, once the sign-in is done, or its answer
  /// instead.
  private mutating func continueBody(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard exchange?.value.head.expectsContinue == true,
      exchange?.value.stage == .reading,
      exchange?.value.isSigningIn == false
    else { return }
    if let pendingAnswer = exchange?.value.pendingAnswer {
      answer(pendingAnswer, &channel, &services)
    } else {
      channel.send(HTTPWriter.response(status: 100), &services)
    }
  }

  /// Handles the device of the request's token.
  mutating func handleSignIn(
    _ session: Session, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    exchange?.value.isSigningIn = false
    checkPlan(&channel, &services)
    if let refusal = channel.chargeDevice(session, &services) {
      refuseRequest(Answer(refusal), &services)
    }
    continueBody(&channel, &services)
    performCall(&channel, &services)
  }

  mutating func refuseSignIn(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard exchange != nil else { return }
    exchange?.value.isSigningIn = false
    refuseRequest(Answer(refusal), &services)
    continueBody(&channel, &services)
    performCall(&channel, &services)
  }

  /// Sets the answer that a request gets once its body has come, which is not kept.
  private mutating func refuseRequest(_ answer: Answer, _ services: inout RelayServices) {
    exchange?.value.pendingAnswer = answer
    exchange?.value.body = []
    endUpload(&services)
  }

  /// Refuses, before its body arrives, a request that the account's plan does not include.
  private mutating func checkPlan(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let session = channel.session else { return }
    let refusal: Refusal?
    switch exchange?.value.call {
    case .signed(let call): refusal = session.refusal(of: call)
    case .upload: refusal = session.refusalOfUpload
    case .unauthenticated, .owner, .ownerProcess, .health, .page, .ownPage, .socket, nil:
      refusal = nil
    }
    if let refusal { refuseRequest(Answer(refusal), &services) }
  }

  // MARK: body

  private mutating func addBody(
    _ bytes: [UInt8], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    // A body that will not be read is skipped, so that the connection can continue after it.
    guard exchange?.value.pendingAnswer == nil else { return }
    if case .upload = exchange?.value.call {
      addToUpload(bytes, &channel, &services)
      return
    }
    exchange?.value.body += bytes
    exchange?.value.bodyBytes += bytes.count
  }

  // MARK: call

  /// Performs the call, once the request is complete and the client is authenticated.
  private mutating func performCall(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard exchange?.value.isSigningIn == false else { return }
    if case .upload = exchange?.value.call, exchange?.value.pendingAnswer == nil {
      advanceUpload(&channel, &services)
      return
    }
    guard exchange?.value.stage == .whole else { return }
    if let pendingAnswer = exchange?.value.pendingAnswer {
      answer(pendingAnswer, &channel, &services)
      return
    }
    if exchange?.value.isUpgrade == true {
      exchange?.value.stage = .upgrading
      return
    }
    guard let call = exchange?.value.call else { return }
    let context = callContext(&channel, services)
    let body = exchange?.value.body ?? []
    exchange?.value.body = []
    do throws(Refusal) {
      switch call {
      case .health(let call):
        if call != .live { services.checkStoreFiles() }
        answer(
          services.healthAnswer(call, listenerKind: channel.opening.listenerKind), &channel,
          &services)
      case .page(let page):
        guard let headers = exchange?.value.head.headers else { return }
        answer(Answer(page: page, to: headers), &channel, &services)
      case .ownPage(let names): try readOwnPage(names, &channel, &services)
      // Handled above.
      case .socket, .upload: break
      case .unauthenticated(let call):
        if call == .createAccount { try services.checkAccountLimit() }
        let step = try UnauthenticatedClient().perform(call, body: body, in: context)
        // A body without a code is not a guess.
        if call == .join { try channel.countGuess(&services) }
        if call == .createAccount { try channel.countNewAccount(&services) }
        try performStep(step, &channel, &services)
      case .owner(let call):
        try requireOwner(channel, &services)
        try performStep(Owner().perform(call, body: body, in: context), &channel, &services)
      case .ownerProcess(let call):
        try performOwnerCall(call, body, &channel, &services)
      case .signed(let call):
        guard let session = channel.session,
          let headers = exchange?.value.head.headers
        else { throw RelayServices.notSignedIn }
        let step = try session.perform(call, body: body, headers: headers, in: context)
        if case .putWake = call { try services.chargeWakeCode(session.account) }
        recordPosition(of: call, session, &services)
        try performStep(step, &channel, &services)
      }
    } catch {
      answer(Answer(error), &channel, &services)
    }
  }

  /// Throws if the owner's session has ended since the head of the request was read.
  private func requireOwner(
    _ channel: borrowing ConnectionChannel, _ services: inout RelayServices
  ) throws(Refusal) {
    guard channel.opening.listenerKind != .control else { return }
    let token = (exchange?.value.head.headers).flatMap(RequestCheck.bearerToken)
    try services.requireSession(token)
  }

  /// Performs a call about the owner's sessions or the process.
  private mutating func performOwnerCall(
    _ call: OwnerProcessCall, _ body: [UInt8], _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) throws(Refusal) {
    let token = (exchange?.value.head.headers).flatMap(RequestCheck.bearerToken)
    if call != .signIn { try requireOwner(channel, &services) }
    let hash = token.map { TokenHash(DeviceToken.hash($0)) }
    answer(
      try services.answer(to: call, body: body, token: hash, from: channel.network), &channel,
      &services)
  }

  private mutating func readOwnPage(
    _ names: [String], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) throws(Refusal) {
    try channel.checkMemory(services)
    exchange?.value.stage = .awaitingStore
    if !services.submitOwnPage(names, for: channel.id) { throw StoreQueue.overloaded }
  }

  private func callContext(
    _ channel: inout ConnectionChannel, _ services: borrowing RelayServices
  ) -> CallContext {
    CallContext(
      configuration: services.configuration, secrets: services.secrets, wall: services.moment.wall,
      address: channel.network)
  }

  private mutating func performStep(
    _ step: HandlerResult, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) throws(Refusal) {
    let id = channel.id
    exchange?.value.stage = .awaitingStore
    let isSubmitted: Bool
    switch step {
    case .answer(var answer):
      if exchange?.value.call == .unauthenticated(.time) {
        services.addReconnect(to: &answer)
      }
      self.answer(answer, &channel, &services)
      return
    case .commit(let request, let response):
      exchange?.value.bodyBytes += request.overheadBytes
      isSubmitted = services.submitCommit(request, for: .call(id, response))
    case .page(let request, .changes(let query)):
      if query.waitMilliseconds > 0, let session = channel.session {
        try channel.checkConnections(of: session.account, services)
      }
      registerPoll(query, &channel, &services)
      if parkIfCurrent(&channel, &services) { return }
      let isPoll = exchange?.value.poll != nil
      try channel.checkMemory(services)
      isSubmitted = services.submitPage(
        request, as: PageForm(shape: .body, keepsRecords: isPoll),
        for: .call(id, .changes(query)))
    case .page(let request, .events):
      try prepareStream(&channel, &services)
      isSubmitted = services.submitPage(
        request, as: eventForm(channel.session, services), for: .call(id, .events))
    case .read(let request, .events):
      try prepareStream(&channel, &services)
      isSubmitted = services.submitRead(request, for: .call(id, .events))
    case .page(let request, .recordList(let tags, let type)):
      try channel.checkMemory(services)
      isSubmitted = services.submitPage(
        request, as: PageForm(shape: .list(type: type)),
        for: .call(id, .recordList(ifNoneMatch: tags, type: type)))
    case .read(let request, let response):
      isSubmitted = services.submitRead(request, for: .call(id, response))
    }
    if !isSubmitted { throw StoreQueue.overloaded }
  }

  /// Registers an event stream, before the store is read for it.
  private mutating func prepareStream(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) throws(Refusal) {
    if let session = channel.session {
      try channel.checkConnections(of: session.account, services)
    }
    registerStream(&channel, &services)
    try channel.checkMemory(services)
  }

  /// Accepts the request for a WebSocket, and returns its terms; nil if it was refused.
  mutating func acceptUpgrade(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> WebSocketConnection.Upgrade? {
    let accepted: (response: [UInt8], deflate: DeflateTerms?)?
    do throws(Refusal) {
      accepted = try exchange?.value.acceptUpgrade(compresses: services.configuration.compresses)
    } catch {
      answer(Answer(error), &channel, &services)
      return nil
    }
    guard let (response, deflate) = accepted else { return nil }
    reportRequest(status: 101, &channel, &services)
    channel.send(response, &services)
    return WebSocketConnection.Upgrade(deflate: deflate, rest: parser.takeRest())
  }

  // MARK: answers

  /// Answers the request that is being read or answered. `isLast`: the connection closes after it.
  private mutating func answer(
    _ answer: Answer, isLast: Bool = false, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard exchange != nil else { return }
    if !isLast, delayIfLimited(answer, &channel, &services) { return }
    if let code = answer.refused { services.count(code) }
    let closes = isLast || closesAfterAnswer(services)
    exchange?.value.recordAnswer(answer)
    channel.send(
      services.response(
        answer, head: exchange?.value.head,
        opening: channel.opening, crossOrigin: crossOrigin,
        closes: closes), &services)
    endExchange(closes: closes, &channel, &services)
  }

  /// Ends a request that has its answer.
  private mutating func endExchange(
    closes: Bool, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    reportRequest(&channel, &services)
    if exchange?.value.poll != nil, let session = channel.session {
      services.hub.removePoll(channel.slot, session.account)
      expectRepetition()
    }
    if stream != nil, let session = channel.session {
      services.hub.removeStream(channel.slot, session.account)
      stream = nil
    }
    exchange?.value.transfer.drop(&services)
    exchange = nil
    deadline = .none
    if closes { channel.close(.afterSending, &services) }
  }

  /// True if the connection cannot carry another request, for example because the rest of a body
  /// would be parsed as one.
  private mutating func closesAfterAnswer(_ services: borrowing RelayServices) -> Bool {
    let stage = exchange?.value.stage
    return exchange?.value.head.keepsAlive != true || stage == .reading
      || stage == .full || services.stage != .running
  }

  /// Delays the answer to a request that exceeds the rate; returns false if it is to be sent now.
  /// If the body is not complete, the connection closes after the answer, without a delay.
  private mutating func delayIfLimited(
    _ answer: Answer, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    guard answer.refused == .tooManyRequests, channel.isCharged, services.stage == .running else {
      return false
    }
    switch exchange?.value.stage {
    case .whole, .awaitingStore: break
    case .reading, .full, .upgrading, .delayed, .sending, .parked, .streaming, nil: return false
    }
    exchange?.value.pendingAnswer = answer
    exchange?.value.stage = .delayed
    services.timers.schedule(
      .throttled(channel.id),
      at: services.moment.instant.advanced(milliseconds: Limits.rateLimitDelayMilliseconds))
    return true
  }

  /// Sends an answer that was delayed because of the client's rate.
  mutating func endDelay(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    if exchange?.value.stage == .delayed, let pendingAnswer = exchange?.value.pendingAnswer {
      answer(pendingAnswer, &channel, &services)
    }
  }

  /// Reports the end of a connection's request.
  private mutating func reportRequest(
    status: Int? = nil, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard services.configuration.reportsRequests,
      let exchange = exchange?.value
    else { return }
    let path = exchange.head.target.path.joined(separator: "/")
    services.actions.append(
      .report(
        .answered(
          AccessLogEntry(
            method: exchange.head.method, path: "/" + path, status: status ?? Int(exchange.status),
            milliseconds: services.moment.instant.milliseconds(since: exchange.begunAt),
            bytes: exchange.answerBytes, peer: channel.opening.peer,
            client: channel.network))))
  }

  // MARK: deadlines

  /// Sets the timer for the next deadline of a connection before its upgrade.
  mutating func updateRequestTimer(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let deadline: Deadline
    switch exchange?.value.stage {
    // While its answers wait, its requests are not read, and `.stalled` checks it.
    case nil where channel.isClogged(services): deadline = .none
    case nil: deadline = parser.isIdle ? .idle : .head
    case .reading:
      // A chunk of a file is large: progress is enough.
      deadline = (exchange?.value.transfer.partsReceived).map { .part($0) } ?? .body
    case .full, .whole, .upgrading, .awaitingStore, .delayed, .sending, .streaming: deadline = .none
    case .parked: deadline = .poll
    }
    guard deadline != self.deadline else { return }
    self.deadline = deadline
    let now = services.moment.instant
    let dueAt: Instant
    switch deadline {
    case .none:
      services.timers.cancel(.request(channel.id))
      timerAt = nil
      return
    case .idle: dueAt = now.advanced(milliseconds: idleMilliseconds(&channel, services))
    case .head, .body, .part:
      dueAt = now.advanced(milliseconds: Int64(services.configuration.limits.requestMilliseconds))
    case .poll: dueAt = exchange?.value.poll?.endsAt ?? now
    }
    self.dueAt = dueAt
    if let timerAt, timerAt <= dueAt { return }
    setRequestTimer(&channel, &services)
  }

  /// Returns the time after which a connection without a request is closed. A device that has
  /// registered for wakes would not be woken as long as it has one, and browsers keep theirs long
  /// after the page is closed.
  private func idleMilliseconds(
    _ channel: inout ConnectionChannel, _ services: borrowing RelayServices
  ) -> Int64 {
    let usual = Int64(services.configuration.limits.idleMilliseconds)
    guard let session = channel.session, services.wakeContacts.follows(session.presenceKey) else {
      return usual
    }
    return min(usual, Limits.wakeDelayMilliseconds)
  }

  /// Sets the idle time of a connection anew, because its device has registered for wakes.
  mutating func limitIdleTime(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard deadline == .idle else { return }
    deadline = .none
    updateRequestTimer(&channel, &services)
  }

  private mutating func setRequestTimer(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    timerAt = dueAt
    services.timers.schedule(.request(channel.id), at: dueAt)
  }

  /// Handles the expiry of the timer `.request`. Returns true if reading continues.
  mutating func handleTimeout(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    timerAt = nil
    if deadline != .none, services.moment.instant < dueAt {
      setRequestTimer(&channel, &services)
      return false
    }
    switch deadline {
    case .none: return false
    case .idle:
      channel.close(.afterSending, &services)
      return false
    case .head, .body, .part:
      refuseBytes(
        Refusal(.requestTimeout, "The request did not arrive in time."), &channel, &services)
      return false
    case .poll:
      endPoll(&channel, &services)
      return true
    }
  }

  // MARK: results of the store

  mutating func handleCallCommit(
    _ response: CommitResponse, _ result: Result<CommitResult, Refusal>,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if case .renamed(let device) = response, case .success = result,
      let session = channel.session
    {
      if !services.submitRead(.devices(session.account), for: .call(channel.id, .device(device))) {
        answer(Answer(StoreQueue.overloaded), &channel, &services)
      }
    } else if case .written(let key, let isDelete) = response,
      case .success(.saved(let outcome)) = result
    {
      answerWrite(of: key, outcome, isDelete: isDelete, &channel, &services)
    } else {
      do throws(Refusal) {
        answer(try response.answer(to: try result.get()), &channel, &services)
      } catch {
        answer(Answer(error), &channel, &services)
      }
    }
  }

  /// Answers a `PUT` or `DELETE` of one record.
  private mutating func answerWrite(
    of key: RecordKey, _ outcome: SaveOutcome, isDelete: Bool, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    do throws(Refusal) {
      if let written = try Answer(writing: outcome, isDelete: isDelete) {
        answer(written, &channel, &services)
        return
      }
      guard let session = channel.session else { throw RelayServices.notSignedIn }
      let isSubmitted = services.submitRead(
        .record(session.account, key),
        for: .call(channel.id, .record(ifNoneMatch: [])))
      if !isSubmitted { throw StoreQueue.overloaded }
    } catch {
      answer(Answer(error), &channel, &services)
    }
  }

  mutating func handleCallRead(
    _ response: ReadResponse, _ result: Result<ReadResult, Refusal>,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    do throws(Refusal) {
      let result = try result.get()
      switch (response, result) {
      case (.events, .token(let newest)): beginStream(at: newest, &channel, &services)
      case (.devices, .devices(let devices)):
        guard let session = channel.session else { throw RelayServices.notSignedIn }
        let isScoped = session.scope != .everything
        let shown = devices.filter { !isScoped || $0.id == session.device }
        let list = shown.map {
          services.presence.completed($0, of: session.account, wall: services.moment.wall)
        }
        answer(Answer(status: 200, json: DeviceList(list).encodedBody()), &channel, &services)
      case (.device(let id), .devices(let devices)):
        guard let device = devices.first(where: { $0.id == id }) else {
          throw StoreRefusals.unknownDevice
        }
        guard let session = channel.session else { throw RelayServices.notSignedIn }
        let body = services.presence.completed(
          device, of: session.account, wall: services.moment.wall
        ).encodedBody()
        answer(Answer(status: 200, json: body), &channel, &services)
      case (.wakeKeys(let wake), .wakeKeys(let keys)):
        try put(wake, after: keys, &channel, &services)
      case (.chunk(let fetch), .chunk(let chunk)), (.owner(.chunk(let fetch)), .chunk(let chunk)):
        try beginDownload(fetch, chunk, &channel, &services)
      case (.chunk(let fetch), .namedChunks(let chunks)):
        guard let chunk = chunks.first.flatMap(\.self) else { throw StoreRefusals.unknownChunk }
        try beginDownload(fetch, chunk, &channel, &services)
      case (.owner(let response), let result):
        let (presence, wall) = (services.presence, services.moment.wall)
        let answer = try response.answer(to: result) { device, account in
          presence.completed(device, of: account, wall: wall)
        }
        self.answer(answer, &channel, &services)
      default: answer(try response.answer(showing: result), &channel, &services)
      }
    } catch {
      answer(Answer(error), &channel, &services)
    }
  }

  /// Registers a device for wakes under a key that was unknown until the store was read.
  private mutating func put(
    _ wake: WakeRegistrationBody, after keys: [WakeKey], _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) throws(Refusal) {
    guard let session = channel.session else { throw RelayServices.notSignedIn }
    services.handleWakeKeys(keys)
    guard let step = try session.put(wake, in: callContext(&channel, services)) else {
      throw WakeConfiguration.unknownKey
    }
    try performStep(step, &channel, &services)
  }

  mutating func handleCallPage(
    _ response: PageResponse, _ result: Result<ReadPage, Refusal>,
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    switch (response, result) {
    case (_, .failure(let refusal)): answer(Answer(refusal), &channel, &services)
    case (.changes(let query), .success(let page)): handlePollRead(query, page, &channel, &services)
    case (.events, .success(let page)): beginStream(page, &channel, &services)
    case (.recordList(let tags, _), .success(let page)):
      answer(Answer(list: page, ifNoneMatch: tags), &channel, &services)
    }
  }

  /// Sends one of the owner's pages, unless other answers have used up the memory meanwhile.
  mutating func handleOwnPage(
    _ result: Result<PageFolderEntry, StorageError>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard let head = exchange?.value.head else { return }
    do throws(Refusal) {
      try channel.checkMemory(services)
      answer(Answer(ownPage: result, to: head), &channel, &services)
    } catch {
      answer(Answer(error), &channel, &services)
    }
  }

  // MARK: end

  /// Ends a connection whose device is no longer valid; the refusal answers its request.
  mutating func endSession(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if isStreaming {
      stream?.value.end(refusal, &channel, &services)
      return
    }
    switch exchange?.value.call {
    case nil where exchange == nil: channel.close(.afterSending, &services)
    // The answer has begun; only closing it early can signal the error.
    case .signed where exchange?.value.transfer.isSendingBody == true:
      channel.close(.afterSending, &services)
    case .signed, .upload: answer(Answer(refusal), isLast: true, &channel, &services)
    // The request does not need a signed-in device.
    case .unauthenticated, .owner, .ownerProcess, .health, .page, .ownPage, .socket, nil:
      channel.signOut(&services)
    }
  }

  /// Ends a request that waits for news, and an upload, because the account's plan includes nothing
  /// any more. Returns true if reading continues.
  mutating func endWaitingRequest(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    if isStreaming {
      stream?.value.end(Session.needsPlan, &channel, &services)
      return false
    }
    if isParked {
      answer(Answer(Session.needsPlan), &channel, &services)
      return true
    }
    guard isUploading else { return false }
    checkPlan(&channel, &services)
    performCall(&channel, &services)
    return true
  }

  /// Ends a stream or a parked poll because the relay stops.
  mutating func endIfIdle(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    if isStreaming {
      stream?.value.end(services.stoppingRefusal(), &channel, &services)
    } else if isParked {
      answerEmpty(&channel, &services)
    }
  }

  // MARK: uploads

  private mutating func addToUpload(
    _ bytes: [UInt8], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    exchange?.value.transfer.receive(bytes)
    advanceUpload(&channel, &services)
  }

  /// Passes on received bytes, once the account is known and the step before is done.
  private mutating func advanceUpload(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if exchange?.value.stage == .whole { exchange?.value.transfer.endBody() }
    if let session = channel.session, exchange?.value.isSigningIn == false,
      let refusal = exchange?.value.transfer.submitUploadStep(session, for: channel.id, &services)
        ?? nil
    {
      refuseUpload(refusal, &channel, &services)
    }
    updateUploadReading()
  }

  /// Counts the bytes held for the upload, and stops or resumes reading of its body.
  private mutating func updateUploadReading() {
    guard let bytes = exchange?.value.transfer.uploadBytes,
      let isFull = exchange?.value.transfer.isUploadFull
    else { return }
    exchange?.value.bodyBytes = bytes
    switch exchange?.value.stage {
    case .reading where isFull: exchange?.value.stage = .full
    case .full where !isFull: exchange?.value.stage = .reading
    default: break
    }
  }

  /// Stops reading an upload with a step under way, because there is no memory for more bytes.
  mutating func pauseUpload() {
    guard exchange?.value.stage == .reading, exchange?.value.transfer.isUploadBegun == true,
      exchange?.value.transfer.uploadBytes ?? 0 > 0
    else { return }
    exchange?.value.stage = .full
  }

  /// Handles the result of a step from the chunk store.
  mutating func handleUploadStep(
    _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard exchange?.value.transfer.isUploading(to: file) == true else { return }
    switch result {
    case .success(.done):
      if exchange?.value.transfer.completeStep() == true {
        services.recordFileSuccess()
        addChunk(&channel, &services)
      } else {
        advanceUpload(&channel, &services)
      }
    case .success: refuseUpload(StoreHealth.mismatch, &channel, &services)
    case .failure(let refusal): refuseUpload(refusal, &channel, &services)
    }
  }

  /// Refuses the upload; the rest of its body is discarded.
  private mutating func refuseUpload(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    exchange?.value.pendingAnswer = Answer(refusal)
    endUpload(&services)
    performCall(&channel, &services)
  }

  /// Ends an upload that was refused before its chunk was added.
  private mutating func endUpload(_ services: inout RelayServices) {
    guard isUploading else { return }
    exchange?.value.transfer.drop(&services)
    exchange?.value.bodyBytes = 0
    if exchange?.value.stage == .full { exchange?.value.stage = .reading }
  }

  /// Adds the chunk to the account; its file is complete and durable.
  private mutating func addChunk(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    exchange?.value.stage = .awaitingStore
    exchange?.value.bodyBytes = 0
    if let refusal = exchange?.value.transfer.addChunk(for: channel.id, &services) ?? nil {
      answer(Answer(refusal), &channel, &services)
    }
  }

  /// Answers an upload after its chunk was added to the account, or refused. Its file was handled
  /// before, whatever happened to the connection.
  mutating func handleChunkAdded(
    _ result: Result<CommitResult, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    switch result {
    case .success(.chunkAdded), .success(.chunkReplaced(_, wasLacking: true)):
      answer(Answer(status: 201), &channel, &services)
    // A device that may read only a part of the account must not learn that the rest has the chunk.
    case .success(.chunkReplaced):
      let isScoped = channel.session?.scope.zones != nil
      answer(Answer(status: isScoped ? 201 : 200), &channel, &services)
    case .success: answer(Answer(StoreHealth.mismatch), &channel, &services)
    case .failure(let refusal): answer(Answer(refusal), &channel, &services)
    }
  }

  // MARK: downloads

  /// Starts a download. Throws if there is no memory for it, or too many requests are pending.
  private mutating func beginDownload(
    _ fetch: ChunkFetch, _ chunk: StoredChunk, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) throws(Refusal) {
    switch fetch.selection(of: chunk.bytes) {
    case .held: answer(.held(fetch), &channel, &services)
    case .unsatisfiable: answer(.noSuchRange(of: chunk.bytes), &channel, &services)
    case .bytes(let range, let isPart):
      let head = Answer.chunk(fetch, range, isPart: isPart, size: chunk.bytes)
      if range.isEmpty {
        answer(head, &channel, &services)
        return
      }
      let holder = channel.holder
      guard services.admission.hasRoom(for: holder) else {
        throw services.admission.refusal(of: holder)
      }
      exchange?.value.transfer.beginDownload(
        ChunkDownload(chunk.file, range, head: head), &services)
      exchange?.value.stage = .sending
      guard exchange?.value.transfer.readPart(for: channel.id, &services) ?? true else {
        exchange?.value.transfer.removeDownload(&services)
        throw StoreQueue.overloaded
      }
    }
  }

  /// Reads the next part as soon as the connection has room for it. If the node has no memory for
  /// it, continues when all that was sent has left.
  private mutating func continueDownload(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    let hasRoom = services.admission.hasRoom(for: channel.holder)
    if channel.isClogged(services) || (!hasRoom && channel.unsentBytes > 0) { return }
    let isSubmitted = exchange?.value.transfer.readPart(for: channel.id, &services) ?? true
    if !isSubmitted { channel.close(.afterSending, &services) }
  }

  mutating func handleChunkRead(
    _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard exchange?.value.transfer.isDownloading(file) == true else { return }
    switch result {
    case .success(.bytes(let bytes)) where !bytes.isEmpty: sendPart(bytes, &channel, &services)
    // The file has fewer bytes than recorded.
    case .success(.bytes):
      services.reportMissing(file)
      refuseDownload(StoreRefusals.unknownChunk, &channel, &services)
    case .success: refuseDownload(StoreHealth.mismatch, &channel, &services)
    case .failure(let refusal):
      if refusal.code == .notFound { services.reportMissing(file) }
      refuseDownload(refusal, &channel, &services)
    }
  }

  private mutating func sendPart(
    _ bytes: [UInt8], _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if var head = exchange?.value.transfer.recordRead(bytes.count) ?? nil {
      head.body = bytes
      exchange?.value.status = UInt16(head.status)
      let bytes = services.response(
        head, head: exchange?.value.head,
        opening: channel.opening,
        crossOrigin: crossOrigin, closes: closesAfterAnswer(services))
      channel.send(bytes, &services)
    } else {
      channel.send(bytes, &services)
    }
    if exchange?.value.transfer.isDownloadOver == true {
      endExchange(closes: closesAfterAnswer(services), &channel, &services)
    } else {
      continueDownload(&channel, &services)
    }
  }

  /// Refuses an unreadable download. If the answer has begun, only closing early can signal the
  /// error.
  private mutating func refuseDownload(
    _ refusal: Refusal, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if exchange?.value.transfer.isSendingBody == true {
      services.count(refusal.code)
      channel.close(.afterSending, &services)
    } else {
      exchange?.value.transfer.removeDownload(&services)
      answer(Answer(refusal), &channel, &services)
    }
  }

  // MARK: event streams

  /// Registers a stream for news, before the store is read for it.
  private mutating func registerStream(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let session = channel.session, let head = exchange?.value.head else { return }
    stream = CopyOnWriteBox(EventStreamConnection(isChunked: head.minorVersion > 0))
    services.hub.addStream(channel.slot, session.account)
  }

  /// Starts a stream after the store was read: its first event is the page.
  private mutating func beginStream(
    _ page: ReadPage, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let method = exchange?.value.head.method, let since = page.since else { return }
    guard services.stage == .running, channel.session?.plan.hasNoZone == false else {
      answer(
        Answer(services.stage == .running ? Session.needsPlan : services.stoppingRefusal()),
        &channel, &services)
      return
    }
    let isHead = method == "HEAD"
    sendStreamHead(closes: !isHead || closesAfterAnswer(services), &channel, &services)
    if isHead {
      endExchange(closes: closesAfterAnswer(services), &channel, &services)
      return
    }
    let rest = parser.takeRest()
    exchange?.value.stage = .streaming
    stream?.value.begin(at: since, page, ignored: rest.count, &channel, &services)
  }

  /// Starts a stream without a cursor at the account's newest token, with an event that carries it.
  private mutating func beginStream(
    at newest: ChangeToken, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    beginStream(
      ReadPage(ChangePage(nothingSince: newest), as: eventForm(channel.session, services)),
      &channel, &services)
  }

  /// Returns the form of a stream's pages.
  private func eventForm(
    _ session: Session?, _ services: borrowing RelayServices
  ) -> PageForm {
    stream?.value.form(session, services) ?? PageForm(shape: .event(isChunked: false))
  }

  private mutating func sendStreamHead(
    closes: Bool, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    var headers = HTTPHeaders()
    headers.append("Content-Type", "text/event-stream")
    // Proxies must pass each event on as it comes, and store none.
    headers.append("Cache-Control", "no-cache, no-store, no-transform")
    headers.append("X-Accel-Buffering", "no")
    headers.append("Lockstep-Keep-Alive", String(services.configuration.keepAliveMilliseconds))
    services.addCommonFields(&headers, channel.opening, crossOrigin)
    if closes { headers.append("Connection", "close") }
    let isChunked = stream?.value.isChunked ?? false
    exchange?.value.status = 200
    channel.send(
      HTTPWriter.responseHead(status: 200, headers: headers, isChunked: isChunked), &services)
  }

  /// Returns a stream's reaction to a commit. `isPartial`: its device may have some of the records
  /// only. `limit`: bytes that may wait.
  mutating func handleStreamCommit(
    _ change: borrowing AccountChange, isPartial: Bool, limit: Int,
    _ channel: inout ConnectionChannel, at now: Instant
  ) -> CursorChain.Push {
    stream?.value.handleCommit(change, isPartial: isPartial, limit: limit, &channel, at: now)
      ?? .nothing
  }

  /// Records that a commit up to `token` did not match the filter of the stream's device.
  mutating func recordUnmatched(_ token: ChangeToken) { stream?.value.recordUnmatched(token) }

  /// Reads the changes after the stream's cursor.
  mutating func readBacklog(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    stream?.value.readBacklog(&channel, &services)
  }

  /// Handles a page that was read for the stream after its cursor `since`.
  mutating func handleBacklogRead(
    since: ChangeToken, _ result: Result<ReadPage, Refusal>, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    stream?.value.handleBacklogRead(since: since, result, &channel, &services)
  }

  mutating func sendHeartbeat(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    stream?.value.sendHeartbeat(&channel, &services)
  }

  // MARK: long-polls

  /// Registers a poll for news, before the store is read for it.
  private mutating func registerPoll(
    _ query: FetchQuery, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard query.waitMilliseconds > 0, let since = query.since, since.pinned == nil,
      let session = channel.session
    else { return }
    var poll = LongPoll(query, at: services.moment.instant)
    if let head = exchange?.value.head {
      poll.sharesAnswers = query.zone == nil && head.isPlainGet
    }
    exchange?.value.poll = poll
    services.hub.addPoll(channel.slot, session.account)
  }

  /// Parks a poll at the account's newest known token, without a read of the store. Returns false
  /// if the store must be read.
  private mutating func parkIfCurrent(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    guard services.stage == .running, let session = channel.session,
      let newest = services.hub.newest(of: session.account),
      exchange?.value.poll?.isWaiting(at: newest) == true
    else { return false }
    exchange?.value.poll?.token = newest
    park(&services)
    return true
  }

  private mutating func park(_ services: inout RelayServices) {
    exchange?.value.poll?.number = services.parkPoll()
    exchange?.value.stage = .parked
  }

  /// Answers or parks a poll after the store was read for it.
  private mutating func handlePollRead(
    _ query: FetchQuery, _ page: ReadPage, _ channel: inout ConnectionChannel,
    _ services: inout RelayServices
  ) {
    guard let poll = exchange?.value.poll, !page.more,
      page.isEmpty || !(poll.hasMatch || services.matchesFilter(of: channel.session, page.records))
    else {
      // The answer to HEAD carries no changes.
      if query.zone == nil, exchange?.value.head.method != "HEAD" {
        recordTold(page.token, &channel, &services)
      }
      answer(services.answerWithReconnect(page.bytes), &channel, &services)
      return
    }
    if let session = channel.session, session.plan.hasNoZone {
      answer(Answer(Session.needsPlan), &channel, &services)
      return
    }
    exchange?.value.poll?.token = page.token
    exchange?.value.poll?.hasMatch = false
    if !page.isEmpty { exchange?.value.poll?.unmatchedToken = page.token }
    guard services.moment.instant < poll.endsAt, services.stage == .running else {
      answerEmpty(&channel, &services)
      return
    }
    if let announced = poll.newestAnnounced, !page.token.covers(announced) {
      exchange?.value.poll?.hasMatch = poll.hasMatch
      rereadChanges(&channel, &services)
      return
    }
    if let session = channel.session, poll.query.zone == nil {
      // The connection was a member before the read, so all commits since then were announced.
      services.hub.recordStoredToken(session.account, page.token)
    }
    park(&services)
  }

  /// Returns a poll's reaction to a commit. `isUnmatched`: the device's filter matches none of its
  /// records. `isPartial`: the device may have some of them only. `lastPoll`: the last poll parked
  /// before the store was read for it.
  mutating func handlePollCommit(
    _ change: borrowing AccountChange, isUnmatched: Bool, isPartial: Bool, lastPoll: UInt64,
    isRunning: Bool
  ) -> LongPoll.Reaction {
    guard let stage = exchange?.value.stage else { return .nothing }
    // The usual case changes nothing: a change within the box would allocate here.
    if stage == .parked, isRunning, !isUnmatched, !isPartial,
      exchange?.value.poll?.isAnswered(by: change, lastPoll: lastPoll) == true
    {
      return .answer
    }
    return exchange?.value.poll?.handleCommit(change, stage, isUnmatched: isUnmatched) ?? .nothing
  }

  /// Ends a poll that was answered together with others.
  mutating func endPoll(
    _ answer: borrowing Answer, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    exchange?.value.recordAnswer(answer)
    endExchange(closes: false, &channel, &services)
  }

  /// Handles new subscriptions of the device: changes that the old ones skipped are sent, or
  /// checked again. Returns true if reading continues.
  mutating func applyFilterChange(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    if stream != nil {
      stream?.value.applyFilterChange(&channel, &services)
      return false
    }
    guard let unmatchedToken = exchange?.value.poll?.unmatchedToken else { return false }
    switch exchange?.value.stage {
    case .parked:
      rereadChanges(&channel, &services)
      return true
    case .awaitingStore: exchange?.value.poll?.newestAnnounced = unmatchedToken
    case .reading, .full, .whole, .upgrading, .delayed, .sending, .streaming, nil: break
    }
    return false
  }

  mutating func rereadChanges(_ channel: inout ConnectionChannel, _ services: inout RelayServices) {
    guard let session = channel.session, let query = exchange?.value.poll?.query else { return }
    exchange?.value.poll?.newestAnnounced = nil
    exchange?.value.stage = .awaitingStore
    updateRequestTimer(&channel, &services)
    let isSubmitted = services.submitPageRead(
      session, query, as: PageForm(shape: .body, keepsRecords: true),
      for: .call(channel.id, .changes(query)))
    if !isSubmitted {
      answer(Answer(services.admission.refusal(of: channel.holder)), &channel, &services)
    }
  }

  /// Ends a poll whose time is up. If the store is shared, it is read once more, because commits of
  /// other relays may not be announced yet.
  private mutating func endPoll(_ channel: inout ConnectionChannel, _ services: inout RelayServices)
  {
    if services.configuration.sharesStore {
      rereadChanges(&channel, &services)
    } else {
      answerEmpty(&channel, &services)
    }
  }

  /// Ends a poll without changes: its time is up, the relay stops, or the client has closed its
  /// side and sends no more (`isLast`).
  mutating func answerEmpty(
    isLast: Bool = false, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let poll = exchange?.value.poll,
      // Skipped changes were not sent to the device, so its token stays.
      let token = poll.unmatchedToken == nil ? poll.token ?? poll.query.since : poll.query.since
    else { return }
    let page = ChangePage(since: poll.query.since, token: token, more: false, changes: [])
    answer(services.answerWithReconnect(page.encodedBody()), isLast: isLast, &channel, &services)
  }

  // MARK: positions for wakes

  /// Records the position that the device names in its request.
  private func recordPosition(
    of call: SignedCall, _ session: Session, _ services: inout RelayServices
  ) {
    switch call {
    case .changes(let query):
      guard query.zone == nil, let since = query.since else { return }
      services.wakeContacts.recordSeen(session.presenceKey, since, at: services.moment.wall)
    case .events(let since):
      if let since {
        services.wakeContacts.recordSeen(session.presenceKey, since, at: services.moment.wall)
      }
    case .issuePairing, .listDevices, .renameDevice, .revokeDevice, .save, .record, .listRecords,
      .putRecord, .deleteRecord, .listZones, .deleteZone, .listSubscriptions, .subscription,
      .putSubscription, .removeSubscription, .chunk, .renewChunk, .missingChunks, .listWakes, .wake,
      .putWake, .removeWake, .verifyWake, .refused:
      break
    }
  }

  /// Records the position up to which a stream has sent the changes.
  mutating func recordStreamPosition(
    _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    if let cursor = stream?.value.cursor { recordTold(cursor, &channel, &services) }
  }

  /// Records that everything up to `token` is sent to the device.
  private func recordTold(
    _ token: ChangeToken, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) {
    guard let session = channel.session else { return }
    services.wakeContacts.recordTold(session.presenceKey, token, at: services.moment.wall)
  }

  // MARK: repeated polls

  /// Restarts a poll that differs from the one before only in its token, as clients send it that
  /// ask for nothing else: the parsed head and the session stay valid. Returns false, and does
  /// nothing, if the bytes must be parsed: it is another request, or incomplete, or needs more than
  /// waiting.
  private mutating func repeatLastPoll(
    _ bytes: RawSpan, _ channel: inout ConnectionChannel, _ services: inout RelayServices
  ) -> Bool {
    guard let since = repeatedSince(in: bytes), services.stage == .running,
      !channel.isCrowded(services), let session = channel.session, !session.plan.hasNoZone,
      services.hub.addPoll(
        channel.slot, session.account, at: since, limit: channel.watcherLimit(services))
    else { return false }
    guard channel.chargeDevice(session, &services) == nil else {
      services.hub.removePoll(channel.slot, session.account)
      return false
    }
    services.wakeContacts.recordSeen(session.presenceKey, since, at: services.moment.wall)
    services.status.requests += 1
    swap(&exchange, &lastPoll)
    exchange?.value.repeatPoll(
      since: since, number: services.parkPoll(), at: services.moment.instant)
    updateRequestTimer(&channel, &services)
    return true
  }

  /// Keeps an answered poll for its repetition.
  private mutating func expectRepetition() {
    if exchange?.value.repetition == nil {
      guard let request = exchange?.value, request.headBytes == 0,
        let query = request.poll?.query
      else { return }
      exchange?.value.repetition = RepeatedPoll(request.head, query)
    }
    if exchange?.value.repetition != nil { swap(&exchange, &lastPoll) }
  }

  /// Returns the token if `bytes` repeat the last poll and nothing else has come.
  private mutating func repeatedSince(in bytes: RawSpan) -> ChangeToken? {
    guard exchange == nil, parser.isIdle else { return nil }
    return lastPoll?.value.repetition?.since(in: bytes)
  }
}
