import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Reading of requests: one at a time, in order, each answered before the next is parsed.
extension RelayNode {
  /// True if bytes of a request would be parsed now.
  func readsRequests(_ slot: Hub.Slot) -> Bool {
    guard let stage = connections[slot].http.exchange?.value.stage else { return !isCrowded(slot) }
    return stage == .reading
  }

  mutating func readRequests(_ slot: Hub.Slot) {
    while connections.isInUse(slot), connections[slot].socket == nil, readsRequests(slot) {
      let event: HTTPRequestEvent?
      do throws(Refusal) {
        event = try connections[slot].http.parser.next()
      } catch {
        refuseBytes(slot, error)
        return
      }
      switch event {
      case nil:
        updateRequestTimer(slot)
        return
      case .head(let head): beginExchange(slot, head)
      case .body(let bytes): addBody(slot, bytes)
      case .end:
        connections[slot].http.exchange?.value.stage = .whole
        performCall(slot)
      }
    }
    if connections.isInUse(slot) { updateRequestTimer(slot) }
  }

  /// Refuses bytes that cannot be parsed, or for which there is no room: the answer is the
  /// connection's last.
  mutating func refuseBytes(_ slot: Hub.Slot, _ refusal: Refusal) {
    if let pendingAnswer = connections[slot].http.exchange?.value.pendingAnswer {
      // The request was refused before its body came, and that answer is the better one.
      answer(slot, pendingAnswer)
      return
    }
    services.count(refusal.code)
    let bytes = services.response(
      Answer(refusal), head: nil, opening: connections[slot].opening,
      crossOrigin: connections[slot].crossOrigin, closes: true)
    send(slot, bytes)
    close(slot, .afterSending)
  }

  // MARK: head

  private mutating func beginExchange(_ slot: Hub.Slot, _ head: HTTPRequestHead) {
    services.status.requests += 1
    connections[slot].http.lastPoll = nil
    identifyClient(slot, head)
    let routing = Router.route(
      method: head.method, target: head.target,
      listenerKind: connections[slot].opening.listenerKind,
      pages: services.configuration.pages)
    var exchange: HTTPExchange
    let hostRefusal = refusalOfHost(slot, head, of: routing)
    switch routing {
    case _ where hostRefusal != nil:
      exchange = HTTPExchange(head: head, call: nil)
      exchange.pendingAnswer = hostRefusal.map { Answer($0) }
    case .options(let methods):
      exchange = HTTPExchange(head: head, call: nil)
      exchange.pendingAnswer = .options(
        methods: methods, isForeign: connections[slot].crossOrigin == .foreign)
    case .refused(let refusal, let methods):
      exchange = HTTPExchange(head: head, call: nil)
      exchange.pendingAnswer = Answer(refusal, methods: methods)
    case .call(let routed):
      let call = RelayNode.checkBody(resolveStatusPage(routed, head), head)
      exchange = HTTPExchange(head: head, call: call)
      let refusal = refusal(of: call, head) ?? refusal(ofOriginOf: call, slot)
      exchange.pendingAnswer = refusal.map { Answer($0) }
      connections[slot].http.parser.bodyLimit = call.bodyLimit
    }
    exchange.begunAt = services.moment.instant
    let (isRefused, call) = (exchange.pendingAnswer != nil, exchange.call)
    connections[slot].http.exchange = CopyOnWriteBox(exchange)
    if !isRefused {
      startSignIn(slot, head.headers)
    } else {
      applyRateLimit(slot, chargeAddress(slot))
    }
    if case .upload(let hash) = call, connections[slot].http.exchange?.value.pendingAnswer == nil {
      beginUpload(slot, hash)
    }
    continueBody(slot)
  }

  /// Determines the client, and the origin of its page.
  private mutating func identifyClient(_ slot: Hub.Slot, _ head: HTTPRequestHead) {
    guard connections[slot].opening.listenerKind == .public else { return }
    if connections[slot].client.isBehindProxy {
      releaseMemory(slot)
      connections[slot].client = ClientAddress(
        connections[slot].opening, headers: head.headers, services.configuration)
    }
    // Evaluated for a page's request alone: its text takes long to make.
    connections[slot].crossOrigin = CrossOrigin(
      head.headers, services.configuration.origins,
      own: connections[slot].client.ownOrigin(
        host: head.target.authority ?? head.headers["Host"],
        isSecure: connections[slot].opening.isSecure))
    if !services.hasReportedProxy, connections[slot].client.isUndeclared(head.headers) {
      services.hasReportedProxy = true
      services.actions.append(.report(.undeclaredProxy(connections[slot].client.network)))
    }
  }

