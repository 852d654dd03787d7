import LockstepModel
import LockstepWire

/// What to send, fetch and apply next. A pure machine: it is told what happened, and `next` gives
/// what to do, until there is nothing. Knows no bytes, no clock and no store.
///
/// Its rules: a frozen batch goes before everything else; what must be fetched is fetched before
/// anything new is sent; one batch, one fetch and one application at a time. While pages are
/// applied the next are asked for, a few of them and no more.
struct SyncEngine {
  /// How far the device has read, as the worker last told.
  private(set) var position = ChangePosition.nothing
  private(set) var outbox = OutboxSummary()
  /// nil while there is no uplink.
  private(set) var transport: Transport?
  /// Relay time is known, so that stamps can be trusted and batches be sent.
  var isClockTrusted = false
  /// Chunks of files are on their way to the relay, and local changes wait for them.
  var awaitsChunks = false
  private(set) var isPaused = false
  /// Zones that the account's plan does not include.
  private(set) var blockedZones: [Name] = []

  private var pending: [Action] = []
  private var batchRecords = Limits.batchRecords
  /// As large as what stands on the way to the relay was seen to take.
  private var batchBytes = Limits.batchBytes
  /// The batch that was sent by this uplink and not answered.
  private var saving: SaveRequest?
  private var isOffering = false
  /// Jobs on the store that were asked for, and are not done.
  private var applications = 0
  private var mustFetch = false
  private var isFetching = false
  /// Where the fetch that was asked for last began.
  private var fetchedSince: ChangeToken?
  /// The page that was fetched last has more behind it, from here on.
  private var ahead: ChangeToken?
  /// What is being fetched follows a page that could not be applied.
  private var isFetchStale = false
  private var isWaiting = false
  private var isListening = false
  private var hasCaughtUp = false
  /// The relay sends what was missed by itself, since it was greeted with the cursor.
  private var isChained = false
  /// A batch of an earlier uplink is frozen: nothing that comes is applied before its answer.
  private var dropsPages = false
  private var arrivals = ArrivalQueue()
  /// Batches in a row with a record from the future.
  private var clockFaults = 0

  // MARK: the state of things

  /// As far as is known, all that the relay has is here; and all that may be sent is there. A
  /// routine look whether there is more does not put it in doubt.
  var isInSync: Bool {
    transport != nil && hasCaughtUp && !isApplying && !isOffering && saving == nil
      && arrivals.isEmpty && pending.isEmpty && !hasSendable && !awaitsChunks
      && !outbox.mayBringBack
  }

  /// Whatever became of this device's own changes.
  var hasWhatOthersDid: Bool {
    transport != nil && hasCaughtUp && !isApplying && arrivals.isEmpty
  }

  /// In sync, and nothing is being asked.
  var isSettled: Bool { isInSync && !mustFetch && !isFetching }

  /// What was missed was promised, and has not come.
  var awaitsBacklog: Bool { isChained && !hasCaughtUp && !mustFetch && !isFetching }

  /// Entries that no plan, no chunk of a file and no person holds up.
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

  /// `applications` and `isOffering`: of the jobs that are still on their way, having been given
  /// before the home was read.
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

  /// What to greet a socket with: the cursor, where what it brings could be applied at once.
  mutating func greet() -> ChangeToken? {
    let mayChain = outbox.frozen == nil && isAtRest
    let since = mayChain ? position.cursor : nil
    isChained = since != nil
    return since
  }

