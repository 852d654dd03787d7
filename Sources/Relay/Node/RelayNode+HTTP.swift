import LockstepCrypto
import LockstepModel
import LockstepWire

/// Reading of requests: one at a time, in order, each answered before the next is parsed.
extension RelayNode {
  /// True if bytes of a request would be parsed now.
  func readsRequests(_ slot: Hub.Slot) -> Bool {
    guard let stage = connections[slot].http.exchange?.value.stage else { return !isCrowded(slot) }
    return stage == .reading
  }

  mutating func readRequests(_ slot: Hub.Slot) {
    while connections.isTaken(slot), connections[slot].socket == nil, readsRequests(slot) {
      let event: HTTPRequestEvent?
      do throws(Refusal) {
        event = try connections[slot].http.parser.next()
      } catch {
        refuseBytes(slot, error)
        return
      }
      switch event {
      case nil:
        watchRequest(slot)
        return
      case .head(let head): begin(slot, head)
      case .body(let bytes): add(slot, bytes)
      case .end:
        connections[slot].http.exchange?.value.stage = .whole
        proceed(slot)
      }
    }
    if connections.isTaken(slot) { watchRequest(slot) }
  }

  /// Refuses bytes that cannot be parsed, or for which there is no room: the answer is the
  /// connection's last.
  mutating func refuseBytes(_ slot: Hub.Slot, _ refusal: Refusal) {
    if let verdict = connections[slot].http.exchange?.value.verdict {
      // The request was refused before its body came, and that answer is the better one.
      answer(slot, verdict)
      return
    }
    count(refusal.code)
    let bytes = response(
      Answer(refusal), head: nil, opening: connections[slot].opening,
      crossOrigin: connections[slot].crossOrigin, closes: true)
    send(slot, bytes)
    close(slot, .afterSending)
  }

  // MARK: head

  private mutating func begin(_ slot: Hub.Slot, _ head: HTTPRequestHead) {
    status.requests += 1
    connections[slot].http.lastPoll = nil
    meet(slot, head)
    let routing = Router.route(
      method: head.method, target: head.target, door: connections[slot].opening.door,
      pages: configuration.pages)
    var exchange: HTTPExchange
    let hostRefusal = refusalOfHost(slot, head, of: routing)
    switch routing {
    case _ where hostRefusal != nil:
      exchange = HTTPExchange(head: head, call: nil)
      exchange.verdict = hostRefusal.map { Answer($0) }
    case .options(let methods):
      exchange = HTTPExchange(head: head, call: nil)
      exchange.verdict = .options(
        methods: methods, isForeign: connections[slot].crossOrigin == .foreign)
    case .refused(let refusal, let methods):
      exchange = HTTPExchange(head: head, call: nil)
      exchange.verdict = Answer(refusal, methods: methods)
    case .call(let routed):
      let call = RelayNode.checked(shown(routed, head), head)
      exchange = HTTPExchange(head: head, call: call)
      let refusal = refusal(of: call, head) ?? refusal(ofOriginOf: call, slot)
      exchange.verdict = refusal.map { Answer($0) }
      connections[slot].http.parser.bodyLimit = call.bodyLimit
    }
    exchange.begunAt = moment.instant
    let (isRefused, call) = (exchange.verdict != nil, exchange.call)
    connections[slot].http.exchange = CopyOnWriteBox(exchange)
    if !isRefused {
      startSignIn(slot, head.headers)
    } else {
      refuseTooOften(slot, chargeAddress(slot))
    }
    if case .upload(let hash) = call, connections[slot].http.exchange?.value.verdict == nil {
      beginUpload(slot, hash)
    }
    continueBody(slot)
  }

  /// Determines the client, and the origin of its page.
  private mutating func meet(_ slot: Hub.Slot, _ head: HTTPRequestHead) {
    guard connections[slot].opening.door == .front else { return }
    if connections[slot].client.isBehindProxy {
      stopHolding(slot)
      connections[slot].client = ClientAddress(
        connections[slot].opening, headers: head.headers, configuration)
    }
    // Evaluated for a page's request alone: its text takes long to make.
    connections[slot].crossOrigin = CrossOrigin(
      head.headers, configuration.origins,
      own: connections[slot].client.ownOrigin(
        host: head.target.authority ?? head.headers["Host"],
        isSecure: connections[slot].opening.isSecure))
    if !hasToldOfProxy, connections[slot].client.isUndeclared(head.headers) {
      hasToldOfProxy = true
      actions.append(.report(.undeclaredProxy(connections[slot].client.network)))
    }
  }

