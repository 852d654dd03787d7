import LockstepModel
import LockstepWire

/// Decides what to send, fetch and apply next. A pure state machine: its methods take events, and
/// `next` returns actions until there are none. Uses no bytes, no clock and no store.
///
/// Rules: a frozen batch precedes everything else; required fetches precede new sends; one batch,
/// one fetch and one application at a time. While pages are applied, a limited number of further
/// pages is fetched. Three enums hold where each of them is: `FetchState`, `SaveState` and
/// `StreamState`.
struct SyncEngine {
  /// Position up to which the device has read, as last reported by the worker.
  private(set) var position = ChangePosition.nothing
  private(set) var outbox = OutboxSummary()
  /// nil if there is no uplink.
  private(set) var transport: Transport?
  /// True if relay time is known, so that stamps can be trusted and batches be sent.
  var isClockTrusted = false
  /// True if chunks of files are being uploaded, and local changes wait for them.
  var awaitsChunks = false
  private(set) var isPaused = false
  /// Zones that the account's plan does not include.
  private(set) var blockedZones: [Name] = []
  /// Zones in which the relay has refused a change because of the device's scope.
  private(set) var zonesRefusedByScope: [Name] = []

  private var pending: [Action] = []
  private var batchRecords = Limits.batchRecords
  /// Largest batch that the path to the relay is known to accept.
  private var batchBytes = Limits.batchBytes
  private(set) var fetch = FetchState.behind
  private(set) var save = SaveState.idle
  private(set) var stream = StreamState.plain
  /// Number of jobs on the store that were submitted and are not done.
  private var applications = 0
  /// Start of the last fetch.
  private var fetchedSince: ChangeToken?
  /// Token to continue from, if more follows the last fetched page.
  private var ahead: ChangeToken?
  private var arrivals = ArrivalQueue()
  /// Consecutive batches with a record from the future.
  private var clockFaults = 0
  /// Cursors that the relay has refused since it last sent changes after one.
  private var lostCursors = 0

  // MARK: state

  /// True if, as far as is known, the device has everything from the relay, and the relay has
  /// everything that may be sent. A routine poll does not change it.
  var isInSync: Bool {
    transport != nil && fetch.isCaughtUp && !isApplying && save == .idle && arrivals.isEmpty
      && pending.isEmpty && !hasSendable && !awaitsChunks
      && !outbox.mayBringBack
  }

  /// True if the device has all changes of other devices, whatever the state of its own.
  var hasAllRemoteChanges: Bool {
    transport != nil && fetch.isCaughtUp && !isApplying && arrivals.isEmpty
  }

  /// True if in sync, and no fetch is running or required.
  var isSettled: Bool { isInSync && fetch == .caughtUp }

  /// True if missed changes were promised, and have not arrived.
  var awaitsBacklog: Bool { stream == .chained && fetch == .behind }

  /// True if something waits for the relay, whether there is an uplink or not.
  var needsRelay: Bool { hasSendable || awaitsChunks || outbox.mayBringBack }

  /// True if there are entries that no plan, no chunk of a file and no user holds up.
  private var hasSendable: Bool {
    outbox.frozen != nil
      || outbox.waiting.contains { waiting in
        !blockedZones.contains(waiting.zone) && !zonesRefusedByScope.contains(waiting.zone)
          && !outbox.off.contains(waiting.zone) && !outbox.outOfScope.contains(waiting.zone)
          && waiting.count > (outbox.heldBack.first { $0.zone == waiting.zone }?.count ?? 0)
      }
  }

  private var isApplying: Bool { applications > 0 }

  private var bounds: BatchBounds {
    BatchBounds(
      records: batchRecords, bytes: batchBytes, blockedZones: blockedZones + zonesRefusedByScope)
  }

  /// Zones with changes that the device's scope does not include, by name, each once.
  var zonesOutOfScope: [Name] { Set(outbox.outOfScope + zonesRefusedByScope).sorted() }

  private var isAtRest: Bool { arrivals.isEmpty && !isApplying && save == .idle }

