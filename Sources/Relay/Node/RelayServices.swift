import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The state that all connections of a node share: configuration, clock, timers, limits, the
/// accounts' watchers, the requests to the store, and the actions for the driver.
struct RelayServices: ~Copyable {
  enum Stage: Hashable, Sendable {
    /// → stopping
    case running
    /// Requests under way are answered, new ones are refused. → stopped
    case stopping
    case stopped
  }

  /// Makes the type, and the node that has it, one that is only ever handled by address. The
  /// compiler checks every method that borrows a noncopyable value against all its leaves, a
  /// thousand here, unless it is of such a type: that was four fifths of this module's build.
  private let byAddress: any Sendable = ()
  /// Its keys for push services may change while the relay runs.
  var configuration: RelayConfiguration
  /// Sign-ins to the owner's page, of all nodes.
  var adminSessions: any AdminSessionStore
  let secrets: SecretSource
  let measures: MeasureSource
  var random: SeededRandom
  /// One for all sockets: no message depends on earlier ones.
  var deflater = Deflater(RelayServices.deflate)
  /// Time of the event that is being handled.
  var moment = Moment(instant: Instant(nanoseconds: 0), wall: 0)
  var stage = Stage.running
  /// Value of `reconnectWithin` when the relay began to stop; nil before.
  var stoppingSpread: Int64?
  var hub = Hub()
  var queue: StoreQueue
  var pages = ReadLimiter()
  var admission: Admission
  var rates: RequestRates
  private var hosts: HostCheck
  /// True if a request that was refused for its host was reported.
  private var hasReportedHost = false
  /// True if an undeclared proxy was reported.
  private(set) var hasReportedProxy = false
  var presence: Presence
  var wakeContacts = WakeContacts()
  /// Devices that have registered for wakes since their idle connections were last looked at.
  var newSleepers: [Presence.Key] = []
  /// nil on other nodes than the first, and if no device is woken.
  var desk: WakeDesk?
  /// Number of long-polls parked so far, over all accounts.
  private(set) var parkedPolls: UInt64 = 0
  var health = StoreHealth()
  var timers = TimerWheel<TimerID>()
  var status = RelayStatus()
  /// Counters of the other nodes, by their number, as last reported.
  var otherStatuses: [RelayStatus]
  private var sentStatus = RelayStatus()
  private var isStatusPlanned = false
  private var sightingsAt: Instant?
  /// Number of open connections, and of those that are sockets.
  var connections = 0
  var sockets = 0
  /// Bytes that the driver reported as unsent, over all connections.
  var unsentBytes = 0
  /// Accounts whose devices, plan or subscriptions changed, and accounts moved by a commit.
  var membershipChanges = AccountLog()
  var commits = AccountLog()
  /// Closed connections whose unsent bytes the driver still holds.
  private var closing: [ConnectionID: (holder: Admission.Holder, bytes: Int)] = [:]
  var transfers: ChunkTransfers
  private var collector = ChunkCollector()
  var actions = ActionQueue<NodeAction<StoreJob, RelayReport, RelayNews>>()

  /// Compression for every socket that accepts compressed messages.
  static let deflate = DeflateTerms.Sending(
    windowBits: Limits.deflateWindowBits, keepsContext: false)

  init(
    _ configuration: RelayConfiguration, _ secrets: SecretSource, _ random: SeededRandom,
    _ measures: MeasureSource, _ adminSessions: any AdminSessionStore
  ) {
    self.adminSessions = adminSessions
    self.configuration = configuration
    hosts = HostCheck(configuration.hosts)
    self.secrets = secrets
    self.measures = measures
    self.random = random
    queue = StoreQueue(limit: configuration.limits.storeRequests)
    admission = Admission(configuration)
    rates = RequestRates(configuration.limits)
    transfers = ChunkTransfers(configuration.limits)
    presence = Presence(node: configuration.node, isShared: configuration.sharesStore)
    otherStatuses = Array(repeating: RelayStatus(), count: configuration.nodes)
    if configuration.node == 0, let wakes = configuration.wakes {
      desk = WakeDesk(wakes, secrets: secrets, at: moment.instant)
      timers.schedule(.wakes, at: moment.instant)
    }
  }

