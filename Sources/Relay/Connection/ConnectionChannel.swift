import LockstepModel
import LockstepRuntime
import LockstepWire

/// The part of a connection that does not depend on its protocol: its client and session, the bytes
/// sent, the memory counted for it, and its end.
///
/// Methods are mutating even if they change nothing: such a call makes no copy.
struct ConnectionChannel: Sendable {
  let id: ConnectionID
  let opening: Opening
  /// Client of the request that is being read or answered, or of the socket.
  private(set) var client: ClientAddress
  /// nil if no device has signed in.
  private(set) var session: Session?
  private var queue = SendQueue()
  /// True while nothing is read from it, until it has room again.
  private(set) var isPaused = false
  /// True once it is closed: the node removes it.
  private(set) var isClosed = false
  /// Its index in the node's table.
  var slot: Hub.Slot = 0
  // One connection never holds more than 32 bits can count.
  /// Memory of received data that counts in the node's budget, in bytes.
  private var heldBytes: UInt32 = 0
  /// Memory of unsent data that counts in the node's budget, in bytes.
  private var heldUnsent: UInt32 = 0

  /// `exempt`: networks without limits by address. `trustedProxies`: proxies that may name the
  /// client whose request they forward.
  init(_ id: ConnectionID, _ opening: Opening, exempt: [IPNetwork], trustedProxies: [IPNetwork]) {
    self.id = id
    self.opening = opening
    client = ClientAddress(opening, exempt: exempt, trustedProxies: trustedProxies)
  }

  /// Network of the client, which is counted as one client.
  var network: PeerNetwork { mutating get { client.network(of: opening) } }

  /// The holder to whose share of the memory its bytes are charged.
  var holder: Admission.Holder {
    mutating get {
      if let session { return .account(session.account) }
      let isAddress =
        opening.listenerKind == .public && !client.isExempt
        && !(client.isBehindProxy && network == PeerNetwork(of: opening))
      return isAddress ? .address(network) : .anybody
    }
  }

  // MARK: sending

  mutating func send(_ bytes: [UInt8], _ services: inout RelayServices) {
    recordSent(bytes.count, &services)
    services.actions.append(.send(id, bytes))
  }

  /// Records bytes that are sent to several connections by one action.
  mutating func recordSent(_ count: Int, _ services: inout RelayServices) {
    let before = queue.unsent
    queue.recordSent(count, at: services.moment.instant)
    services.unsentBytes += queue.unsent - before
  }

  /// Unsent bytes, as the driver last reported them, and those sent after that.
  var unsentBytes: Int { mutating get { queue.unsent } }

  /// Time since the driver last reported that some of the unsent bytes left.
  mutating func stillMilliseconds(_ services: borrowing RelayServices) -> Int64 {
    services.moment.instant.milliseconds(since: queue.movedAt)
  }

  /// Records the driver's report of unsent bytes, and starts the check that some of them leave.
  mutating func recordUnsent(_ count: Int, _ services: inout RelayServices) {
    services.unsentBytes += count - queue.unsent
    queue.recordUnsent(count, at: services.moment.instant)
    guard count > 0, !queue.isWatched else { return }
    queue.isWatched = true
    services.timers.schedule(
      .stalled(id), at: queue.movedAt.advanced(milliseconds: services.stalledMilliseconds))
  }

  /// Records the driver's report of the memory of unsent bytes.
  mutating func recordMemory(_ bytes: Int) { queue.recordMemory(bytes) }

  /// Returns true if unsent bytes wait of which none has left for long. Otherwise checks again
  /// later, as long as some wait.
  mutating func isStalled(_ services: inout RelayServices) -> Bool {
    queue.isWatched = false
    guard queue.unsent > 0 else { return false }
    let end = queue.movedAt.advanced(milliseconds: services.stalledMilliseconds)
    guard services.moment.instant < end else { return true }
    queue.isWatched = true
    services.timers.schedule(.stalled(id), at: end)
    return false
  }

