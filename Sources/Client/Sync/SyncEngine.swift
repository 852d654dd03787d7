import LockstepModel
import LockstepWire

/// Decides what to send, fetch and apply next. A pure state machine: its methods take events, and
/// `next` returns actions until there are none. Uses no bytes, no clock and no store.
///
/// Rules: a frozen batch precedes everything else; required fetches precede new sends; one batch,
/// one fetch and one application at a time. While pages are applied, a limited number of further
/// pages is fetched.
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

  private var pending: [Action] = []
  private var batchRecords = Limits.batchRecords
  /// Largest batch that the path to the relay is known to accept.
  private var batchBytes = Limits.batchBytes
  /// The batch that was sent on this uplink and not answered.
  private var saving: SaveRequest?
  private var isOffering = false
  /// Number of jobs on the store that were submitted and are not done.
  private var applications = 0
  private var mustFetch = false
  private var isFetching = false
  /// Start of the last fetch.
  private var fetchedSince: ChangeToken?
  /// Token to continue from, if more follows the last fetched page.
  private var ahead: ChangeToken?
  /// True if the running fetch follows a page that could not be applied.
  private var isFetchStale = false
  private var isWaiting = false
  private var isListening = false
  private var hasCaughtUp = false
  /// True if the relay pushes what was missed, because the hello message had the cursor.
  private var isChained = false
  /// True if a batch of an earlier uplink is frozen: nothing pushed is applied before its answer.
  private var dropsPages = false
  private var arrivals = ArrivalQueue()
  /// Consecutive batches with a record from the future.
  private var clockFaults = 0

  // MARK: state

  /// True if, as far as is known, the device has everything from the relay, and the relay has
  /// everything that may be sent. A routine poll does not change it.
  var isInSync: Bool {
    transport != nil && hasCaughtUp && !isApplying && !isOffering && saving == nil
      && arrivals.isEmpty && pending.isEmpty && !hasSendable && !awaitsChunks
      && !outbox.mayBringBack
  }

  /// True if the device has all changes of other devices, whatever the state of its own.
  var hasAllRemoteChanges: Bool {
    transport != nil && hasCaughtUp && !isApplying && arrivals.isEmpty
  }

  /// True if in sync, and no fetch is running or required.
  var isSettled: Bool { isInSync && !mustFetch && !isFetching }

  /// True if missed changes were promised, and have not arrived.
  var awaitsBacklog: Bool { isChained && !hasCaughtUp && !mustFetch && !isFetching }

  /// True if there are entries that no plan, no chunk of a file and no user holds up.
  private var hasSendable: Bool {
    outbox.frozen != nil
      || outbox.waiting.contains { waiting in
        !blockedZones.contains(waiting.zone) && !outbox.off.contains(waiting.zone)
          && waiting.count > (outbox.heldBack.first { $0.zone == waiting.zone }?.count ?? 0)
      }
  }

  private var isApplying: Bool { applications > 0 }

  private var bounds: BatchBounds {
    BatchBounds(records: batchRecords, bytes: batchBytes, blockedZones: blockedZones)
  }

  private var isAtRest: Bool { arrivals.isEmpty && !isApplying && !isOffering && saving == nil }

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
    self.isOffering = isOffering
    arrivals = ArrivalQueue()
    ahead = nil
    pending = []
  }

  /// Returns the token for the first message on a socket: the cursor, if pushed changes could be
  /// applied at once.
  mutating func beginHello() -> ChangeToken? {
    let mayChain = outbox.frozen == nil && isAtRest
    let since = mayChain ? position.cursor : nil
    isChained = since != nil
    return since
  }

  /// `newest`: the account's newest token, if the relay sent it.
  mutating func online(_ transport: Transport, newest: ChangeToken?) {
    self.transport = transport
    isPaused = false
    dropsPages = outbox.frozen != nil
    if transport != .webSocket { isChained = false }
    hasCaughtUp = isChained && !dropsPages && newest.map { position.isCursor(at: $0) } ?? false
    mustFetch = !isChained || dropsPages || position.cursor == nil
    retrySetAside()
  }

  mutating func offline() {
    transport = nil
    saving = nil
    isFetching = false
    isFetchStale = false
    ahead = nil
    isWaiting = false
    isListening = false
    mustFetch = false
    isChained = false
    hasCaughtUp = false
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
    guard transport != nil else { return }
    mustFetch = true
    hasCaughtUp = false
  }

  /// Resets the device to an earlier position: the changes after it are read again.
  mutating func positionMovedBack(to position: ChangePosition) {
    self.position = position
    ahead = nil
    isFetchStale = isFetching
    fetchNow()
  }

  /// Checks for new changes.
  mutating func poll() {
    guard transport != nil else { return }
    mustFetch = true
  }

  /// Unblocks all zones, because the account's plan may have changed.
  mutating func unblockZones() { blockedZones = [] }

  // MARK: messages of the relay

  mutating func page(_ page: ChangePage, _ origin: PageOrigin) {
    switch origin {
    case .push, .stream: break
    case .fetch:
      isFetching = false
      guard !isFetchStale else {
        isFetchStale = false
        return fetchNow()
      }
      ahead = page.more ? page.token : nil
    case .longPoll: isWaiting = false
    }
    // A relay that pushes continues without a request.
    if page.more, !origin.isUnasked { fetchNow() }
    if origin.isUnasked, dropsPages { return fetchNow() }
    if page.changes.isEmpty, position.isCursor(at: page.token), isAtRest {
      // Nothing new: the device is at the relay's position.
      if !mustFetch, !isFetching { hasCaughtUp = true }
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
    guard saving?.id == id else { return }
    saving = nil
    batchRecords = min(2 * batchRecords, Limits.batchRecords)
    // While a long-poll is held, its cursor must not change.
    arrivals.add(id, answer, isLink: !isWaiting)
  }

  mutating func saveRefused(_ id: BatchID, _ refusal: Refusal) {
    guard let batch = saving, batch.id == id else { return }
    saving = nil
    switch refusal.code {
    case .planRequired:
      if !blockedZones.contains(batch.zone) { blockedZones.append(batch.zone) }
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
        if refusal.code == .storeRestored { loseCursor(refusal) }
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
    if origin == .fetch {
      isFetching = false
      isFetchStale = false
    }
    if origin == .longPoll { isWaiting = false }
    if origin == .stream { isListening = false }
    ahead = nil
    hasCaughtUp = false
    mustFetch = transport != nil
    switch refusal.code.advice {
    case .fetchFirst where since != nil:
      loseCursor(refusal)
    case .askPerson: fail(refusal)
    case .fetchFirst, .retry, .park, .stampAnew, .fixRequest: pause(refusal)
    }
  }

  private mutating func loseCursor(_ refusal: Refusal) {
    isChained = false
    pending.append(
      .forgetCursor(
        restoredThrough: refusal.provenLoss, lostThrough: refusal.lostThrough,
        in: refusal.token?.generation))
    applications += 1
  }

  // MARK: results of the worker

  /// Returns bounds if the next batch may be frozen by a job that is about to be submitted. The
  /// offer is valid until that job is done.
  mutating func beginOffer() -> BatchBounds? {
    guard canOffer else { return nil }
    isOffering = true
    return bounds
  }

  /// `offered`: the job carried an offer. `applied`: it was an application.
  mutating func finished(
    offered: Bool, applied: Applied?, batch: SaveRequest?, outbox: OutboxSummary
  ) {
    self.outbox = outbox
    if offered { isOffering = false }
    if let applied {
      applications -= 1
      completeApplication(applied)
    }
    guard offered, transport != nil else { return }
    guard let batch else {
      // It was not frozen because its stamps could not be trusted after all.
      if hasSendable, isClockTrusted, !mustFetch { measureAgain() }
      return
    }
    saving = batch
    pending.append(.save(batch))
  }

  private mutating func completeApplication(_ applied: Applied) {
    position = applied.position
    if applied.foundGap {
      ahead = nil
      isFetchStale = isFetching
      fetchNow()
    }
    if let refusal = applied.retryLater { pause(refusal) }
    if applied.clockAhead {
      handleClockAhead(Refusal(.clockAhead, "A record's time is in the relay's future."))
    } else if applied.hasAnswer {
      clockFaults = 0
    }
    if applied.isAtEnd, transport != nil, !mustFetch, !isFetching { hasCaughtUp = true }
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
    if mustFetch, !isFetching, outbox.frozen == nil {
      if isAtRest { return fetch(since: position.token) }
      if let ahead, arrivals.hasRoomAhead, saving == nil, !isOffering {
        return fetch(since: ahead)
      }
    }
    if transport == .longPoll, !isWaiting, !isFetching, !mustFetch, !isApplying,
      arrivals.isEmpty, let cursor = position.cursor
    {
      isWaiting = true
      return .wait(since: cursor)
    }
    if transport == .events, !isListening, !isFetching, !mustFetch, !isApplying,
      arrivals.isEmpty, let cursor = position.cursor
    {
      isListening = true
      return .listen(since: cursor)
    }
    return nil
  }

  private mutating func fetch(since: ChangeToken?) -> Action {
    mustFetch = false
    isFetching = true
    dropsPages = false
    fetchedSince = since
    ahead = nil
    return .fetch(since: since)
  }

  private mutating func nextApplication() -> Action? {
    // Pushed pages wait for the running fetch, whose pages precede them.
    guard !arrivals.isEmpty, !isApplying, !isFetching || arrivals.isFetched else { return nil }
    let list = arrivals.drain()
    // This job may answer the frozen batch, so only a new batch is offered.
    let offer = canOfferNew ? beginOffer() : nil
    applications += 1
    return .apply(list, offer)
  }

  private var canOfferNew: Bool { !mustFetch && !isFetching && position.cursor != nil }

  private var canOffer: Bool {
    // The running application may answer the frozen batch, and show that more must be fetched
    // first.
    guard transport != nil, !isPaused, isClockTrusted, saving == nil, !isOffering, !isApplying
    else { return false }
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
    if outbox.setAsideCount > 0 || outbox.parkedCount > 0 { retry(withParked: true) }
    fetchNow()
  }

  private mutating func retry(withParked: Bool) {
    pending.append(.retryRefused(withParked: withParked))
    applications += 1
  }

  /// Handles a cut long-poll: what it may have missed is fetched.
  mutating func longPollCut() {
    isWaiting = false
    poll()
  }

  /// Handles an intermediary's refusal of the batch for its size. Smaller batches may pass; a
  /// single change that does not pass is set aside, so that others continue.
  mutating func saveTooLarge(_ id: BatchID, _ refusal: Refusal) {
    guard let batch = saving, batch.id == id else { return }
    let bytes = batch.encodedBody().count
    let isIndivisible = batch.atomic || batch.mutations.count == 1
    let least = Limits.smallRequestBytes
    let temporary = Refusal(
      .internalError, refusal.detail, retryAfterMilliseconds: refusal.retryAfterMilliseconds)
    guard bytes > least, isIndivisible || batchBytes > least else {
      return saveRefused(id, temporary)
    }
    saving = nil
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