  /// Returns the bytes that may wait to leave one connection before its changes become a hint. If
  /// its account, or the node, holds as much as it may, a connection with unsent bytes gets no
  /// more.
  func sendQueueLimit(for holder: Admission.Holder) -> Int {
    admission.hasRoom(for: holder) ? configuration.limits.sendQueueBytes : 0
  }

  mutating func count(_ code: RefusalCode) { status.count(code) }

  /// Returns the bytes of an answer. `head`: of the request; nil if it could not be parsed.
  func response(
    _ answer: Answer, head: HTTPRequestHead?, opening: Opening, crossOrigin: CrossOrigin,
    closes: Bool
  ) -> [UInt8] {
    var headers = answer.headers
    addCommonFields(&headers, opening, answer.isForOwnPages ? .ownPagesOnly : crossOrigin)
    if closes {
      headers.append("Connection", answer.status == 426 ? "close, Upgrade" : "close")
    } else if answer.status == 426 {
      headers.append("Connection", "Upgrade")
    } else if head?.minorVersion == 0 {
      headers.append("Connection", "keep-alive")
    }
    return HTTPWriter.response(
      status: answer.status, headers: headers, body: answer.body,
      omitsBody: head?.method == "HEAD", bodyCount: answer.bodyCount)
  }

  /// Adds the header fields of every answer.
  func addCommonFields(
    _ headers: inout HTTPHeaders, _ opening: Opening, _ crossOrigin: CrossOrigin
  ) {
    headers.append("Date", HTTPDate.text(moment.wall))
    // The other listeners trust a request for its source, and no page may use them.
    guard opening.listenerKind == .public else { return }
    let maxAge = configuration.strictTransportMilliseconds
    if maxAge > 0, opening.isSecure {
      headers.append("Strict-Transport-Security", "max-age=\(maxAge / 1_000)")
    }
    let ranges = headers.contains("Accept-Ranges") ? ", Accept-Ranges, Content-Range" : ""
    let keepAlive = headers.contains("Lockstep-Keep-Alive") ? ", Lockstep-Keep-Alive" : ""
    let within = headers.contains("Lockstep-Reconnect-Within") ? ", Lockstep-Reconnect-Within" : ""
    crossOrigin.addFields(
      to: &headers, configuration.origins,
      exposes: "ETag, Retry-After" + ranges + keepAlive + within)
  }

  mutating func scheduleStatus() {
    guard configuration.nodes > 1, !isStatusPlanned else { return }
    isStatusPlanned = true
    timers.schedule(
      .status, at: moment.instant.advanced(milliseconds: Limits.statusMilliseconds))
  }