  /// Returns the refusal of a call that needs no token, from a page of a foreign origin. The
  /// answers to all other calls are withheld from the page by its browser.
  private func refusal(ofOriginOf call: Call, _ slot: Hub.Slot) -> Refusal? {
    guard connections[slot].crossOrigin == .foreign else { return nil }
    switch call {
    case .socket, .unauthenticated(.createAccount), .unauthenticated(.join):
      return CrossOrigin.refusal
    case .unauthenticated, .signed, .owner, .upload, .health, .page, .ownPage: return nil
    }
  }

  /// Refuses a client that exceeds its rate, whatever else is wrong with the request.
  private mutating func applyRateLimit(_ slot: Hub.Slot, _ refusal: Refusal?) {
    guard let refusal else { return }
    connections[slot].http.exchange?.value.pendingAnswer = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
  }

  /// Returns the status page for a browser; programs get the figures.
  private func resolveStatusPage(_ call: Call, _ head: HTTPRequestHead) -> Call {
    guard call == .health(.status),
      head.headers.list("Accept").contains(where: { $0.hasPrefix("text/html") }),
      let page = services.configuration.pages.page(at: head.target.path, listenerKind: .admin)
    else { return call }
    return .page(page)
  }

  /// Returns the call, or, if its head announces a body that it does not take, the refusal of that:
  /// a device must be authenticated before its request is judged.
  private static func checkBody(_ call: Call, _ head: HTTPRequestHead) -> Call {
    guard let refusal = refusal(ofBodyOf: call, head) else { return call }
    switch call {
    case .signed, .upload: return .signed(.refused(refusal))
    case .unauthenticated, .owner, .health, .page, .ownPage, .socket: return call
    }
  }

  /// Returns the refusal of the body, as far as the head shows it.
  private static func refusal(ofBodyOf call: Call, _ head: HTTPRequestHead) -> Refusal? {
    if call.readsBody, let type = head.headers["Content-Type"], !isJSON(type) {
      return Refusal(
        .unsupportedMediaType, "Send the body as JSON, with `Content-Type: application/json`.")
    }
    // The relay does not decode bodies, and must store what was meant.
    let codings = head.headers.list("Content-Encoding")
    if head.framing != .none, codings.contains(where: { $0.lowercased() != "identity" }) {
      return Refusal(
        .unsupportedMediaType, "Send the body unencoded, without `Content-Encoding`.")
    }
    if case .upload = call, head.framing == .none {
      return Refusal(
        .lengthRequired, "Send the chunk's bytes as a body, with `Content-Length` or chunked.")
    }
    return nil
  }

  /// Returns the refusal that is known before the body comes.
  private mutating func refusal(of call: Call, _ head: HTTPRequestHead) -> Refusal? {
    if services.stage != .running {
      if case .health = call { return nil }
      return services.stoppingRefusal()
    }
    if let refusal = RelayNode.refusal(ofBodyOf: call, head) { return refusal }
    if case .length(let count) = head.framing, count > call.bodyLimit {
      return Refusal(
        .bodyTooLarge, "The body may have at most \(call.bodyLimit) bytes; send less at once.")
    }
    return nil
  }

  /// True for `application/json` and types based on it (RFC 6839), whatever the parameters.
  private static func isJSON(_ type: String) -> Bool {
    let essence = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    return essence == "application/json" || essence.hasSuffix("+json")
  }

  /// Authenticates the client, if the call needs it.
  private mutating func startSignIn(_ slot: Hub.Slot, _ headers: HTTPHeaders) {
    let isNeeded: Bool
    switch connections[slot].http.exchange?.value.call {
    case .signed, .upload: isNeeded = true
    case .socket:
      isNeeded = headers.contains("Authorization")
      // Behind a proxy, the request before on this connection may be from another client.
      if !isNeeded { signOut(slot) }
    case .unauthenticated, .owner, .health, .page, .ownPage, nil: isNeeded = false
    }
    guard isNeeded, let token = RelayNode.bearerToken(headers) else {
      if isNeeded { connections[slot].http.exchange?.value.pendingAnswer = .missingToken }
      applyRateLimit(slot, chargeAddress(slot))
      return
    }
    let hash = DeviceToken.hash(token)
    if let session = connections[slot].session, ConstantTime.equal(session.tokenHash, hash) {
      checkPlan(slot)
      applyRateLimit(slot, chargeDevice(slot, session))
      return
    }
    if let refusal = chargeAddress(slot) {
      applyRateLimit(slot, refusal)
      return
    }
    connections[slot].http.exchange?.value.isSigningIn = true
    if !services.lookUpToken(connections[slot].id, tokenHash: hash) {
      connections[slot].http.exchange?.value.isSigningIn = false
      connections[slot].http.exchange?.value.pendingAnswer = Answer(StoreQueue.overloaded)
    }
  }