  // MARK: home and uplink

  /// `applications` and `isOffering`: of the jobs that are still running, submitted before the home
  /// was read.
  mutating func loaded(
    _ home: ChangePosition, _ outbox: OutboxSummary, applications: Int = 0,
    isOffering: Bool = false
  ) {
    position = home
    self.outbox = outbox
    self.applications = applications
    if isOffering {
      save = .offering
    } else if save == .offering {
      save = .idle
    }
    arrivals = ArrivalQueue()
    ahead = nil
    pending = []
  }

  /// Returns the token for the first message on a socket: the cursor, if pushed changes could be
  /// applied at once.
  mutating func beginHello() -> ChangeToken? {
    let mayChain = outbox.frozen == nil && isAtRest
    let since = mayChain ? position.cursor : nil
    stream = since == nil ? .plain : .chained
    return since
  }

  /// `newest`: the account's newest token, if the relay sent it.
  mutating func online(_ transport: Transport, newest: ChangeToken?) {
    self.transport = transport
    isPaused = false
    if transport != .webSocket { stream = .plain }
    if outbox.frozen != nil { stream = .dropping }
    if stream == .chained, position.cursor != nil {
      fetch = newest.map { position.isCursor(at: $0) } ?? false ? .caughtUp : .behind
    } else {
      fetch = .required
    }
    retrySetAside()
  }

  mutating func offline() {
    transport = nil
    fetch = .behind
    if save != .offering { save = .idle }
    stream = .plain
    ahead = nil
    isPaused = false
    // Pending actions for the store stay valid without an uplink.
    pending.removeAll { !$0.isForStore }
  }

  /// Changes the transport from one HTTP transport to another.
  mutating func changeTransport(_ transport: Transport) {
    guard self.transport != nil else { return }
    self.transport = transport
  }

  mutating func resume() { isPaused = false }

  /// Fetches, because the device lacks something, or may lack something.
  mutating func fetchNow() {
    if transport != nil { fetch.require() }
  }

  /// Fetches, and drops the page of the running fetch.
  private mutating func fetchAnew() {
    ahead = nil
    if transport != nil { fetch.startAnew() }
  }

  /// Resets the device to an earlier position: the changes after it are read again.
  mutating func positionMovedBack(to position: ChangePosition) {
    self.position = position
    fetchAnew()
  }

  /// Checks for new changes.
  mutating func poll() {
    if transport != nil { fetch.check() }
  }

  /// Unblocks all zones, because the account's plan, or the device's scope, may have changed.
  mutating func unblockZones() {
    blockedZones = []
    zonesRefusedByScope = []
  }

  // MARK: messages of the relay

  mutating func page(_ page: ChangePage, _ origin: PageOrigin) {
    switch origin {
    case .push, .stream: break
    case .fetch:
      let isStale = fetch == .fetchingStale
      fetch.end()
      if isStale { return }
      ahead = page.more ? page.token : nil
    case .longPoll: stream.endWait()
    }
    if page.since != nil, position.cursor != nil { lostCursors = 0 }
    // A relay that pushes continues without a request.
    if page.more, !origin.isUnasked { fetchNow() }
    if origin.isUnasked, stream == .dropping { return fetchNow() }
    if page.changes.isEmpty, position.isCursor(at: page.token), isAtRest {
      // Nothing new: the device is at the relay's position.
      fetch.complete()
      return
    }
    // A device receives its own saves on its stream, usually after it knows about them.
    if origin == .stream, isAtRest, position.cursor?.covers(page.token) == true { return }
    guard !arrivals.add(page, isFetched: origin == .fetch) else { return }
    ahead = nil
    fetchNow()
  }

  mutating func hint(_ token: ChangeToken) {
    if case .page(let page) = arrivals.last, page.token.isSamePosition(as: token) { return }
    if !position.isCursor(at: token) { fetchNow() }
  }