  /// `newest`: the account's newest token, where the relay told it.
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
    // What the store is to be told stays true without an uplink.
    pending.removeAll { !$0.isForStore }
  }

  /// The ladder moved between the two ways by HTTP.
  mutating func changeTransport(_ transport: Transport) {
    guard self.transport != nil else { return }
    self.transport = transport
  }

  mutating func resume() { isPaused = false }

  /// There is, or may be, something that the device lacks.
  mutating func fetchNow() {
    guard transport != nil else { return }
    mustFetch = true
    hasCaughtUp = false
  }

  /// The device stands where it stood before: what follows is read once more.
  mutating func wentBack(to position: ChangePosition) {
    self.position = position
    ahead = nil
    isFetchStale = isFetching
    fetchNow()
  }

  /// It is time to look whether there is something.
  mutating func poll() {
    guard transport != nil else { return }
    mustFetch = true
  }

  /// The account's plan may be another one by now.
  mutating func unblockZones() { blockedZones = [] }

  // MARK: what the relay says

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
    // A relay that pushes goes on by itself.
    if page.more, !origin.isUnasked { fetchNow() }
    if origin.isUnasked, dropsPages { return fetchNow() }
    if page.changes.isEmpty, position.isCursor(at: page.token), isAtRest {
      // Nothing new: the device stands where the relay does.
      if !mustFetch, !isFetching { hasCaughtUp = true }
      return
    }
    // Its own saves come back to a device on its stream, mostly when it knows of them already.
    if origin == .stream, isAtRest, position.cursor?.covers(page.token) == true { return }
    guard !arrivals.add(page, isFetched: origin == .fetch) else { return }
    ahead = nil
    fetchNow()
  }

  mutating func hint(_ token: ChangeToken) {
    if case .page(let page) = arrivals.last, page.token.isSamePlace(as: token) { return }
    if !position.isCursor(at: token) { fetchNow() }
  }

  mutating func saved(_ id: BatchID, _ answer: SaveAnswer) {
    guard saving?.id == id else { return }
    saving = nil
    batchRecords = min(2 * batchRecords, Limits.batchRecords)
    // While a long-poll is held, the cursor it was asked with must stay.
    arrivals.add(id, answer, isLink: !isWaiting)
  }

  mutating func saveRefused(_ id: BatchID, _ refusal: Refusal) {
    guard let batch = saving, batch.id == id else { return }
    saving = nil
    switch refusal.code {
    case .planRequired:
      if !blockedZones.contains(batch.zone) { blockedZones.append(batch.zone) }
      refuse(id, refusal)
    case .clockAhead:
      refuse(id, refusal)
      refusedStamp(refusal)
    case .batchMismatch:
      refuse(id, refusal)
    default:
      if refusal.code.advice == .askPerson { return fail(refusal) }
      if refusal.code.advice == .fetchFirst {
        refuse(id, refusal)
        if refusal.code == .storeRestored { loseCursor(refusal) }
        return fetchNow()
      }
      // Anything else that does not blame the content may be over in a while: the batch stays
      // frozen, and goes again as it is.
      guard refusal.blamesContent else { return pause(refusal) }
      batchRecords = max(1, batch.mutations.count / 2)
      refuse(id, refusal)
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

  // MARK: what the worker says

  /// Whether the next batch may be frozen with a job that is about to be given; the offer stands
  /// until that job is done.
  mutating func takeOffer() -> BatchBounds? {
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
      settle(applied)
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

  private mutating func settle(_ applied: Applied) {
    position = applied.position
    if applied.foundGap {
      ahead = nil
      isFetchStale = isFetching
      fetchNow()
    }
    if let refusal = applied.retryLater { pause(refusal) }
    if applied.clockAhead {
      refusedStamp(Refusal(.clockAhead, "A record's time is in the relay's future."))
    } else if applied.hasAnswer {
      clockFaults = 0
    }
    if applied.isAtEnd, transport != nil, !mustFetch, !isFetching { hasCaughtUp = true }
  }

  /// Stamps are in the relay's future: its time is asked for anew, and where that did not help,
  /// time has to pass.
  private mutating func refusedStamp(_ refusal: Refusal) {
    clockFaults += 1
    measureAgain()
    if clockFaults > 1 { pause(refusal) }
  }

  private mutating func measureAgain() {
    guard transport != nil else { return }
    isClockTrusted = false
    pending.append(.measureClock)
  }

  // MARK: what to do

  mutating func next() -> Action? {
    if !pending.isEmpty { return pending.removeFirst() }
    if let apply = nextApplication() { return apply }
    if outbox.mayBringBack, !isApplying {
      applications += 1
      return .bringBack
    }
    guard transport != nil, !isPaused else { return nil }
    if hasSendable, let bounds = takeOffer() { return .takeBatch(bounds) }
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
    // What was pushed waits for what is being fetched, which comes before it.
    guard !arrivals.isEmpty, !isApplying, !isFetching || arrivals.isFetched else { return nil }
    let list = arrivals.takeAll()
    // What is frozen may be answered by this very job, so only a new batch is offered.
    let offer = canOfferNew ? takeOffer() : nil
    applications += 1
    return .apply(list, offer)
  }

  private var canOfferNew: Bool { !mustFetch && !isFetching && position.cursor != nil }

  private var canOffer: Bool {
    // What is being applied may answer what is frozen, and show that more must be fetched first.
    guard transport != nil, !isPaused, isClockTrusted, saving == nil, !isOffering, !isApplying
    else { return false }
    return outbox.frozen != nil || canOfferNew
  }

  private mutating func refuse(_ id: BatchID, _ refusal: Refusal) {
    pending.append(.refuseBatch(id, refusal))
    applications += 1
  }

  private mutating func pause(_ refusal: Refusal) {
    guard transport != nil else { return }
    isPaused = true
    pending.append(.pause(refusal))
  }

  private mutating func fail(_ refusal: Refusal) { pending.append(.fail(refusal)) }

  // MARK: trying again

  /// The way may be another one by now: what was too large for it is tried again.
  mutating func retrySetAside() {
    batchBytes = Limits.batchBytes
    if outbox.setAsideCount > 0 { retry(withParked: false) }
  }

  /// A person asks: what was given up on is tried again, also what the relay has refused.
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

  /// The long-poll was cut: what it may have missed is asked for.
  mutating func longPollCut() {
    isWaiting = false
    poll()
  }

  /// Something on the way to the relay refused the batch for its size. Smaller ones may pass; a
  /// change that does not, by itself, is set aside, so that the others go on.
  mutating func saveTooLarge(_ id: BatchID, _ refusal: Refusal) {
    guard let batch = saving, batch.id == id else { return }
    let bytes = batch.encodedBody().count
    let isOneThing = batch.atomic || batch.mutations.count == 1
    let least = Limits.smallRequestBytes
    let passing = Refusal(
      .internalError, refusal.detail, retryAfterMilliseconds: refusal.retryAfterMilliseconds)
    guard bytes > least, isOneThing || batchBytes > least else { return saveRefused(id, passing) }
    saving = nil
    batchBytes = max(least, min(batchBytes, bytes) / 2)
    guard isOneThing else { return refuse(id, passing) }
    pending.append(.setAside(id))
    applications += 1
  }
}