  /// Returns the bearer token (RFC 6750 section 2.1); nil if there is none.
  private static func bearerToken(_ headers: HTTPHeaders) -> ArraySlice<UInt8>? {
    let blank = UInt8(ascii: " ")
    guard headers.count(of: "Authorization") == 1, let value = headers.bytes(of: "Authorization"),
      let end = value.firstIndex(of: blank)
    else { return nil }
    let scheme = value[..<end]
    guard equalIgnoringCase(scheme.span, "bearer") else { return nil }
    let token = value[end...].drop { $0 == blank }
    return token.isEmpty ? nil : token
  }

  /// Sends `100 Continue` to a client that waits for it, once the sign-in is done, or its answer
  /// instead.
  mutating func continueBody(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.head.expectsContinue == true,
      connections[slot].http.exchange?.value.stage == .reading,
      connections[slot].http.exchange?.value.isSigningIn == false
    else { return }
    if let pendingAnswer = connections[slot].http.exchange?.value.pendingAnswer {
      answer(slot, pendingAnswer)
    } else {
      send(slot, HTTPWriter.response(status: 100))
    }
  }

  // MARK: body

  private mutating func addBody(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    // A body that will not be read is skipped, so that the connection can continue after it.
    guard connections[slot].http.exchange?.value.pendingAnswer == nil else { return }
    if case .upload = connections[slot].http.exchange?.value.call {
      addToUpload(slot, bytes)
      return
    }
    connections[slot].http.exchange?.value.body += bytes
    connections[slot].http.exchange?.value.bodyBytes += bytes.count
  }

  // MARK: call

  /// Performs the call, once the request is complete and the client is authenticated.
  mutating func performCall(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.isSigningIn == false else { return }
    if case .upload = connections[slot].http.exchange?.value.call,
      connections[slot].http.exchange?.value.pendingAnswer == nil
    {
      advanceUpload(slot)
      return
    }
    guard connections[slot].http.exchange?.value.stage == .whole else { return }
    if let pendingAnswer = connections[slot].http.exchange?.value.pendingAnswer {
      answer(slot, pendingAnswer)
      return
    }
    guard let call = connections[slot].http.exchange?.value.call else { return }
    let context = CallContext(
      configuration: services.configuration, secrets: services.secrets, wall: services.moment.wall,
      address: connections[slot].client.network)
    let body = connections[slot].http.exchange?.value.body ?? []
    connections[slot].http.exchange?.value.body = []
    do throws(Refusal) {
      switch call {
      case .health(let call):
        if call != .live { services.checkStoreFiles() }
        answer(slot, healthAnswer(call, listenerKind: connections[slot].opening.listenerKind))
      case .page(let page):
        let held = connections[slot].http.exchange?.value.head.headers.list("If-None-Match")
        answer(slot, Answer(page: page, ifNoneMatch: held ?? []))
      case .ownPage(let names): try readOwnPage(slot, names)
      case .socket: upgradeToWebSocket(slot)
      case .upload: break
      case .unauthenticated(let call):
        if call == .createAccount { try services.checkAccountLimit() }
        let step = try UnauthenticatedClient().perform(call, body: body, in: context)
        // A body without a code is not a guess.
        if call == .join { try countGuess(slot) }
        if call == .createAccount { try countNewAccount(slot) }
        try performStep(slot, step)
      case .owner(let call): try performStep(slot, Owner().perform(call, body: body, in: context))
      case .signed(let call):
        guard let session = connections[slot].session,
          let headers = connections[slot].http.exchange?.value.head.headers
        else { throw RelayServices.notSignedIn }
        try performStep(slot, session.perform(call, body: body, headers: headers, in: context))
      }
    } catch {
      answer(slot, Answer(error))
    }
  }

  private mutating func readOwnPage(_ slot: Hub.Slot, _ names: [String]) throws(Refusal) {
    try checkMemory(slot)
    connections[slot].http.exchange?.value.stage = .awaitingStore
    if !services.submitOwnPage(names, for: connections[slot].id) { throw StoreQueue.overloaded }
  }