  mutating func saved(_ id: BatchID, _ answer: SaveAnswer) {
    guard case .sent(let batch) = save, batch.id == id else { return }
    save = .idle
    batchRecords = min(2 * batchRecords, Limits.batchRecords)
    // While a long-poll is held, its cursor must not change.
    arrivals.add(id, answer, isLink: !stream.isWaiting)
  }

  mutating func saveRefused(_ id: BatchID, _ refusal: Refusal) {
    guard case .sent(let batch) = save, batch.id == id else { return }
    save = .idle
    switch refusal.code {
    case .planRequired:
      if !blockedZones.contains(batch.zone) { blockedZones.append(batch.zone) }
      refuseBatch(id, refusal)
    case .outOfScope:
      if !zonesRefusedByScope.contains(batch.zone) { zonesRefusedByScope.append(batch.zone) }
      refuseBatch(id, refusal)
    case .clockAhead:
      refuseBatch(id, refusal)
      handleClockAhead(refusal)
    case .batchMismatch:
      refuseBatch(id, refusal)
    default:
      if refusal.code.advice == .askPerson { return fail(refusal) }
      if refusal.code.advice == .fetchFirst {
        refuseBatch(id, refusal)
        if refusal.code == .storeRestored {
          loseCursor(refusal, isProven: isOfCursor(refusal))
        }
        return fetchNow()
      }
      // Other refusals that do not blame the content may be temporary: the batch stays frozen, and
      // is sent again unchanged.
      guard refusal.blamesContent else { return pause(refusal) }
      batchRecords = max(1, batch.mutations.count / 2)
      refuseBatch(id, refusal)
    }
  }

  mutating func fetchRefused(_ refusal: Refusal, _ origin: PageOrigin) {
    let since = origin == .fetch ? fetchedSince : position.token
    switch origin {
    case .fetch: fetch.end()
    case .longPoll: stream.endWait()
    case .stream: stream.endListening()
    case .push: break
    }
    ahead = nil
    fetchNow()
    switch refusal.code.advice {
    case .fetchFirst where since != nil:
      loseCursor(refusal)
    case .askPerson: fail(refusal)
    case .fetchFirst, .retry, .followRelay, .park, .stampAnew, .fixRequest: pause(refusal)
    }
  }

  /// Discards the cursor. A relay that refuses each of its own cursors is not asked for snapshots
  /// without a pause.
  private mutating func loseCursor(_ refusal: Refusal, isProven: Bool = true) {
    stream.unchain()
    pending.append(
      .forgetCursor(
        restoredThrough: isProven ? refusal.provenLoss : nil,
        lostThrough: isProven ? refusal.lostThrough : nil, in: refusal.token?.generation))
    applications += 1
    lostCursors += 1
    if lostCursors > Limits.lostCursors { pause(refusal) }
  }

  /// True if the refusal of a save reports how far the relay went back. It concerns the tags of the
  /// batch: of a relay that was restored meanwhile, only a request with the cursor shows this.
  private func isOfCursor(_ refusal: Refusal) -> Bool {
    guard let seenIn = refusal.token?.generation else { return true }
    return seenIn == position.token?.generation
  }

  // MARK: results of the worker

  /// Returns bounds if the next batch may be frozen by a job that is about to be submitted. The
  /// offer is valid until that job is done.
  mutating func beginOffer() -> BatchBounds? {
    guard canOffer else { return nil }
    save = .offering
    return bounds
  }

  /// `offered`: the job carried an offer. `applied`: it was an application.
  mutating func finished(
    offered: Bool, applied: Applied?, batch: SaveRequest?, outbox: OutboxSummary
  ) {
    self.outbox = outbox
    if offered, save == .offering { save = .idle }
    if let applied {
      applications -= 1
      completeApplication(applied)
    }
    guard offered, transport != nil else { return }
    guard let batch else {
      // It was not frozen because its stamps could not be trusted after all.
      if hasSendable, isClockTrusted, !fetch.isRequired { measureAgain() }
      return
    }
    save = .sent(batch)
    pending.append(.save(batch))
  }