  /// A fault is reported in the store's own words only on the owner's listeners.
  mutating func healthAnswer(_ call: HealthCall, listenerKind: Opening.ListenerKind) -> Answer {
    switch call {
    case .live: return RelayServices.plain(200, "alive\n")
    case .ready:
      if stage != .running { return Answer(RelayServices.isStopping) }
      if let fault = health.fault {
        return Answer(
          listenerKind == .public ? StoreHealth.unavailable : StoreHealth.refusal(of: fault))
      }
      // Reads, deletions and pushes still work, so a load balancer may keep sending devices here.
      return RelayServices.plain(
        200,
        isDiskLow()
          ? "ready, but accepts no new data: the disk is nearly full\n" : "ready\n")
    case .metrics:
      var answer = Answer(status: 200)
      answer.headers.append("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
      answer.body = Array(metricsText.utf8)
      return answer
    case .status:
      return Answer(
        status: 200, json: sumOfStatuses.encodedBody(nodes: configuration.nodes))
    }
  }

  private static func plain(_ status: Int, _ text: String) -> Answer {
    var answer = Answer(status: status)
    answer.headers.append("Content-Type", "text/plain; charset=utf-8")
    answer.headers.append("Cache-Control", "no-store")
    answer.body = Array(text.utf8)
    return answer
  }

  /// The current counters.
  var currentStatus: RelayStatus {
    var status = status
    status.connections = connections
    status.sockets = sockets
    status.parkedPolls = hub.pollCount
    status.streams = hub.streamCount
    status.uploads = transfers.uploads
    status.downloads = transfers.downloads
    status.storeRequestsWaiting = queue.count
    status.bodyBytes = admission.bodyBytes
    status.unsentBytes = unsentBytes
    return status
  }

  /// Counters of all nodes, as last reported.
  var sumOfStatuses: RelayStatus {
    otherStatuses.reduce(currentStatus) { $0.adding($1) }
  }

  mutating func broadcastStatus() {
    isStatusPlanned = false
    let status = currentStatus
    if status != sentStatus {
      sentStatus = status
      actions.append(.broadcast(.status(node: configuration.node, status)))
    }
    if connections > 0 { scheduleStatus() }
  }

  // MARK: clients

  /// Replaces the names by which clients may reach the relay.
  mutating func allowHosts(_ hosts: AllowedHosts) { self.hosts = HostCheck(hosts) }

  /// Returns the refusal of a request that names another host than the relay. The first one is
  /// reported. `forwarded`: the hosts that a trusted proxy reports.
  mutating func refusalOfHost(_ head: HTTPRequestHead, forwarded: [String]) -> Refusal? {
    guard let host = hosts.refusedHost(of: head, forwarded: forwarded) else { return nil }
    let refusal = AllowedHosts.refusal(host)
    if !hasReportedHost {
      hasReportedHost = true
      actions.append(.report(.unknownHost(refusal)))
    }
    return refusal
  }

  mutating func reportUndeclaredProxy(_ network: PeerNetwork) {
    hasReportedProxy = true
    actions.append(.report(.undeclaredProxy(network)))
  }

  /// Refuses new accounts on an open relay that has reached its limit, or has a nearly full disk.
  mutating func checkAccountLimit() throws(Refusal) {
    guard configuration.isOpen else { return }
    if isDiskLow() { throw StoreHealth.diskLow }
    guard measures.read().accounts < configuration.limits.accounts else {
      throw Refusal(
        .registrationClosed,
        "This relay has reached its limit of accounts; ask its owner for a pairing code.")
    }
  }

  /// Looks up the token's device in the store. Returns false if too many requests are pending.
  mutating func lookUpToken(_ id: ConnectionID, tokenHash: [UInt8]) -> Bool {
    submitRead(
      .authenticate(tokenHash: tokenHash),
      for: .signIn(
        id, tokenHash: tokenHash, membershipChanges: membershipChanges.count,
        commits: commits.count))
  }

  // MARK: memory

  /// Counts the unsent bytes of a connection that is closed, until the driver has released them.
  mutating func chargeClosed(_ id: ConnectionID, _ bytes: Int, _ holder: Admission.Holder) {
    _ = admission.recordUse(bytes, before: 0, by: holder)
    closing[id] = (holder, bytes)
  }

  /// Records the driver's report of the memory of unsent bytes of a closed connection.
  mutating func recordMemory(ofClosed id: ConnectionID, _ bytes: Int) {
    guard let held = closing[id] else { return }
    _ = admission.recordUse(bytes, before: held.bytes, by: held.holder)
    closing[id] = bytes > 0 ? (held.holder, bytes) : nil
  }

  /// Milliseconds after which a connection is closed if none of its unsent bytes leave.
  var stalledMilliseconds: Int64 { Int64(configuration.limits.stalledMilliseconds) }

  // MARK: long-polls

  /// Returns the number of a poll that is parked now.
  mutating func parkPoll() -> UInt64 {
    parkedPolls += 1
    return parkedPolls
  }

  // MARK: filters

  /// True if one of the records matches the filter of the session's device.
  func matchesFilter(of session: Session?, _ records: [Record]) -> Bool {
    guard let session, let filters = hub.watchers(of: session.account)?.filters else {
      return true
    }
    return filters.matches(session.device, records)
  }

  /// True if pages may be withheld from the session's device. If a device came before a commit of
  /// another relay was announced here, that commit is sent to it together with changes that it has
  /// already read; only the page that is read for the device itself shows if its filter matches.
  func mayWithholdPages(for session: Session?) -> Bool {
    guard configuration.sharesStore, let session else { return false }
    return hub.filter(of: session.device, session.account) != nil
  }

  /// True if the page, the next one of a chain that allows it, is withheld. A page of other zones
  /// than those of the device's scope is empty.
  func withholds(_ page: ReadPage, from session: Session?) -> Bool {
    guard mayWithholdPages(for: session), !page.more else { return false }
    if page.isEmpty { return page.since.map { page.token != $0 && page.token.covers($0) } ?? false }
    return !page.records.isEmpty && !matchesFilter(of: session, page.records)
  }

  // MARK: reconnecting

  /// Period over which the devices of all nodes reconnect; 0 if they are few.
  var reconnectWithin: Int64 {
    if let stoppingSpread { return stoppingSpread }
    let connections = otherStatuses.reduce(connections) { $0 + $1.connections }
    let spread = ReconnectSpread.milliseconds(connections: connections)
    return spread < Limits.reconnectFloorMilliseconds ? 0 : spread
  }

  /// Returns a JSON answer that gives a device without a socket the period for reconnecting.
  func answerWithReconnect(_ json: [UInt8]) -> Answer {
    var answer = Answer(status: 200, json: json)
    addReconnect(to: &answer)
    return answer
  }

  func addReconnect(to answer: inout Answer) {
    let within = reconnectWithin
    if within > 0 { answer.headers.append("Lockstep-Reconnect-Within", String(within)) }
  }

  /// Returns the refusal while the relay stops, with a random time to reconnect for each receiver.
  mutating func stoppingRefusal() -> Refusal {
    var refusal = RelayServices.isStopping
    let within = reconnectWithin
    if within > 0 {
      refusal.retryAfterMilliseconds = Int64.random(in: 0...within, using: &random)
    }
    return refusal
  }

  // MARK: presence

  mutating func broadcastPresence(_ session: Session, isConnected: Bool) {
    guard configuration.nodes > 1 else { return }
    actions.append(
      .broadcast(
        .presence(
          node: configuration.node, session.account, session.device, isConnected: isConnected)))
  }

  mutating func scheduleSightings() {
    guard let next = presence.nextWrite(at: moment.instant) else { return }
    if let planned = sightingsAt, planned <= next { return }
    sightingsAt = next
    timers.schedule(.sightings, at: next)
  }

  mutating func writeSightings(isLast: Bool) {
    sightingsAt = nil
    var sightings = presence.sightings(
      at: moment.instant, wall: moment.wall, isLast: isLast)
    for index in sightings.indices {
      let key = Presence.Key(
        account: sightings[index].account, device: sightings[index].device)
      sightings[index].contact = wakeContacts.take(key, isLast: false)
    }
    if !sightings.isEmpty, !submitCommit(.touchDevices(sightings), for: .sightings(sightings)) {
      presence.recordFailure(of: sightings, at: moment.instant)
    }
    if !isLast { scheduleSightings() }
  }

  /// Handles sightings that the store did not take. A stopping relay does not write them again.
  mutating func recordFailure(of sightings: [DeviceSighting]) {
    presence.recordFailure(of: sightings, at: moment.instant)
    if stage == .running { scheduleSightings() }
  }

  // MARK: requests to the store

  /// Requests a commit for the waiting connection. Returns false if too many requests are pending.
  mutating func submitCommit(_ request: CommitRequest, for pending: PendingCommit) -> Bool {
    if case .save(let requested) = request, requested.unlessKnown == nil, isDiskLow() {
      var save = requested
      if requested.request.mutations.allSatisfy(\.isDelete) {
        save.unlessDeleting = StoreHealth.diskLow
      } else {
        save.unlessKnown = StoreHealth.diskLow
      }
      return queueCommit(.save(save), for: pending)
    }
    return queueCommit(request, for: pending)
  }

  private mutating func queueCommit(_ request: CommitRequest, for pending: PendingCommit) -> Bool {
    guard let id = queue.add(pending, request) else { return false }
    let origin = CommitOrigin(node: configuration.node, connection: pending.connection)
    let job = StoreCommitJob(request, by: origin)
    pages.recordCommit(job, at: moment.instant)
    actions.append(.run(id, .commit(job)))
    return true
  }

  /// Requests a read of anything but a page. Returns false if too many requests are pending.
  mutating func submitRead(_ request: ReadRequest, for pending: PendingRead) -> Bool {
    guard let id = queue.add(pending) else { return false }
    let job = StoreReadJob.read(request)
    if case .changes = request {
      startRead(id, job)
    } else {
      actions.append(.run(id, .read(job)))
    }
    return true
  }

  /// Requests a page of changes. Returns false if too many requests are pending.
  mutating func submitPage(
    _ request: ReadRequest, as form: PageForm, for pending: PendingPage
  ) -> Bool {
    guard let id = queue.add(pending) else { return false }
    startRead(id, .page(request, as: form))
    return true
  }

  /// Requests a page of changes. Returns false without memory for it, or if too many are pending.
  mutating func submitPageRead(
    _ session: Session, _ query: FetchQuery, as form: PageForm, for pending: PendingPage
  ) -> Bool {
    admission.hasRoom(for: .account(session.account))
      && submitPage(session.readRequest(for: query), as: form, for: pending)
  }

  /// Reads changes now, or when it is their turn.
  private mutating func startRead(_ id: JobID, _ job: StoreReadJob) {
    if pages.admit(id, job, at: moment.instant) {
      actions.append(.run(id, .read(job)))
    } else {
      schedulePageReads()
    }
  }

  /// Schedules the next check for deferred pages.
  mutating func schedulePageReads() {
    if let instant = pages.nextAt { timers.schedule(.pages, at: instant) }
  }

  /// Sends a request to the chunk store. Returns false if too many requests are pending.
  mutating func submitFileRequest(
    _ request: ChunkRequest, for pending: PendingFileRequest
  ) -> Bool {
    guard let id = queue.add(pending) else { return false }
    actions.append(.run(id, .file(.chunk(request))))
    return true
  }

  /// Requests a file of the owner's folder of pages, by its names. Returns false if too many
  /// requests are pending.
  mutating func submitOwnPage(_ names: [String], for connection: ConnectionID) -> Bool {
    guard let id = queue.addOwnPage(for: connection) else { return false }
    actions.append(.run(id, .file(.pageFile(names))))
    return true
  }

  /// Returns true while the store's disk has less room than its owner wants. The disk is checked at
  /// intervals, when new data comes.
  mutating func isDiskLow() -> Bool {
    guard configuration.diskFloorBytes > 0, health.beginDiskCheck(at: moment.instant) else {
      return health.isDiskLow
    }
    guard let free = measures.read().freeBytes else { return false }
    let isLow = free < configuration.diskFloorBytes
    if health.recordDiskCheck(isDiskLow: isLow) {
      actions.append(.report(.disk(isLow: isLow, free: free)))
    }
    return isLow
  }

  // MARK: results of the store

  /// Handles the result of a commit that an HTTP request asked for, before the request is answered,
  /// whatever happened to its connection. Returns the result for the answer.
  mutating func handleCallCommit(
    _ response: CommitResponse, _ result: Result<CommitResult, Refusal>
  ) -> Result<CommitResult, Refusal> {
    reportCommit(response, result)
    var result = result
    if case .joined(_, _, let address) = response {
      result = checkGuess(result, from: address)
    }
    if case .owner(.removed(let account)) = response, case .success = result {
      removeFiles(of: account)
    }
    if case .owner(.wakeKeys) = response, case .success(.wakeKeys(let keys)) = result {
      handleWakeKeys(keys)
    }
    if case .wakePut(let offer) = response, case .success(.wakePut(_, let isVerified)) = result {
      handleWakePut(offer, isVerified: isVerified)
    }
    return result
  }

  /// Uncounts a guess unless the code was wrong; a wrong code over the limit is refused as that.
  /// Any other reason for a refusal is not a guess.
  private mutating func checkGuess(
    _ result: Result<CommitResult, Refusal>, from address: PeerNetwork
  ) -> Result<CommitResult, Refusal> {
    if case .failure(let refusal) = result, refusal.code == .badPairingCode {
      guard let wait = admission.guesses.totalWait(at: moment.instant) else { return result }
      return .failure(Admission.tooManyGuesses(wait))
    }
    uncountGuess(from: address)
    return result
  }

  /// Counts a guess of a code here and, by news, on all other nodes.
  mutating func countGuess(from address: PeerNetwork) throws(Refusal) {
    if let wait = admission.guesses.wait(for: address, at: moment.instant) {
      throw Admission.tooManyGuesses(wait)
    }
    admission.guesses.recordGuess(from: address, at: moment.instant)
    actions.append(.broadcast(.pairingGuess(address: address)))
  }

  /// Uncounts a guess that proved right.
  mutating func uncountGuess(from address: PeerNetwork) {
    admission.guesses.uncountGuess(from: address)
    actions.append(.broadcast(.pairingRight(address: address)))
  }

  private mutating func reportCommit(
    _ response: CommitResponse, _ result: Result<CommitResult, Refusal>
  ) {
    switch (response, result) {
    case (.account(let credentials), .success):
      report(.created, of: credentials.account, label: "")
    case (.owner(.created(let offer, let label)), .success):
      report(.created, of: offer.account, label: label)
    case (.owner(.planSet(let account, _)), .success): reportWithLabel(.planChanged, of: account)
    // Its label is gone with it.
    case (.owner(.removed(let account)), .success): report(.removed, of: account, label: "")
    case (.joined(let device, _, _), .success(.redeemed(let account, _, _))):
      reportWithLabel(.deviceJoined(device), of: account)
    case (.revoked(let account, let device), .success),
      (.owner(.revoked(let account, let device)), .success):
      reportWithLabel(.deviceRevoked(device), of: account)
    default: break
    }
  }

  private mutating func report(_ event: AccountEvent, of account: AccountID, label: String) {
    actions.append(.report(.accountEvent(account, event, label: label)))
  }

  /// Reports the event once the store has returned the account's label.
  private mutating func reportWithLabel(_ event: AccountEvent, of account: AccountID) {
    if !submitRead(.account(account), for: .eventLabel(account, event)) {
      report(event, of: account, label: "")
    }
  }

  /// Converts times of the monotonic clock to relay time. The clock is read once a turn, so a
  /// change may seem durable slightly after it was sent.
  func timing(receivedAt: Instant, durableAt: Instant) -> SaveTiming {
    func relayTime(_ instant: Instant) -> Int64 {
      moment.wall * 1_000 + (instant.nanoseconds - moment.instant.nanoseconds) / 1_000
    }
    return SaveTiming(
      received: relayTime(receivedAt), durable: relayTime(durableAt),
      pushed: relayTime(max(durableAt, moment.instant)))
  }

  // MARK: health of the store

  mutating func recordCommitSuccess() {
    if health.recordCommitSuccess() { actions.append(.report(.storeRecovered)) }
    removeLeftovers()
  }

  mutating func recordCommitFailure(_ error: StorageError) {
    status.storeFailures += 1
    if health.recordCommitFailure(error) { reportStoreFailure(error) }
  }

  mutating func recordReadSuccess() {
    if health.recordReadSuccess() { actions.append(.report(.storeRecovered)) }
  }

  mutating func recordReadFailure(_ error: StorageError) {
    status.storeFailures += 1
    if health.recordReadFailure(error) { reportStoreFailure(error) }
  }

  /// Records that a file was written and synced.
  mutating func recordFileSuccess() {
    if health.recordChunkSuccess() { actions.append(.report(.storeRecovered)) }
  }

  /// Records a failure of the chunk store.
  mutating func recordFileFailure(_ error: StorageError) {
    status.storeFailures += 1
    if health.recordChunkFailure(error) { actions.append(.report(.storeFailed(error))) }
  }

  /// Counts a page of changes that a device had missed, or the start of a snapshot.
  mutating func countPage(_ page: borrowing ReadPage) {
    if page.since == nil {
      status.snapshots += 1
    } else if !page.isEmpty {
      status.deltas += 1
    }
  }

  private mutating func reportStoreFailure(_ error: StorageError) {
    actions.append(.report(.storeFailed(error)))
    scheduleStoreProbe()
  }

  /// Detects a fault of the store's files if there are no saves.
  mutating func checkStoreFiles() {
    if health.fault == nil, let fault = measures.fault() { recordCommitFailure(fault) }
  }

  mutating func scheduleStoreProbe() {
    guard stage == .running else { return }
    timers.schedule(
      .storeProbe, at: moment.instant.advanced(milliseconds: Limits.storeProbeMilliseconds))
  }

  /// Tests if the store works again. The relay must find out by itself: a load balancer that sends
  /// devices only to ready relays would never send the one that shows it.
  mutating func probeStore() {
    guard health.fault != nil, stage == .running else { return }
    if !submitCommit(.checkWritable, for: .storeProbe) { scheduleStoreProbe() }
  }

  // MARK: files of chunks

  /// Removes unneeded files. If that fails now, they are removed later or after the next start.
  mutating func removeFiles(_ files: [ChunkFile]) {
    if !submitFileRequest(.remove(files), for: .removal(files)) { keepLeftover(files) }
  }

  /// Removes all files of an account that was removed. If that fails, the next start removes them.
  mutating func removeFiles(of account: AccountID) {
    _ = submitFileRequest(.removeAll(of: account), for: .removal([]))
  }

  /// Handles the file of a complete upload, after its chunk was added to the account or not.
  mutating func handleChunkAdded(_ file: ChunkFile, _ result: Result<CommitResult, Refusal>) {
    switch result {
    case .success(.chunkAdded): break
    case .success(.chunkReplaced(let old, _)): removeFiles([old])
    case .failure(let refusal) where refusal.code == .storeUnavailable:
      // A failed commit may still become durable after a crash, until another one has followed it.
      keepLeftover([file])
    case .success, .failure: removeFiles([file])
    }
  }

  /// Marks the chunk as missing, so that devices that have it upload it again. If the commit cannot
  /// be queued or fails, the next reader of the chunk finds the same.
  mutating func reportMissing(_ file: ChunkFile) {
    _ = submitCommit(.markChunksMissing([file]), for: .missingReport)
  }

  /// Keeps the files for removal after the next successful commit.
  mutating func keepLeftover(_ files: [ChunkFile]) { collector.keepLeftover(files) }

  /// Removes the kept files after a successful commit.
  private mutating func removeLeftovers() {
    let files = collector.drainLeftovers()
    if !files.isEmpty { removeFiles(files) }
  }

  /// Runs the next collection of files, or continues the sweep.
  mutating func collect() { sendCollection(collector.next) }

  /// Sends a request of the collector. If too many are pending, the collector tries again later.
  private mutating func sendCollection(_ request: ChunkCollector.Request) {
    guard stage == .running else { return }
    let isSubmitted: Bool
    switch request {
    case .list(let last):
      let list = ChunkRequest.list(after: last, limit: Limits.collectedChunks)
      isSubmitted = submitFileRequest(list, for: .sweep)
    case .check(let files):
      isSubmitted = submitRead(.fileUses(files), for: .sweepCheck(files))
    case .confirm(let files, let last):
      isSubmitted = submitCommit(.confirmChunks(files), for: .confirmation(through: last))
    case .collect:
      let collection = CommitRequest.collectChunks(atMost: Limits.collectedChunks)
      isSubmitted = submitCommit(collection, for: .collection)
    case .wait(let milliseconds):
      timers.schedule(.collection, at: moment.instant.advanced(milliseconds: milliseconds))
      return
    }
    if !isSubmitted { sendCollection(ChunkCollector.retry) }
  }

  mutating func handleSweepList(_ result: Result<ChunkResult, Refusal>) {
    var files: [ChunkFile]?
    if case .success(.files(let list)) = result { files = list }
    guard stage == .running else { return }
    sendCollection(collector.handleList(files))
  }

  mutating func handleSweepCheck(_ files: [ChunkFile], _ result: Result<ReadResult, Refusal>) {
    guard stage == .running else { return }
    var uses: [FileUse]?
    if case .success(.fileUses(let found)) = result { uses = found }
    let (unused, next) = collector.handleCheck(files, uses)
    if !unused.isEmpty { removeFiles(unused) }
    sendCollection(next)
  }

  mutating func handleConfirmation(
    through last: ChunkFile?, _ result: Result<CommitResult, Refusal>
  ) {
    guard stage == .running else { return }
    var isDone = false
    if case .success = result { isDone = true }
    sendCollection(collector.handleConfirmation(through: last, isDone: isDone))
  }

  mutating func handleCollection(_ result: Result<CommitResult, Refusal>) {
    var files: [ChunkFile] = []
    if case .success(.collected(let found)) = result { files = found }
    if !files.isEmpty { removeFiles(files) }
    sendCollection(collector.handleCollection(files.count))
  }

  static let isStopping = Refusal(
    .stopping, "The relay is stopping; connect again in a moment.", retryAfterMilliseconds: 1_000)
  static let notSignedIn = Refusal(
    .badToken, "This device is not signed in to the account any more; pair it again.")
}