  /// Sends one of the owner's pages, unless other answers have used up the memory meanwhile.
  mutating func handlePageFile(
    _ id: ConnectionID, _ result: Result<PageFolderEntry, StorageError>
  ) {
    guard let slot = connections.slot(of: id),
      let head = connections[slot].http.exchange?.value.head
    else { return }
    do throws(Refusal) {
      try checkMemory(slot)
      answer(slot, Answer(ownPage: result, to: head))
    } catch {
      answer(slot, Answer(error))
    }
    processInput(slot)
  }

  private mutating func performStep(_ slot: Hub.Slot, _ step: HandlerResult) throws(Refusal) {
    let id = connections[slot].id
    connections[slot].http.exchange?.value.stage = .awaitingStore
    let isSubmitted: Bool
    switch step {
    case .answer(var answer):
      if connections[slot].http.exchange?.value.call == .unauthenticated(.time) {
        services.addReconnect(to: &answer)
      }
      self.answer(slot, answer)
      return
    case .commit(let request, let response):
      connections[slot].http.exchange?.value.bodyBytes += request.overheadBytes
      isSubmitted = services.submitCommit(request, for: .call(id, response))
    case .page(let request, .changes(let query)):
      if query.waitMilliseconds > 0, let session = connections[slot].session {
        try checkConnections(slot, of: session.account)
      }
      registerPoll(slot, query)
      if parkIfCurrent(slot) { return }
      let isPoll = connections[slot].http.exchange?.value.poll != nil
      try checkMemory(slot)
      isSubmitted = services.submitPage(
        request, as: PageForm(shape: .body, keepsRecords: isPoll),
        for: .call(id, .changes(query)))
    case .page(let request, .events):
      try prepareStream(slot)
      isSubmitted = services.submitPage(request, as: eventForm(slot), for: .call(id, .events))
    case .read(let request, .events):
      try prepareStream(slot)
      isSubmitted = services.submitRead(request, for: .call(id, .events))
    case .page(let request, .recordList(let tags, let type)):
      try checkMemory(slot)
      isSubmitted = services.submitPage(
        request, as: PageForm(shape: .list(type: type)),
        for: .call(id, .recordList(ifNoneMatch: tags, type: type)))
    case .read(let request, let response):
      isSubmitted = services.submitRead(request, for: .call(id, response))
    }
    if !isSubmitted { throw StoreQueue.overloaded }
  }

  /// Registers an event stream, before the store is read for it.
  private mutating func prepareStream(_ slot: Hub.Slot) throws(Refusal) {
    if let session = connections[slot].session {
      try checkConnections(slot, of: session.account)
    }
    registerStream(slot)
    try checkMemory(slot)
  }

  /// Throws if there is no memory for a page for this client.
  private mutating func checkMemory(_ slot: Hub.Slot) throws(Refusal) {
    let holder = holder(of: slot)
    if !services.admission.hasRoom(for: holder) { throw services.admission.refusal(of: holder) }
  }

  /// Counts a guess of a pairing code here and, by news, on all other nodes.
  private mutating func countGuess(_ slot: Hub.Slot) throws(Refusal) {
    let address = connections[slot].client.network
    if let wait = services.admission.guesses.wait(for: address, at: services.moment.instant) {
      throw Admission.tooManyGuesses(wait)
    }
    services.admission.guesses.recordGuess(from: address, at: services.moment.instant)
    services.actions.append(.broadcast(.pairingGuess(address: address)))
  }

  static let isStopping = Refusal(
    .stopping, "The relay is stopping; connect again in a services.moment.",
    retryAfterMilliseconds: 1_000)
  static let notSignedIn = Refusal(
    .badToken, "This device is not signed in to the account any more; pair it again.")
}

/// Signs connections in to a device, and out again.
extension RelayNode {
  /// Handles the store's answer about a token: its device, or a refusal. `membershipChanges`,
  /// `commits`: the counts of both logs when the request was sent.
  mutating func handleSignInRead(
    _ id: ConnectionID, tokenHash: [UInt8], membershipChanges: Int, commits: Int,
    _ result: Result<ReadResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    switch result {
    case .success(.principal(let principal)):
      // News may have overtaken this answer; a new request to the store includes them.
      let isNewest = !services.commits.hasChanged(principal.account, since: commits)
      // A relay that shares its store must know from which token on it has received all commits.
      if services.membershipChanges.hasChanged(principal.account, since: membershipChanges)
        || (services.configuration.sharesStore && !isNewest)
      {
        if services.lookUpToken(id, tokenHash: tokenHash) { return }
        refuseSignIn(slot, StoreQueue.overloaded)
        break
      }
      signIn(
        slot,
        Session(
          account: principal.account, device: principal.device, tokenHash: tokenHash,
          plan: principal.plan),
        SubscriptionFilter(principal.subscriptions), newest: isNewest ? principal.newest : nil)
      beginVersionChecks(at: principal.account, membershipVersion: principal.membershipVersion)
    case .success:
      refuseSignIn(slot, StoreHealth.mismatch)
    case .failure(let refusal):
      refuseSignIn(slot, refusal)
    }
    processInput(slot)
  }