  private mutating func completeApplication(_ applied: Applied) {
    position = applied.position
    if applied.foundGap { fetchAnew() }
    if let refusal = applied.retryLater { pause(refusal) }
    if applied.clockAhead {
      handleClockAhead(Refusal(.clockAhead, "A record's time is in the relay's future."))
    } else if applied.hasAnswer {
      clockFaults = 0
    }
    if applied.isAtEnd, transport != nil { fetch.complete() }
  }

  /// Handles stamps in the relay's future: its time is measured again, and if that did not help,
  /// sync pauses.
  private mutating func handleClockAhead(_ refusal: Refusal) {
    clockFaults += 1
    measureAgain()
    if clockFaults > 1 { pause(refusal) }
  }

  private mutating func measureAgain() {
    guard transport != nil else { return }
    isClockTrusted = false
    pending.append(.measureClock)
  }

  // MARK: actions

  mutating func next() -> Action? {
    if !pending.isEmpty { return pending.removeFirst() }
    if let apply = nextApplication() { return apply }
    if outbox.mayBringBack, !isApplying {
      applications += 1
      return .bringBack
    }
    guard transport != nil, !isPaused else { return nil }
    if hasSendable, let bounds = beginOffer() { return .freezeBatch(bounds) }
    if fetch.mayBegin, outbox.frozen == nil {
      if isAtRest { return beginFetch(since: position.token) }
      if let ahead, arrivals.hasRoomAhead, save == .idle { return beginFetch(since: ahead) }
    }
    guard fetch.isIdle, !isApplying, arrivals.isEmpty, let cursor = position.cursor else {
      return nil
    }
    if transport == .longPoll, !stream.isWaiting {
      stream.beginWait()
      return .wait(since: cursor)
    }
    if transport == .events, !stream.isListening {
      stream.beginListening()
      return .listen(since: cursor)
    }
    return nil
  }

  private mutating func beginFetch(since: ChangeToken?) -> Action {
    fetch.begin()
    stream.endDropping()
    fetchedSince = since
    ahead = nil
    return .fetch(since: since)
  }

  private mutating func nextApplication() -> Action? {
    // Pushed pages wait for the running fetch, whose pages precede them.
    guard !arrivals.isEmpty, !isApplying, !fetch.isRunning || arrivals.isFetched else {
      return nil
    }
    let list = arrivals.drain()
    // This job may answer the frozen batch, so only a new batch is offered.
    let offer = canOfferNew ? beginOffer() : nil
    applications += 1
    return .apply(list, offer)
  }

  private var canOfferNew: Bool { fetch.isIdle && position.cursor != nil }

  private var canOffer: Bool {
    // The running application may answer the frozen batch, and show that more must be fetched
    // first.
    guard transport != nil, !isPaused, isClockTrusted, save == .idle, !isApplying else {
      return false
    }
    return outbox.frozen != nil || canOfferNew
  }

  private mutating func refuseBatch(_ id: BatchID, _ refusal: Refusal) {
    pending.append(.refuseBatch(id, refusal))
    applications += 1
  }

  private mutating func pause(_ refusal: Refusal) {
    guard transport != nil else { return }
    isPaused = true
    pending.append(.pause(refusal))
  }

  private mutating func fail(_ refusal: Refusal) { pending.append(.fail(refusal)) }

  // MARK: retries

  /// Retries changes that were too large for the path to the relay, because it may have changed.
  mutating func retrySetAside() {
    batchBytes = Limits.batchBytes
    if outbox.setAsideCount > 0 { retry(withParked: false) }
  }

  /// Retries everything at a user's request, including changes that the relay has refused.
  mutating func tryEverything() {
    isPaused = false
    unblockZones()
    batchRecords = Limits.batchRecords
    batchBytes = Limits.batchBytes
    let isRefused = outbox.setAsideCount > 0 || outbox.parkedCount > 0
    if isRefused || outbox.unreadableCount > 0 { retry(withParked: true) }
    fetchNow()
  }

  private mutating func retry(withParked: Bool) {
    pending.append(.retryRefused(withParked: withParked))
    applications += 1
  }