  /// True if so many bytes wait that nothing more is sent before the driver reports that some have
  /// left.
  mutating func isClogged(_ services: borrowing RelayServices) -> Bool {
    guard queue.unsent > 0 else { return false }
    return queue.isClogged(limit: services.sendQueueLimit(for: holder))
  }

  /// `limit`: bytes that may wait.
  mutating func isClogged(limit: Int) -> Bool { queue.isClogged(limit: limit) }

  /// True if too much was sent to answer more in this moment. The driver reports only what could
  /// not leave, so this is checked again a moment later.
  mutating func isCrowded(_ services: borrowing RelayServices) -> Bool {
    isCrowded(
      limit: services.configuration.limits.sendQueueBytes, at: services.moment.instant)
  }

  /// `limit`: bytes that may wait.
  mutating func isCrowded(limit: Int, at now: Instant) -> Bool {
    queue.isCrowded(limit: limit, at: now)
  }

  /// True if `count` bytes can be sent together in this moment: nothing waits, and they may.
  mutating func hasRoom(for count: Int, limit: Int, at now: Instant) -> Bool {
    queue.hasRoom(for: count, limit: limit, at: now)
  }

  // MARK: end

  /// Closes the connection; `manner` decides if sent bytes leave first.
  mutating func close(_ manner: CloseManner, _ services: inout RelayServices) {
    services.actions.append(.close(id, manner))
    if manner == .afterSending { chargeUnsentBytes(&services) }
    isClosed = true
  }

  /// Handles a connection that the client closed.
  mutating func handleClosed(_ cause: CloseCause, _ services: inout RelayServices) {
    if cause == .endOfStream { chargeUnsentBytes(&services) }
    isClosed = true
  }

  /// Counts the unsent bytes of a connection that is about to be forgotten, until the driver has
  /// released them.
  private mutating func chargeUnsentBytes(_ services: inout RelayServices) {
    let bytes = queue.heldAtEnd(at: services.moment.instant)
    if bytes > 0 { services.chargeClosed(id, bytes, holder) }
  }

  /// Removes what the node has of the connection after its end.
  mutating func finish(_ services: inout RelayServices) {
    releaseMemory(&services)
    signOut(&services)
    services.unsentBytes -= queue.unsent
    services.connections -= 1
    services.timers.cancel(.request(id))
    services.timers.cancel(.keepAlive(id))
    services.timers.cancel(.stalled(id))
    services.timers.cancel(.crowded(id))
    services.timers.cancel(.throttled(id))
  }

  /// Starts the keep-alive: the connection sends something at least every `keepAlive`. The first
  /// delay is random, so that connections that came together do not send together.
  mutating func scheduleKeepAlive(_ services: inout RelayServices) {
    let keepAlive = services.configuration.keepAliveMilliseconds
    let first = Int64.random(in: keepAlive / 2...keepAlive, using: &services.random)
    services.timers.schedule(
      .keepAlive(id), at: services.moment.instant.advanced(milliseconds: first))
  }

  // MARK: memory

  /// True if no memory was counted for it, except the unsent bytes that it still holds.
  var countsOnlyUnsent: Bool { mutating get { heldBytes == 0 && heldUnsent == queue.held } }

  /// Counts unsent bytes, and `held` bytes of received data. Returns false if the connection must
  /// give way. Unsent bytes use the room of others, but only incoming bytes are refused because of
  /// it.
  mutating func countMemory(_ held: Int, _ services: inout RelayServices) -> Bool {
    let holder = holder
    let unsent = queue.held
    _ = services.admission.recordUse(unsent, before: Int(heldUnsent), by: holder)
    heldUnsent = UInt32(clamping: unsent)
    let hasRoom = services.admission.recordUse(held, before: Int(heldBytes), by: holder)
    heldBytes = UInt32(clamping: held)
    return hasRoom
  }