  /// `newest`: the account's newest token; nil if announced commits may be newer.
  private mutating func signIn(
    _ slot: Hub.Slot, _ session: Session, _ filter: SubscriptionFilter?, newest: ChangeToken?
  ) {
    signOut(slot)
    releaseMemory(slot)
    connections[slot].identity = .session(session)
    services.hub.addMember(slot, session.account)
    if let newest { services.hub.recordStoredToken(session.account, newest) }
    services.hub.setFilter(filter, of: session.device, session.account)
    if services.presence.recordSignIn(session.presenceKey, wall: services.moment.wall) {
      services.broadcastPresence(session, isConnected: true)
    }
    services.scheduleSightings()
    refundAddress(slot)
    if case .signingIn(let since) = connections[slot].socket?.stage {
      // Refunds both the upgrade and the hello.
      refundAddress(slot)
      chargeFrame(slot)
      scheduleWelcome(slot, session, since: since)
      return
    }
    connections[slot].http.exchange?.value.isSigningIn = false
    checkPlan(slot)
    if let refusal = chargeDevice(slot, session) {
      connections[slot].http.exchange?.value.pendingAnswer = Answer(refusal)
      connections[slot].http.exchange?.value.body = []
      endUpload(slot)
    }
    continueBody(slot)
    performCall(slot)
  }

  private mutating func refuseSignIn(_ slot: Hub.Slot, _ refusal: Refusal) {
    // A guessed token is charged to the address; a failing store is not the client's fault.
    if refusal.code != .badToken { refundAddress(slot) }
    if connections[slot].socket != nil {
      closeSocket(slot, refusal)
      return
    }
    guard connections[slot].http.exchange != nil else { return }
    connections[slot].http.exchange?.value.isSigningIn = false
    connections[slot].http.exchange?.value.pendingAnswer = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
    endUpload(slot)
    continueBody(slot)
    performCall(slot)
  }

  /// Ends the connection's session.
  mutating func signOut(_ slot: Hub.Slot) {
    guard let session = connections[slot].session else { return }
    releaseMemory(slot)
    connections[slot].identity = .unauthenticated(UnauthenticatedClient())
    if services.presence.recordSignOut(session.presenceKey, wall: services.moment.wall) {
      services.hub.setFilter(nil, of: session.device, session.account)
      services.broadcastPresence(session, isConnected: false)
    }
    services.hub.removeMember(slot, session.account)
    services.scheduleSightings()
  }

  // MARK: sightings
}