  /// Handles a cut long-poll: what it may have missed is fetched.
  mutating func longPollCut() {
    stream.endWait()
    poll()
  }

  /// Handles an intermediary's refusal of the batch for its size. Smaller batches may pass; a
  /// single change that does not pass is set aside, so that others continue.
  mutating func saveTooLarge(_ id: BatchID, _ refusal: Refusal) {
    guard case .sent(let batch) = save, batch.id == id else { return }
    let bytes = batch.encodedBody().count
    let isIndivisible = batch.atomic || batch.mutations.count == 1
    let least = Limits.smallRequestBytes
    let temporary = Refusal(
      .internalError, refusal.detail, retryAfterMilliseconds: refusal.retryAfterMilliseconds)
    guard bytes > least, isIndivisible || batchBytes > least else {
      return saveRefused(id, temporary)
    }
    save = .idle
    batchBytes = max(least, min(batchBytes, bytes) / 2)
    guard isIndivisible else { return refuseBatch(id, temporary) }
    pending.append(.setAside(id))
    applications += 1
  }
}

extension SyncEngine {
  /// An action for the agent.
  enum Action: Hashable, Sendable {
    /// A job that only has the offer.
    case freezeBatch(BatchBounds)
    /// With an offer, the next batch is frozen in the same transaction.
    case apply([Arrival], BatchBounds?)
    case refuseBatch(BatchID, Refusal)
    /// See `ReplicaTask.setAside`.
    case setAside(BatchID)
    case retryRefused(withParked: Bool)
    /// See `ReplicaTask.forgetCursor`.
    case forgetCursor(
      restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in: UInt32? = nil)
    /// Moves some of what the relay has lost into the outbox.
    case bringBack
    case save(SaveRequest)
    case fetch(since: ChangeToken?)
    /// A long-poll.
    case wait(since: ChangeToken)
    /// A stream of events.
    case listen(since: ChangeToken)
    case measureClock
    /// Retries later, by `resume`.
    case pause(Refusal)
    /// Stops until a user acts.
    case fail(Refusal)
  }
}

/// States of the engine's fetch, save and stream. The arrows name the legal next states.
/// `Tests/WebClientTests/client/syncStates.json` has them with the events that lead there, for this
/// engine and for the web client's.
extension SyncEngine {
  /// The changes of other devices, and the fetch that reads them. Without an uplink: `behind`.
  enum FetchState: String, CaseIterable, Hashable, Sendable {
    /// Changes may be missing; those that are known of come without a request, or are being
    /// applied. → required, caughtUp
    case behind
    /// → fetching, behind
    case required
    /// → behind, caughtUp, required, fetchingAgain, fetchingStale
    case fetching
    /// Another fetch is required after the running one. → required, fetchingStale, behind
    case fetchingAgain
    /// The running fetch follows a page that could not be applied. Its page is dropped, and another
    /// fetch is required. → required, behind
    case fetchingStale
    /// All changes are here, as far as is known. → checkDue, required, behind
    case caughtUp
    /// All changes are here, as far as is known; a routine fetch is due. → checking, required,
    /// behind
    case checkDue
    /// The routine fetch is running. → caughtUp, required, checkingAgain, fetchingAgain,
    /// fetchingStale, behind
    case checking
    /// The routine fetch is running, and another one is due. → checkDue, required, fetchingAgain,
    /// fetchingStale, behind
    case checkingAgain
  }

  /// The batch that is sent to the relay.
  enum SaveState: Hashable, Sendable {
    /// → offering
    case idle
    /// A job may freeze the next batch. → sent, idle
    case offering
    /// The batch was sent on this uplink, and not answered. → idle
    case sent(SaveRequest)
  }