  /// Releases the connection's counted memory until the next count, because its holder changes.
  private mutating func releaseMemory(_ services: inout RelayServices) {
    let held = Int(heldBytes) + Int(heldUnsent)
    guard held > 0 else { return }
    _ = services.admission.recordUse(0, before: held, by: holder)
    heldBytes = 0
    heldUnsent = 0
  }

  /// Throws if there is no memory for a page for this client.
  mutating func checkMemory(_ services: borrowing RelayServices) throws(Refusal) {
    let holder = holder
    if !services.admission.hasRoom(for: holder) { throw services.admission.refusal(of: holder) }
  }

  /// Pauses reading of a connection, or resumes it.
  mutating func setPaused(_ pauses: Bool, _ services: inout RelayServices) {
    guard pauses != isPaused else { return }
    isPaused = pauses
    services.actions.append(pauses ? .pauseReading(id) : .resumeReading(id))
  }

  // MARK: client and session

  /// Determines the client of a request. Returns the origin of its page. `isOfOwner`: the request
  /// is for the owner's page or one of its calls.
  mutating func identifyClient(
    _ head: HTTPRequestHead, isOfOwner: Bool, _ services: inout RelayServices
  ) -> CrossOrigin {
    let host = head.target.authority ?? head.headers["Host"]
    switch opening.listenerKind {
    case .public: break
    case .control, .outgoing: return .none
    case .admin:
      guard isOfOwner else { return .none }
      // A proxy in front of this listener may have TLS.
      return CrossOrigin(
        ofOwner: head.headers,
        own: ["http", "https"].map { scheme in
          host.flatMap { AllowedOrigins.normalized("\(scheme)://\($0)") }
        })
    }
    if client.isBehindProxy {
      releaseMemory(&services)
      client = ClientAddress(opening, headers: head.headers, services.configuration)
    }
    if !services.hasReportedProxy, client.isUndeclared(head.headers) {
      services.reportUndeclaredProxy(network)
    }
    if isOfOwner {
      return CrossOrigin(
        ofOwner: head.headers,
        own: [
          client.ownOrigin(host: host, isSecure: opening.isSecure),
          services.configuration.publicURL.flatMap(AllowedOrigins.normalized),
        ])
    }
    // Its own origin is evaluated for a page's request alone: its text takes long to make.
    return CrossOrigin(
      head.headers, services.configuration.origins,
      own: client.ownOrigin(
        host: host, isSecure: opening.isSecure))
  }

  /// Returns the refusal of a request that names another host than the relay (`AllowedHosts`); nil
  /// if it names the relay, or no host at all. The control socket is not checked, because browsers
  /// cannot reach it; health checks are not, because a page cannot use their answers.
  mutating func refusalOfHost(
    _ head: HTTPRequestHead, of routing: Router.Routing, _ services: inout RelayServices
  ) -> Refusal? {
    switch routing {
    case .call(.health(.live)), .call(.health(.ready)): return nil
    case .call, .options, .refused: break
    }
    guard opening.listenerKind != .control else { return nil }
    return services.refusalOfHost(head, forwarded: client.hosts)
  }

  /// Signs the connection in to a device. `newest`: the account's newest token; nil if announced
  /// commits may be newer.
  /// `hasWakes`: the device has registered for wakes.
  mutating func signIn(
    _ session: Session, _ filter: SubscriptionFilter?, newest: ChangeToken?, hasWakes: Bool,
    _ services: inout RelayServices
  ) {
    signOut(&services)
    releaseMemory(&services)
    self.session = session
    services.hub.addMember(slot, session.account)
    if let newest { services.hub.recordStoredToken(session.account, newest) }
    services.hub.setFilter(filter, of: session.device, session.account)
    if services.presence.recordSignIn(session.presenceKey, wall: services.moment.wall) {
      services.broadcastPresence(session, isConnected: true)
    }
    if hasWakes { services.followWakes(session.presenceKey) }
    services.scheduleSightings()
  }