/// Applies news about a signed-in device at once, to all its connections.
extension RelayNode {
  /// Handles a revoked token. The connection that requested it still gets its answer.
  mutating func handleRevocation(
    _ account: AccountID, _ device: DeviceID, by origin: CommitOrigin?
  ) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) where connections[slot].session?.device == device {
      if origin?.node == services.configuration.node, origin?.connection == connections[slot].id {
        signOut(slot)
      } else {
        endConnection(slot, RelayServices.notSignedIn)
      }
    }
  }

  mutating func handleAccountRemoval(_ account: AccountID) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) { endConnection(slot, RelayServices.notSignedIn) }
  }

  /// Applies a new plan. Requests that were admitted before may finish; later ones need the new
  /// one.
  mutating func applyPlan(_ account: AccountID, _ plan: Plan) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) {
      connections[slot].setPlan(plan)
      if plan.hasNoZone { endWaitingRequest(slot) }
    }
  }

  mutating func applySubscriptions(
    _ account: AccountID, _ device: DeviceID, _ subscriptions: [Subscription]
  ) {
    services.membershipChanges.recordChange(account)
    services.hub.setFilter(SubscriptionFilter(subscriptions), of: device, account)
    for slot in members(of: account) where connections[slot].session?.device == device {
      if connections[slot].socket != nil {
        let isClogged = isClogged(slot)
        let push = connections[slot].socket?.chain.applyFilterChange(isClogged: isClogged)
        performPush(slot, push ?? .nothing)
      } else if connections[slot].stream != nil {
        applyFilterChange(ofStream: slot)
      } else {
        applyFilterChange(ofPoll: slot)
      }
    }
  }

  /// Refuses, before its body arrives, a request that the account's plan does not include.
  mutating func checkPlan(_ slot: Hub.Slot) {
    guard let session = connections[slot].session else { return }
    let refusal: Refusal?
    switch connections[slot].http.exchange?.value.call {
    case .signed(let call): refusal = session.refusal(of: call)
    case .upload: refusal = session.plan.hasNoZone ? Session.needsPlan : nil
    case .unauthenticated, .owner, .health, .page, .ownPage, .socket, nil: refusal = nil
    }
    guard let refusal else { return }
    connections[slot].http.exchange?.value.pendingAnswer = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
    endUpload(slot)
  }

  /// Returns the account's connections, in the order in which they signed in.
  func members(of account: AccountID) -> [Hub.Slot] {
    services.hub.watchers(of: account)?.members ?? []
  }

  /// Ends a connection whose device is no longer valid; the refusal answers its request.
  private mutating func endConnection(_ slot: Hub.Slot, _ refusal: Refusal) {
    if connections[slot].socket != nil {
      closeSocket(slot, refusal)
      return
    }
    if connections[slot].isStreaming {
      endStream(slot, refusal)
      return
    }
    switch connections[slot].http.exchange?.value.call {
    case nil where connections[slot].http.exchange == nil: close(slot, .afterSending)
    // The answer has begun; only closing it early can signal the error.
    case .signed where isSending(slot): close(slot, .afterSending)
    case .signed, .upload: answer(slot, Answer(refusal), isLast: true)
    // The request does not need a signed-in device.
    case .unauthenticated, .owner, .health, .page, .ownPage, .socket, nil: signOut(slot)
    }
  }

  /// Ends requests that wait for news, which will not come any more, and uploads, which could go on
  /// for long.
  private mutating func endWaitingRequest(_ slot: Hub.Slot) {
    if connections[slot].socket != nil {
      closeSocket(slot, Session.needsPlan)
    } else if connections[slot].isStreaming {
      endStream(slot, Session.needsPlan)
    } else if connections[slot].http.exchange?.value.stage == .parked {
      answer(slot, Answer(Session.needsPlan))
      processInput(slot)
    } else if services.uploads[connections[slot].id] != nil {
      checkPlan(slot)
      performCall(slot)
      processInput(slot)
    }
  }
}

extension Connection {
  fileprivate mutating func setPlan(_ plan: Plan) {
    guard case .session(var session) = identity else { return }
    session.plan = plan
    identity = .session(session)
  }
}

/// Uploads of chunks. Bytes are written as they arrive. The account gets the chunk only when all
/// bytes are durable and match the hash.
///
///     bytes → append … append → finish → commit → answer
///
/// If an upload ends before the commit, its file is removed.
extension RelayNode {
  /// Starts an upload after the head of a request that has no error so far.
  mutating func beginUpload(_ slot: Hub.Slot, _ hash: ChunkHash) {
    guard services.uploads.count < services.configuration.limits.uploads else {
      connections[slot].http.exchange?.value.pendingAnswer = Answer(StoreRefusals.tooManyUploads)
      return
    }
    guard !services.isDiskLow() else {
      connections[slot].http.exchange?.value.pendingAnswer = Answer(StoreHealth.diskLow)
      return
    }
    services.uploads[connections[slot].id] = ChunkUpload(hash)
  }

  mutating func addToUpload(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    services.uploads[connections[slot].id]?.receive(bytes)
    advanceUpload(slot)
  }

  /// Passes on received bytes, once the account is known and the step before is done.
  mutating func advanceUpload(_ slot: Hub.Slot) {
    let id = connections[slot].id
    if connections[slot].http.exchange?.value.stage == .whole { services.uploads[id]?.endBody() }
    if let session = connections[slot].session,
      connections[slot].http.exchange?.value.isSigningIn == false
    {
      submitUploadStep(id, by: session)
    }
    updateUploadReading(slot)
  }

  private mutating func submitUploadStep(_ id: ConnectionID, by session: Session) {
    if let upload = services.uploads[id], upload.file == nil {
      let others = services.uploads.values.count { $0.file?.account == session.account }
      guard others < services.configuration.limits.uploadsPerAccount else {
        if let slot = connections.slot(of: id) { refuseUpload(slot, StoreRefusals.tooManyUploads) }
        return
      }
      services.uploads[id]?.file = ChunkFile(
        account: session.account, number: services.secrets.word())
    }
    guard let file = services.uploads[id]?.file, let hash = services.uploads[id]?.hash,
      let step = services.uploads[id]?.nextStep()
    else { return }
    let request: ChunkRequest =
      switch step {
      case .append(let bytes): .append(file, bytes)
      case .finish: .finish(file, expecting: hash)
      }
    if !services.submitFileRequest(request, for: .upload(id, file)),
      let slot = connections.slot(of: id)
    {
      refuseUpload(slot, StoreQueue.overloaded)
    }
  }