  /// Messages of the relay without a fetch. Without an uplink: `plain`, and `chained` from the
  /// hello message on.
  enum StreamState: String, CaseIterable, Hashable, Sendable {
    /// Pushed changes, if there are any, need not follow the cursor. → chained, dropping, waiting,
    /// listening
    case plain
    /// The relay pushes what was missed, because the hello message had the cursor. → plain
    case chained
    /// A batch of an earlier uplink is frozen: nothing pushed is applied before its answer, and
    /// before the fetch that follows. → plain
    case dropping
    /// A long-poll is held. → plain, listeningAndWaiting
    case waiting
    /// A stream of events is open. → plain
    case listening
    /// A stream of events is open, and a long-poll from before is still held. → waiting, listening,
    /// plain
    case listeningAndWaiting
  }
}

extension SyncEngine.FetchState {
  /// True if a fetch must begin, also if one is running.
  var isRequired: Bool {
    switch self {
    case .required, .fetchingAgain, .fetchingStale, .checkDue, .checkingAgain: true
    case .behind, .fetching, .caughtUp, .checking: false
    }
  }

  var isRunning: Bool {
    switch self {
    case .fetching, .fetchingAgain, .fetchingStale, .checking, .checkingAgain: true
    case .behind, .required, .caughtUp, .checkDue: false
    }
  }

  var isCaughtUp: Bool {
    switch self {
    case .caughtUp, .checkDue, .checking, .checkingAgain: true
    case .behind, .required, .fetching, .fetchingAgain, .fetchingStale: false
    }
  }

  /// True if no fetch is running or required.
  var isIdle: Bool { self == .behind || self == .caughtUp }

  var mayBegin: Bool { self == .required || self == .checkDue }

  /// Requires a fetch, because changes may be missing.
  fileprivate mutating func require() {
    switch self {
    case .behind, .required, .caughtUp, .checkDue: self = .required
    case .fetching, .fetchingAgain, .checking, .checkingAgain: self = .fetchingAgain
    case .fetchingStale: break
    }
  }

  /// Requires a fetch, and that the page of the running one is dropped.
  fileprivate mutating func startAnew() { self = isRunning ? .fetchingStale : .required }

  /// Requires a fetch as a routine.
  fileprivate mutating func check() {
    switch self {
    case .behind: self = .required
    case .fetching: self = .fetchingAgain
    case .caughtUp: self = .checkDue
    case .checking: self = .checkingAgain
    case .required, .fetchingAgain, .fetchingStale, .checkDue, .checkingAgain: break
    }
  }

  /// Begins the required fetch.
  fileprivate mutating func begin() { self = self == .checkDue ? .checking : .fetching }

  /// Ends the running fetch.
  fileprivate mutating func end() {
    switch self {
    case .fetching: self = .behind
    case .fetchingAgain, .fetchingStale: self = .required
    case .checking: self = .caughtUp
    case .checkingAgain: self = .checkDue
    case .behind, .required, .caughtUp, .checkDue: break
    }
  }

  /// Records that all known changes are here, unless a fetch is running or required.
  fileprivate mutating func complete() { if self == .behind { self = .caughtUp } }
}

extension SyncEngine.StreamState {
  var isWaiting: Bool { self == .waiting || self == .listeningAndWaiting }
  var isListening: Bool { self == .listening || self == .listeningAndWaiting }

  fileprivate mutating func unchain() { if self == .chained { self = .plain } }

  fileprivate mutating func endDropping() { if self == .dropping { self = .plain } }

  fileprivate mutating func beginWait() {
    self = isListening ? .listeningAndWaiting : .waiting
  }

  fileprivate mutating func endWait() {
    if isWaiting { self = isListening ? .listening : .plain }
  }

  fileprivate mutating func beginListening() {
    self = isWaiting ? .listeningAndWaiting : .listening
  }

  fileprivate mutating func endListening() {
    if isListening { self = isWaiting ? .waiting : .plain }
  }
}

extension SyncEngine.Action {
  var isForStore: Bool {
    switch self {
    case .freezeBatch, .apply, .refuseBatch, .setAside, .retryRefused, .forgetCursor, .bringBack,
      .fail:
      true
    case .save, .fetch, .wait, .listen, .measureClock, .pause: false
    }
  }
}