  /// Ends the connection's session.
  mutating func signOut(_ services: inout RelayServices) {
    guard let session else { return }
    releaseMemory(&services)
    self.session = nil
    if services.presence.recordSignOut(session.presenceKey, wall: services.moment.wall) {
      services.hub.setFilter(nil, of: session.device, session.account)
      services.broadcastPresence(session, isConnected: false)
      services.recordLeaving(session.presenceKey)
    }
    services.hub.removeMember(slot, session.account)
    services.scheduleSightings()
  }

  mutating func setPlan(_ plan: Plan) { session?.plan = plan }

  /// True if the device is one of these.
  mutating func isDevice(in devices: Set<DeviceID>) -> Bool {
    // Usually there are none.
    !devices.isEmpty && session.map { devices.contains($0.device) } ?? false
  }

  // MARK: rates

  /// True if the client's rate is limited; the owner's listeners are not.
  var isCharged: Bool { mutating get { opening.listenerKind == .public } }

  /// Charges the address for a request without a device, or with one that is still to be looked up.
  mutating func chargeAddress(_ services: inout RelayServices) -> Refusal? {
    guard isCharged, !client.isExempt else { return nil }
    return services.rates.addresses.takeToken(network, at: services.moment.instant).map(
      RequestRates.tooOften)
  }

  /// Refunds the address: the request was a device's, which is charged itself.
  mutating func refundAddress(_ services: inout RelayServices) {
    guard isCharged, !client.isExempt else { return }
    services.rates.addresses.returnToken(network)
  }

  mutating func chargeDevice(_ session: Session, _ services: inout RelayServices) -> Refusal? {
    guard isCharged else { return nil }
    return services.rates.devices.takeToken(session.presenceKey, at: services.moment.instant).map(
      RequestRates.tooOften)
  }

  /// Charges a message or a control frame that was read on a socket. Returns the milliseconds after
  /// which the next one may be read; nil if that is now.
  mutating func chargeFrame(_ services: inout RelayServices) -> Int64? {
    guard isCharged else { return nil }
    if let session {
      return services.rates.devices.spendTokens(session.presenceKey, at: services.moment.instant)
    }
    if client.isExempt { return nil }
    return services.rates.addresses.spendTokens(network, at: services.moment.instant)
  }

  /// Charges the welcome of a socket. Returns the milliseconds after which it may be sent; nil if
  /// that is now.
  mutating func chargeWelcome(_ session: Session, _ services: inout RelayServices) -> Int64? {
    guard isCharged else { return nil }
    return services.rates.welcomes.takeToken(session.account, at: services.moment.instant)
  }

  /// Counts an account that is about to be created here and, by news, on all other nodes.
  mutating func countNewAccount(_ services: inout RelayServices) throws(Refusal) {
    guard isCharged, !client.isExempt else { return }
    if let wait = services.rates.newAccounts.takeToken(network, at: services.moment.instant) {
      throw RequestRates.tooManyAccounts(wait)
    }
    services.actions.append(.broadcast(.newAccount(address: network)))
  }

  /// Counts a guess of a pairing code here and, by news, on all other nodes.
  mutating func countGuess(_ services: inout RelayServices) throws(Refusal) {
    try services.countGuess(from: network)
  }

  /// Throws if the account may not hold one more socket, stream or waiting poll on this node.
  mutating func checkConnections(
    of account: AccountID, _ services: borrowing RelayServices
  ) throws(Refusal) {
    guard services.hub.watcherCount(of: account) < watcherLimit(services) else {
      throw RequestRates.tooManyConnections
    }
  }

  mutating func watcherLimit(_ services: borrowing RelayServices) -> Int {
    client.isExempt ? .max : services.configuration.limits.connectionsPerAccount
  }
}