  /// Counts the bytes held for the upload, and stops or resumes reading of its body.
  private mutating func updateUploadReading(_ slot: Hub.Slot) {
    guard let upload = services.uploads[connections[slot].id] else { return }
    connections[slot].http.exchange?.value.bodyBytes = upload.heldBytes
    switch connections[slot].http.exchange?.value.stage {
    case .reading where upload.isFull: connections[slot].http.exchange?.value.stage = .full
    case .full where !upload.isFull: connections[slot].http.exchange?.value.stage = .reading
    default: break
    }
  }

  /// Stops reading an upload with a step under way, because there is no memory for more bytes.
  mutating func pauseUpload(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.stage == .reading,
      let upload = services.uploads[connections[slot].id], upload.isBegun, upload.heldBytes > 0
    else { return }
    connections[slot].http.exchange?.value.stage = .full
  }

  /// Handles the result of a step from the chunk store.
  mutating func handleUploadStep(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>
  ) {
    // The end of an upload has already handled its file.
    guard let slot = connections.slot(of: id), services.uploads[id]?.file == file else { return }
    switch result {
    case .success(.done):
      services.uploads[id]?.completeStep()
      if services.uploads[id]?.isFinished == true {
        if services.health.recordChunkSuccess() {
          services.actions.append(.report(.storeRecovered))
        }
        addChunk(slot)
      } else {
        advanceUpload(slot)
      }
    case .success: refuseUpload(slot, StoreHealth.mismatch)
    case .failure(let refusal): refuseUpload(slot, refusal)
    }
    processInput(slot)
  }

  /// Refuses the upload; the rest of its body is discarded.
  private mutating func refuseUpload(_ slot: Hub.Slot, _ refusal: Refusal) {
    connections[slot].http.exchange?.value.pendingAnswer = Answer(refusal)
    endUpload(slot)
    performCall(slot)
  }

  /// Ends an upload that was refused before its chunk was added.
  mutating func endUpload(_ slot: Hub.Slot) {
    guard services.uploads[connections[slot].id] != nil else { return }
    dropUpload(connections[slot].id)
    connections[slot].http.exchange?.value.bodyBytes = 0
    if connections[slot].http.exchange?.value.stage == .full {
      connections[slot].http.exchange?.value.stage = .reading
    }
  }

  /// Discards an upload that ends before its chunk was added. Its steps are done in order, so its
  /// file is removed after the step under way.
  mutating func dropUpload(_ id: ConnectionID) {
    guard let upload = services.uploads.removeValue(forKey: id), upload.isBegun,
      let file = upload.file
    else { return }
    services.removeFiles([file])
  }

  // MARK: commit

  /// Adds the chunk to the account; its file is complete and durable. From here on the commit owns
  /// the file, whatever happens to the connection.
  private mutating func addChunk(_ slot: Hub.Slot) {
    let id = connections[slot].id
    guard let upload = services.uploads.removeValue(forKey: id), let file = upload.file else {
      return
    }
    connections[slot].http.exchange?.value.stage = .awaitingStore
    connections[slot].http.exchange?.value.bodyBytes = 0
    let request = CommitRequest.addChunk(file.account, upload.hash, file, bytes: upload.received)
    if !services.submitCommit(request, for: .addChunk(id, file)) {
      services.removeFiles([file])
      answer(slot, Answer(StoreQueue.overloaded))
    }
  }

  mutating func handleChunkAdded(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<CommitResult, Refusal>
  ) {
    var isNew = false
    switch result {
    case .success(.chunkAdded): isNew = true
    case .success(.chunkReplaced(let old, let wasLacking)):
      isNew = wasLacking
      services.removeFiles([old])
    case .failure(let refusal) where refusal.code == .storeUnavailable:
      // A failed commit may still become durable after a crash, until another one has followed it.
      services.keepLeftover([file])
    case .success, .failure: services.removeFiles([file])
    }
    guard let slot = connections.slot(of: id) else { return }
    switch result {
    case .success(.chunkAdded), .success(.chunkReplaced):
      answer(slot, Answer(status: isNew ? 201 : 200))
    case .success: answer(slot, Answer(StoreHealth.mismatch))
    case .failure(let refusal): answer(slot, Answer(refusal))
    }
    processInput(slot)
  }
}