  /// Returns the refusal of a call that needs no token, from a page of a foreign origin. The
  /// answers to all other calls are withheld from the page by its browser.
  private func refusal(ofOriginOf call: Call, _ slot: Hub.Slot) -> Refusal? {
    guard connections[slot].crossOrigin == .foreign else { return nil }
    switch call {
    case .socket, .guest(.createAccount), .guest(.join): return CrossOrigin.refusal
    case .guest, .signed, .owner, .upload, .health, .page: return nil
    }
  }

  /// Refuses a client that asks too often, whatever else is wrong with the request.
  private mutating func refuseTooOften(_ slot: Hub.Slot, _ refusal: Refusal?) {
    guard let refusal else { return }
    connections[slot].http.exchange?.value.verdict = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
  }

  /// Returns the status page for a browser; programs get the figures.
  private func shown(_ call: Call, _ head: HTTPRequestHead) -> Call {
    guard call == .health(.status),
      head.headers.list("Accept").contains(where: { $0.hasPrefix("text/html") }),
      let page = configuration.pages.page(at: head.target.path, door: .admin)
    else { return call }
    return .page(page)
  }

  /// Returns the call, or, if its head announces a body that it does not take, the refusal of that:
  /// a device must be authenticated before its request is judged.
  private static func checked(_ call: Call, _ head: HTTPRequestHead) -> Call {
    guard let refusal = refusal(ofBodyOf: call, head) else { return call }
    switch call {
    case .signed, .upload: return .signed(.refused(refusal))
    case .guest, .owner, .health, .page, .socket: return call
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
        .unsupportedMediaType, "Send the body as it is, without `Content-Encoding`.")
    }
    if case .upload = call, head.framing == .none {
      return Refusal(
        .lengthRequired, "Send the chunk's bytes as a body, with `Content-Length` or chunked.")
    }
    return nil
  }

  /// Returns the refusal that is known before the body comes.
  private mutating func refusal(of call: Call, _ head: HTTPRequestHead) -> Refusal? {
    if stage != .running {
      if case .health = call { return nil }
      return stoppingRefusal()
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
    case .guest, .owner, .health, .page, nil: isNeeded = false
    }
    guard isNeeded, let token = RelayNode.bearerToken(headers) else {
      if isNeeded { connections[slot].http.exchange?.value.verdict = .missingToken }
      refuseTooOften(slot, chargeAddress(slot))
      return
    }
    let hash = DeviceToken.hash(token)
    if let session = connections[slot].session, ConstantTime.equal(session.tokenHash, hash) {
      checkPlan(slot)
      refuseTooOften(slot, chargeDevice(slot, session))
      return
    }
    if let refusal = chargeAddress(slot) {
      refuseTooOften(slot, refusal)
      return
    }
    connections[slot].http.exchange?.value.isSigningIn = true
    if !askWho(connections[slot].id, tokenHash: hash) {
      connections[slot].http.exchange?.value.isSigningIn = false
      connections[slot].http.exchange?.value.verdict = Answer(CommitQueue.overloaded)
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
    if let verdict = connections[slot].http.exchange?.value.verdict {
      answer(slot, verdict)
    } else {
      send(slot, HTTPWriter.response(status: 100))
    }
  }

  // MARK: body

  private mutating func add(_ slot: Hub.Slot, _ bytes: [UInt8]) {
    // A body that will not be read is skipped, so that the connection can continue after it.
    guard connections[slot].http.exchange?.value.verdict == nil else { return }
    if case .upload = connections[slot].http.exchange?.value.call {
      addToUpload(slot, bytes)
      return
    }
    connections[slot].http.exchange?.value.body += bytes
    connections[slot].http.exchange?.value.bodyBytes += bytes.count
  }

  // MARK: call

  /// Performs the call, once the request is complete and the client is authenticated.
  mutating func proceed(_ slot: Hub.Slot) {
    guard connections[slot].http.exchange?.value.isSigningIn == false else { return }
    if case .upload = connections[slot].http.exchange?.value.call,
      connections[slot].http.exchange?.value.verdict == nil
    {
      advanceUpload(slot)
      return
    }
    guard connections[slot].http.exchange?.value.stage == .whole else { return }
    if let verdict = connections[slot].http.exchange?.value.verdict {
      answer(slot, verdict)
      return
    }
    guard let call = connections[slot].http.exchange?.value.call else { return }
    let context = CallContext(
      configuration: configuration, secrets: secrets, wall: moment.wall,
      address: connections[slot].client.network)
    let body = connections[slot].http.exchange?.value.body ?? []
    connections[slot].http.exchange?.value.body = []
    do throws(Refusal) {
      switch call {
      case .health(let call):
        if call != .live { askFiles() }
        answer(slot, healthAnswer(call, door: connections[slot].opening.door))
      case .page(let page):
        let held = connections[slot].http.exchange?.value.head.headers.list("If-None-Match")
        answer(slot, Answer(page: page, ifNoneMatch: held ?? []))
      case .socket: upgrade(slot)
      case .upload: break
      case .guest(let call):
        if call == .createAccount { try refuseAccountsTooMany() }
        let step = try UnauthenticatedClient().perform(call, body: body, in: context)
        // A body without a code is not a guess.
        if call == .join { try countGuess(slot) }
        if call == .createAccount { try countNewAccount(slot) }
        try take(slot, step)
      case .owner(let call): try take(slot, Owner().perform(call, body: body, in: context))
      case .signed(let call):
        guard let session = connections[slot].session,
          let headers = connections[slot].http.exchange?.value.head.headers
        else { throw RelayNode.notSignedIn }
        try take(slot, session.perform(call, body: body, headers: headers, in: context))
      }
    } catch {
      answer(slot, Answer(error))
    }
  }

  /// Refuses new accounts on an open relay that has reached its limit, or has a nearly full disk.
  private mutating func refuseAccountsTooMany() throws(Refusal) {
    guard configuration.isOpen else { return }
    if isDiskLow() { throw StoreHealth.diskLow }
    guard measures.read().accounts < configuration.limits.accounts else {
      throw Refusal(
        .registrationClosed,
        "This relay has as many accounts as it takes; ask its owner for a pairing code.")
    }
  }

  private mutating func take(_ slot: Hub.Slot, _ step: HandlerResult) throws(Refusal) {
    let id = connections[slot].id
    connections[slot].http.exchange?.value.stage = .asking
    let isAsked: Bool
    switch step {
    case .answer(var answer):
      if connections[slot].http.exchange?.value.call == .guest(.time) {
        addReconnect(to: &answer)
      }
      self.answer(slot, answer)
      return
    case .commit(let request, let continuation):
      connections[slot].http.exchange?.value.bodyBytes += request.overheadBytes
      isAsked = askCommit(request, for: .call(id, continuation))
    case .read(let request, .changes(let query)):
      if query.waitMilliseconds > 0, let session = connections[slot].session {
        try checkConnections(slot, of: session.account)
      }
      watchChanges(slot, query)
      if parkAtOnce(slot) { return }
      let isPoll = connections[slot].http.exchange?.value.poll != nil
      try checkRoom(slot)
      isAsked = ask(
        .page(request, as: PageForm(shape: .body, keepsRecords: isPoll)),
        for: .call(id, .changes(query)))
    case .read(let request, .events):
      if let session = connections[slot].session {
        try checkConnections(slot, of: session.account)
      }
      watchEvents(slot)
      let job: StoreJob =
        if case .changes = request { .page(request, as: eventForm(slot)) } else { .read(request) }
      try checkRoom(slot)
      isAsked = ask(job, for: .call(id, .events))
    case .read(let request, let continuation):
      isAsked = ask(.read(request), for: .call(id, continuation))
    }
    if !isAsked { throw CommitQueue.overloaded }
  }

  /// Throws if there is no memory for a page for this client.
  private mutating func checkRoom(_ slot: Hub.Slot) throws(Refusal) {
    let holder = holder(of: slot)
    if !admission.hasRoom(for: holder) { throw admission.refusal(of: holder) }
  }

  /// Counts a guess of a pairing code here and, by news, on all other nodes.
  private mutating func countGuess(_ slot: Hub.Slot) throws(Refusal) {
    let address = connections[slot].client.network
    if let wait = admission.guesses.wait(for: address, at: moment.instant) {
      throw Admission.tooManyGuesses(wait)
    }
    admission.guesses.guessed(from: address, at: moment.instant)
    actions.append(.tell(.pairingGuess(address: address)))
  }

  static let isStopping = Refusal(
    .stopping, "The relay is stopping; connect again in a moment.", retryAfterMilliseconds: 1_000)
  static let notSignedIn = Refusal(
    .badToken, "This device is not signed in to the account any more; pair it again.")
}
