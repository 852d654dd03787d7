import LockstepLanguage
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Orders of a user or program, and the jobs that they cause.
extension Agent {
  /// A job that was given to the driver.
  struct PendingJob: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
      case load
      /// Stores the address to which the account has moved.
      case following
      case order(OrderID)
      case transacting(OrderID)
      case joining(OrderID)
      case readingState(OrderID)
      case answered(OrderID)
      /// Its result is not reported.
      case note
      case switching(OrderID)
      case read(OrderID)
      case dueEdits
      case sync
      case chunk(ChunkJobPurpose)
    }

    var id: JobID
    var kind: Kind
    var hasOffer: Bool
    /// See `ReplicaTask.isApplication`.
    var isApplication: Bool
  }

  mutating func handleOrder(_ order: AgentOrder, at moment: Moment) {
    switch order {
    case .edit(let id, let request):
      guard !isStopping else { return report(.edited(id, .failure(.stopping))) }
      submit(.edit(id, request), .order(id), offer: engine.beginOffer(), at: moment)
    case .transact(let id, let script):
      guard !isStopping else { return report(.transacted(id, .failure(.stopping))) }
      submit(.transact(id, script), .transacting(id), offer: engine.beginOffer(), at: moment)
    case .join(let id, let identity, let keys):
      submit(.join(id, identity, keys), .joining(id), at: moment)
    case .decide(let id, let key, let keepLocal):
      guard !isStopping else { return report(.edited(id, .failure(.stopping))) }
      submit(
        .decide(id, key, keepLocal: keepLocal), .order(id), offer: engine.beginOffer(), at: moment)
    case .perform(let id, let app, let order):
      guard !isStopping else { return report(.answered(id, .failure(.stopping))) }
      submit(
        .perform(id, app: app, order), .answered(id), offer: engine.beginOffer(), at: moment)
    case .show(let id, let app, let question):
      submit(.show(id, app: app, question), .answered(id), at: moment)
    case .nameDevices(let names):
      guard !isStopping else { return }
      submit(.nameDevices(names), .note, at: moment)
    case .setSyncing(let id, let zone, let isOn):
      guard !isStopping else { return report(.switched(id, .failure(.stopping))) }
      submit(.setSyncing(id, zone: zone, isOn), .switching(id), at: moment)
    case .seal(let id, let keys, let plain, let secret):
      guard !isStopping else { return report(.switched(id, .failure(.stopping))) }
      submit(
        .seal(id, keys, plain: plain, deviceSecret: secret), .switching(id), at: moment)
    case .answerRestore(let id, let app, let wipes):
      guard !isStopping else { return report(.switched(id, .failure(.stopping))) }
      submit(.answerRestore(id, app: app, wipes: wipes), .switching(id), at: moment)
    case .readRecord(let id, let key): submit(.readRecord(id, key), .read(id), at: moment)
    case .readState(let id, let key): submit(.readState(id, key), .readingState(id), at: moment)
    case .readRecords(let id, let zone, let type):
      submit(.readRecords(id, zone: zone, type: type), .read(id), at: moment)
    case .readAll(let id): submit(.readAll(id), .read(id), at: moment)
    case .addChunk(let id, let bytes): addChunk(id, bytes, at: moment)
    case .readChunk(let id, let hash, let offset, let count):
      readChunk(id, hash, offset: offset, count: count, at: moment)
    case .readStatus(let id): report(.statusRead(id, status(at: moment)))
    case .syncNow(let id): syncNow(id, at: moment)
    case .goOffline:
      isNetworkOn = false
      disconnect(because: Agent.switchedOff, at: moment)
      stopDownloads(because: .unreachable(reason: Agent.switchedOff))
    case .goOnline:
      guard !isNetworkOn else { return }
      isNetworkOn = true
      transportSelector.reset()
      backoff.reset()
      connect(at: moment)
    case .sleep: if rest == .awake { rest = .falling }
    case .wake: wake(at: moment)
    case .stop: stop()
    }
  }

  mutating func report(_ report: AgentReport) { actions.append(.report(report)) }

  /// All jobs of the replica share a lane, and so run in order.
  mutating func submit(
    _ task: ReplicaTask, _ kind: PendingJob.Kind, offer bounds: BatchBounds? = nil,
    at moment: Moment
  ) {
    let offer = bounds.map {
      BatchOffer(id: BatchID(random: &random), bounds: $0, seed: versionRandom.next())
    }
    let id = JobID(rawValue: nextJob)
    nextJob += 1
    jobs.append(
      PendingJob(
        id: id, kind: kind, hasOffer: offer != nil, isApplication: task.isApplication))
    actions.append(
      .run(
        id, .commit(ReplicaJob(task: task, offer: offer, clock: clock.reading(at: moment)))))
  }

  mutating func jobFinished(_ id: JobID, _ outcome: ReplicaOutcome, at moment: Moment) {
    guard let index = jobs.firstIndex(where: { $0.id == id }) else { return }
    let job = jobs.remove(at: index)
    due = outcome.due
    switch outcome.result {
    case .failure(let error): handleStoreFailure(error, job, at: moment)
    case .success(let result):
      var applied: Applied?
      if case .applied(let found) = result {
        applied = found
        conflicts += found.conflicts
        // An answer that requires the same request again is not a success.
        if found.hasAnswer, found.retryLater == nil, !found.clockAhead { backoff.reset() }
      }
      if case .loaded(let found) = result { homeLoaded(found, outcome.outbox, at: moment) }
      if case .joined(_, .success(let found)) = result {
        // A revoked device that joins again may be about to use its former token.
        if uplink != nil { disconnect(because: localized("the device joins again"), at: moment) }
        engine.unblockZones()
        homeLoaded(found, outcome.outbox, at: moment)
      }
      if case .followed(let found) = result {
        relayFollowed(found, outcome.outbox, at: moment)
      }
      engine.finished(
        offered: job.hasOffer, applied: applied, batch: outcome.batch, outbox: outcome.outbox)
      if case .switched(_, _, let position?) = result {
        engine.positionMovedBack(to: position)
        if case .asleep = rest { wake(at: moment) }
      }
      reportResult(result)
      if case .chunks(let found) = result, case .chunk(let purpose) = job.kind {
        chunkJobFinished(purpose, found, at: moment)
      }
      // Chunks whose status was applied by this job may be needed again.
      chunks.transfer.addNeeds(outcome.needs)
      if !outcome.changed.isEmpty { report(.changed(outcome.changed)) }
      if case .loaded = result { report(.ready(status(at: moment))) }
    }
  }

  private mutating func reportResult(_ result: ReplicaResult) {
    switch result {
    case .edited(let order, let edited):
      if case .success = edited { edits += 1 }
      report(.edited(order, edited))
    case .transacted(let order, let edited):
      if case .success(let records) = edited { edits += records.count }
      report(.transacted(order, edited))
    case .joined(let order, .success(let home)):
      if let identity = home.identity { report(.joined(order, .success(identity))) }
    case .joined(let order, .failure(let failure)): report(.joined(order, .failure(failure)))
    case .stateRead(let order, let state): report(.stateRead(order, .success(state)))
    case .answered(let order, let answer):
      if case .success = answer { edits += 1 }
      report(.answered(order, answer))
    case .switched(let order, let switched, _): report(.switched(order, switched))
    case .read(let order, let records): report(.read(order, .success(records)))
    case .loaded, .followed, .applied, .chunks, .done: break
    }
  }

  mutating func homeLoaded(
    _ found: LoadedHome, _ outbox: OutboxSummary, connects: Bool = true, at moment: Moment
  ) {
    let isFirst = home == nil
    home = found
    chunks.folder = chunks.folder ?? found.chunkFolder
    defer { handleEarlyChunkOrders(at: moment) }
    catchUpDeadline = moment.instant.advanced(milliseconds: Limits.catchUpMilliseconds)
    engine.loaded(
      found.position, outbox, applications: jobs.count { $0.isApplication },
      isOffering: jobs.contains { $0.hasOffer })
    if isFirst {
      clock.rememberedOffset = found.clockOffset.map { $0 - clock.wallSteps }
      lastSync = found.lastSync
    }
    failure = nil
    guard let identity = found.identity else {
      failure = localized("this home has not joined an account; join one first")
      return
    }
    guard let relay = RelayAddress(url: identity.relay) else {
      failure = "\(identity.relay) is not an address of the form https://HOST:PORT; join again"
      return
    }
    credentials = HomeCredentials(
      relay: relay, account: identity.credentials.account, device: identity.credentials.device,
      token: identity.credentials.token)
    startChunks(at: moment)
    if connects { connect(at: moment) }
  }

  /// Minimum wait after a failure of the store.
  private static let storeRetryMilliseconds: Int64 = 1_000

  /// Reports an edit that could not be written; nothing else changes. If sync itself cannot write,
  /// it stops, and restarts from the content of the store.
  private mutating func handleStoreFailure(
    _ error: StorageError, _ job: PendingJob, at moment: Moment
  ) {
    switch job.kind {
    case .order(let id): report(.edited(id, .failure(.storage(error))))
    case .transacting(let id): report(.transacted(id, .failure(.storage(error))))
    case .joining(let id): report(.joined(id, .failure(.storage(error))))
    case .readingState(let id): report(.stateRead(id, .failure(error)))
    case .answered(let id): report(.answered(id, .failure(.storage(error))))
    case .switching(let id): report(.switched(id, .failure(.storage(error))))
    case .read(let id): report(.read(id, .failure(error)))
    case .chunk(let purpose): chunkJobFailed(purpose, error, at: moment)
    case .dueEdits:
      dueEditsDeferredUntil = moment.instant.advanced(milliseconds: Agent.storeRetryMilliseconds)
    case .load, .following, .sync, .note: break
    }
    let isSync =
      switch job.kind {
      case .load, .following, .sync: true
      case .chunk(let purpose): job.hasOffer || purpose.unblocksChanges
      case .order, .transacting, .joining, .readingState, .answered, .read, .dueEdits, .note,
        .switching:
        job.hasOffer
      }
    guard isSync else { return }
    report(.storeFailed(error))
    disconnect(because: error.description, at: moment)
    failure = error.description
    let delay = backoff.next(random: &random)
    deadlines.set(
      .retry, moment.instant.advanced(milliseconds: max(delay, Agent.storeRetryMilliseconds)))
  }

  // MARK: manual sync

  private mutating func syncNow(_ id: OrderID, at moment: Moment) {
    guard !isStopping, isNetworkOn else { return report(.synced(id, status(at: moment))) }
    let deadline = moment.instant.advanced(milliseconds: configuration.syncMilliseconds)
    syncOrders.append(SyncOrder(id: id, deadline: deadline))
    deadlines.set(.sync, min(deadline, deadlines[.sync] ?? deadline))
    engine.tryEverything()
    retryChunks(at: moment)
    scheduleChunkCheck(at: moment)
    transportSelector.probeSoon(at: moment.instant)
    guard uplink == nil else { return }
    backoff.reset()
    retry(at: moment)
  }

  mutating func completeSyncOrders(at moment: Moment) {
    let isDone = engine.isSettled || failure != nil
    guard isDone, home != nil, !syncOrders.isEmpty, !jobs.contains(where: { $0.kind == .load })
    else { return }
    endSyncOrders(at: moment)
  }

  /// Reports the present status to all waiting orders.
  mutating func endSyncOrders(at moment: Moment) {
    guard !syncOrders.isEmpty else { return }
    let ended = syncOrders
    syncOrders = []
    deadlines.clear(.sync)
    let status = status(at: moment)
    for order in ended { report(.synced(order.id, status)) }
  }

  mutating func expireSyncOrders(at moment: Moment) {
    let status = status(at: moment)
    for order in syncOrders where order.deadline <= moment.instant {
      report(.synced(order.id, status))
    }
    syncOrders.removeAll { $0.deadline <= moment.instant }
    if let next = syncOrders.map(\.deadline).min() { deadlines.set(.sync, next) }
  }

  // MARK: shutdown

  mutating func stop() {
    guard !isStopping else { return }
    isStopping = true
    let position = cursor
    uplink?.close(at: position, &output)
    probe?.close(&probeOutput)
    uplink = nil
    probe = nil
    engine.offline()
    stopChunks()
    for kind in AgentDeadlines.Kind.allCases { deadlines.clear(kind) }
  }

  mutating func finishStopping() {
    guard isStopping, !hasStopped, jobs.isEmpty, chunks.jobs.isEmpty else { return }
    hasStopped = true
    report(.stopped)
  }
}