/// Downloads of chunks. A part is read and sent, and the next one is read as the connection takes
/// bytes, so that a slow client uses little memory.
extension RelayNode {
  /// Starts a download. Throws if there is no memory for it, or too many requests are pending.
  mutating func beginDownload(
    _ slot: Hub.Slot, _ fetch: ChunkFetch, _ chunk: StoredChunk
  ) throws(Refusal) {
    switch fetch.selection(of: chunk.bytes) {
    case .held: answer(slot, .held(fetch))
    case .unsatisfiable: answer(slot, .noSuchRange(of: chunk.bytes))
    case .bytes(let range, let isPart):
      let head = Answer.chunk(fetch, range, isPart: isPart, size: chunk.bytes)
      if range.isEmpty {
        answer(slot, head)
        return
      }
      let holder = holder(of: slot)
      guard services.admission.hasRoom(for: holder) else {
        throw services.admission.refusal(of: holder)
      }
      services.downloads[connections[slot].id] = ChunkDownload(chunk.file, range, head: head)
      connections[slot].http.exchange?.value.stage = .sending
      guard readChunk(slot) else {
        services.downloads[connections[slot].id] = nil
        throw StoreQueue.overloaded
      }
    }
  }

  /// Reads the next part. Returns false if too many requests are pending.
  private mutating func readChunk(_ slot: Hub.Slot) -> Bool {
    let id = connections[slot].id
    guard let file = services.downloads[id]?.file, let range = services.downloads[id]?.nextRead()
    else {
      return true
    }
    return services.submitFileRequest(
      .read(file, offset: range.lowerBound, count: range.count), for: .download(id, file))
  }

  /// Reads the next part as soon as the connection has room for it. If the node has no memory for
  /// it, continues when all that was sent has left.
  mutating func continueDownload(_ slot: Hub.Slot) {
    let queue = connections[slot].queue
    let hasRoom = services.admission.hasRoom(for: holder(of: slot))
    if isClogged(slot) || (!hasRoom && queue.unsent > 0) { return }
    if !readChunk(slot) { close(slot, .afterSending) }
  }

  mutating func handleChunkRead(
    _ id: ConnectionID, _ file: ChunkFile, _ result: Result<ChunkResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id), services.downloads[id]?.file == file else { return }
    switch result {
    case .success(.bytes(let bytes)) where !bytes.isEmpty: sendPart(slot, bytes)
    // The file has fewer bytes than recorded.
    case .success(.bytes):
      reportMissing(file)
      refuseDownload(slot, StoreRefusals.unknownChunk)
    case .success: refuseDownload(slot, StoreHealth.mismatch)
    case .failure(let refusal):
      if refusal.code == .notFound { reportMissing(file) }
      refuseDownload(slot, refusal)
    }
    processInput(slot)
  }

  /// Marks the chunk as missing, so that devices that have it upload it again. If the commit cannot
  /// be queued or fails, the next reader of the chunk finds the same.
  private mutating func reportMissing(_ file: ChunkFile) {
    _ = services.submitCommit(.markChunksMissing([file]), for: .missingReport)
  }

  /// True if the answer's head was sent, and not all of its body.
  func isSending(_ slot: Hub.Slot) -> Bool {
    guard let download = services.downloads[connections[slot].id] else { return false }
    return download.head == nil
  }

  private mutating func sendPart(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    let id = connections[slot].id
    guard connections[slot].http.exchange != nil else { return }
    if var head = services.downloads[id]?.recordRead(bytes.count) {
      head.body = bytes
      connections[slot].http.exchange?.value.status = head.status
      let bytes = services.response(
        head, head: connections[slot].http.exchange?.value.head,
        opening: connections[slot].opening,
        crossOrigin: connections[slot].crossOrigin, closes: closesAfterAnswer(slot))
      send(slot, bytes)
    } else {
      send(slot, bytes)
    }
    if services.downloads[id]?.isOver == true {
      services.downloads[id] = nil
      endExchange(slot, closes: closesAfterAnswer(slot))
    } else {
      continueDownload(slot)
    }
  }

  /// Refuses an unreadable download. If the answer has begun, only closing early can signal the
  /// error.
  private mutating func refuseDownload(_ slot: Hub.Slot, _ refusal: Refusal) {
    if isSending(slot) {
      services.count(refusal.code)
      close(slot, .afterSending)
    } else {
      services.downloads[connections[slot].id] = nil
      answer(slot, Answer(refusal))
    }
  }
}
