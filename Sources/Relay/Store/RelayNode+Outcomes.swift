import LockstepModel
import LockstepStorage
import LockstepWire

/// Requests to the store, and handling of its results.
extension RelayNode {
  /// Sends a request to the store. Returns false if too many are pending.
  mutating func ask(_ job: StoreJob, for pendingRequest: PendingRequest) -> Bool {
    guard let id = queue.add(pendingRequest) else { return false }
    let lane: Lane
    switch job {
    case .commit(let request, _):
      if request.hasPortions { queue.note(request, as: id) }
      lane = .commits
      pages.sawCommit(job, at: moment.instant)
    case .page, .read(.changes):
      guard pages.admits(id, job, at: moment.instant) else {
        planPages()
        return true
      }
      lane = .reads
    case .read: lane = .reads
    case .chunk: lane = .files
    }
    actions.append(.run(id, lane, job))
    return true
  }

  /// Requests a commit for the waiting connection. Returns false if too many requests are pending.
  mutating func askCommit(_ request: CommitRequest, for pendingRequest: PendingRequest) -> Bool {
    let origin = CommitOrigin(node: configuration.node, connection: pendingRequest.connection)
    if case .save(let taken) = request, taken.unlessKnown == nil, isDiskLow() {
      var save = taken
      if taken.request.mutations.allSatisfy(\.isDelete) {
        save.unlessDeleting = StoreHealth.diskLow
      } else {
        save.unlessKnown = StoreHealth.diskLow
      }
      return ask(.commit(.save(save), by: origin), for: pendingRequest)
    }
    return ask(.commit(request, by: origin), for: pendingRequest)
  }

  /// Returns true while the store's disk has less room than its owner wants. The disk is checked at
  /// intervals, when new data comes.
  mutating func isDiskLow() -> Bool {
    guard configuration.diskFloorBytes > 0, health.looksAtDisk(at: moment.instant) else {
      return health.isDiskLow
    }
    guard let free = measures.read().freeBytes else { return false }
    let isLow = free < configuration.diskFloorBytes
    if health.found(isDiskLow: isLow) { actions.append(.report(.disk(isLow: isLow, free: free))) }
    return isLow
  }

  /// Requests a page of changes. Returns false without memory for it, or if too many are pending.
  mutating func askPage(
    _ session: Session, _ query: FetchQuery, as form: PageForm, for pendingRequest: PendingRequest
  ) -> Bool {
    admission.hasRoom(for: .account(session.account))
      && ask(.page(session.read(of: query), as: form), for: pendingRequest)
  }

  /// Starts the reads of pages that are due, except those whose connection is gone.
  mutating func passPages() {
    while let (id, job) = pages.next(at: moment.instant) {
      let connection = queue.connection(of: id)
      let slot = connection.flatMap { connections.slot(of: $0) }
      let isWanted = connection == nil || slot != nil
      var holder = Admission.Holder.anybody
      if let slot { holder = self.holder(of: slot) }
      if isWanted, admission.hasRoom(for: holder) {
        actions.append(.run(id, .reads, job))
        continue
      }
      pages.ended(id, nanoseconds: 0, at: moment.instant)
      guard let pendingRequest = queue.take(id), isWanted else { continue }
      hasRead(pendingRequest, .failure(admission.refusal(of: holder)))
    }
    planPages()
  }

  /// Schedules the next check for deferred pages.
  private mutating func planPages() {
    if let instant = pages.nextAt { timers.schedule(.pages, at: instant) }
  }

  mutating func finished(_ job: JobID, _ outcome: StoreOutcome) {
    var nanoseconds: Int64 = 0
    if case .page(let page) = outcome { nanoseconds = page.nanoseconds }
    pages.ended(job, nanoseconds: nanoseconds, at: moment.instant)
    finish(job, outcome)
    passPages()
  }

  private mutating func finish(_ job: JobID, _ outcome: StoreOutcome) {
    var rest: CommitRequest?
    if case .committed(.success(let result)) = outcome { rest = queue.rest(of: job, after: result) }
    guard let pendingRequest = queue.take(job) else { return }
    switch outcome {
    case .committed(.success(let result)):
      status.commits += 1
      // Queued after the commits that came meanwhile. The client is answered when all is done.
      if let rest {
        durableAt = nil
        if !askCommit(rest, for: pendingRequest) {
          committed(pendingRequest, .failure(CommitQueue.overloaded))
        }
        return
      }
      if health.commitWorked() { actions.append(.report(.storeRecovered)) }
      removeLeftovers()
      committed(pendingRequest, result.orRefusal)
    case .committed(.failure(let error)):
      status.storeFailures += 1
      if health.commitFailed(error) { storeFailed(error) }
      committed(pendingRequest, .failure(StoreHealth.unavailable))
    case .read(.success(let result)):
      if health.readWorked() { actions.append(.report(.storeRecovered)) }
      hasRead(pendingRequest, result.orRefusal)
    case .page(let page):
      if health.readWorked() { actions.append(.report(.storeRecovered)) }
      hasRead(pendingRequest, page)
    case .read(.failure(let error)):
      status.storeFailures += 1
      if health.readFailed(error) { storeFailed(error) }
      hasRead(pendingRequest, .failure(StoreHealth.unavailable))
    case .chunk(.success(let result)): filesAnswered(pendingRequest, result.orRefusal)
    case .chunk(.failure(let error)):
      status.storeFailures += 1
      if health.filesFailed(error) { actions.append(.report(.storeFailed(error))) }
      filesAnswered(pendingRequest, .failure(StoreHealth.unavailable))
    }
  }

  private mutating func filesAnswered(
    _ pendingRequest: PendingRequest, _ result: Result<ChunkResult, Refusal>
  ) {
    switch pendingRequest {
    case .upload(let id, let file): uploadStepDone(id, file, result)
    case .download(let id, let file): chunkRead(id, file, result)
    case .sweep: sweepListed(result)
    case .removal(let files): if case .failure = result { keepLeftover(files) }
    case .call, .signIn, .welcome, .catchUp, .backlog, .socketFetch, .socketSave, .sightings,
      .storeProbe, .addChunk, .sweepCheck, .vouching, .doubting, .collection, .remoteCommit,
      .movements, .standing:
      preconditionFailure("the store was answered by the files")
    }
  }

  private mutating func committed(
    _ pendingRequest: PendingRequest, _ result: consuming Result<CommitResult, Refusal>
  ) {
    if case .success(.saved(var saved)) = result {
      status.conflicts += saved.answer.results.count(where: \.isConflict)
      if let receivedAt = timedFrom(pendingRequest), let durableAt, durableAt >= receivedAt {
        saved.answer.timing = timing(receivedAt: receivedAt, durableAt: durableAt)
        result = .success(.saved(saved))
      }
    }
    durableAt = nil
    switch pendingRequest {
    case .call(let id, let continuation): callCommitted(id, continuation, result)
    case .socketSave(let id, let batch, let bytes, _): socketSaved(id, batch, bytes: bytes, result)
    case .sightings, .doubting: break
    case .storeProbe: if health.fault != nil { planStoreTrial() }
    case .addChunk(let id, let file): chunkAdded(id, file, result)
    case .vouching(let last): vouched(through: last, result)
    case .collection: collected(result)
    case .signIn, .welcome, .catchUp, .backlog, .socketFetch, .upload, .download, .removal, .sweep,
      .sweepCheck, .remoteCommit, .movements, .standing:
      preconditionFailure("a read was answered as a commit")
    }
  }

  /// Returns the arrival time of a save whose answer reports its times; nil for everything else.
  private func timedFrom(_ pendingRequest: PendingRequest) -> Instant? {
    if case .socketSave(_, _, _, let instant) = pendingRequest { return instant }
    guard case .call(let id, .saved(_, timed: true)) = pendingRequest,
      let slot = connections.slot(of: id)
    else { return nil }
    return connections[slot].http.exchange?.value.begunAt
  }

  /// Converts times of the monotonic clock to relay time. The clock is read once a turn, so a
  /// change may seem durable slightly after it was sent.
  private func timing(receivedAt: Instant, durableAt: Instant) -> SaveTiming {
    func relayTime(_ instant: Instant) -> Int64 {
      moment.wall * 1_000 + (instant.nanoseconds - moment.instant.nanoseconds) / 1_000
    }
    return SaveTiming(
      received: relayTime(receivedAt), durable: relayTime(durableAt),
      pushed: relayTime(max(durableAt, moment.instant)))
  }

  private mutating func hasRead(
    _ pendingRequest: PendingRequest, _ result: Result<ReadResult, Refusal>
  ) {
    switch pendingRequest {
    case .call(let id, let continuation): callHasRead(id, continuation, result)
    case .signIn(let id, let tokenHash, let standings, let commits):
      signInAnswered(id, tokenHash: tokenHash, standings: standings, commits: commits, result)
    case .welcome(let id): welcomed(id, result)
    case .catchUp(let id, let since): caughtUp(id, since: since, result.withoutPage)
    case .backlog(let id, let since): backlogRead(id, since: since, result.withoutPage)
    case .socketFetch(let id, let request, let ofWholeAccount):
      socketFetched(id, request: request, ofWholeAccount: ofWholeAccount, result.withoutPage)
    case .sweepCheck(let files): sweepChecked(files, result)
    case .remoteCommit(let account, let since): readElsewhere(account, since: since, result)
    case .movements(let accounts): movementsRead(accounts, result)
    case .standing(let account, let device): standingRead(account, device, result)
    case .socketSave, .sightings, .storeProbe, .upload, .addChunk, .download, .removal, .sweep,
      .vouching, .doubting, .collection:
      preconditionFailure("a commit was answered as a read")
    }
  }

  private mutating func hasRead(_ pendingRequest: PendingRequest, _ page: ReadPage) {
    if page.since == nil {
      status.snapshots += 1
    } else if !page.isEmpty {
      status.deltas += 1
    }
    switch pendingRequest {
    case .call(let id, let continuation): callHasRead(id, continuation, page)
    case .catchUp(let id, let since): caughtUp(id, since: since, .success(page))
    case .backlog(let id, let since): backlogRead(id, since: since, .success(page))
    case .socketFetch(let id, let request, let ofWholeAccount):
      socketFetched(id, request: request, ofWholeAccount: ofWholeAccount, .success(page))
    case .signIn, .welcome, .socketSave, .sightings, .storeProbe, .upload, .addChunk, .download,
      .removal, .sweep, .sweepCheck, .vouching, .doubting, .collection, .remoteCommit, .movements,
      .standing:
      preconditionFailure("a page answers what asked for none")
    }
  }

  // MARK: store failures

  private mutating func storeFailed(_ error: StorageError) {
    actions.append(.report(.storeFailed(error)))
    planStoreTrial()
  }

  /// Detects a fault of the store's files if there are no saves.
  mutating func askFiles() {
    guard health.fault == nil, let fault = measures.fault() else { return }
    status.storeFailures += 1
    if health.commitFailed(fault) { storeFailed(fault) }
  }

  private mutating func planStoreTrial() {
    guard stage == .running else { return }
    timers.schedule(
      .storeProbe, at: moment.instant.advanced(milliseconds: Limits.storeTrialMilliseconds))
  }

  /// Tests if the store works again. The relay must find out by itself: a load balancer that sends
  /// devices only to ready relays would never send the one that shows it.
  mutating func tryStore() {
    guard health.fault != nil, stage == .running else { return }
    if !askCommit(.checkWritable, for: .storeProbe) { planStoreTrial() }
  }

  // MARK: calls

  private mutating func callCommitted(
    _ id: ConnectionID, _ continuation: ResponseBuilder, _ result: Result<CommitResult, Refusal>
  ) {
    report(continuation, result)
    var result = result
    if case .joined(_, _, let address) = continuation {
      result = judgedGuess(result, from: address)
    }
    if case .owner(.removed(let account)) = continuation, case .success = result {
      removeFiles(of: account)
    }
    guard let slot = connections.slot(of: id) else { return }
    if case .renamed(let device) = continuation, case .success = result,
      let session = connections[slot].session
    {
      if !ask(.read(.devices(session.account)), for: .call(id, .device(device))) {
        answer(slot, Answer(CommitQueue.overloaded))
      }
    } else {
      do throws(Refusal) {
        answer(slot, try continuation.answer(to: try result.get()))
      } catch {
        answer(slot, Answer(error))
      }
    }
    read(slot)
  }

  private mutating func callHasRead(
    _ id: ConnectionID, _ continuation: ResponseBuilder, _ result: Result<ReadResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    do throws(Refusal) {
      let result = try result.get()
      switch (continuation, result) {
      case (.events, .token(let newest)): beginStream(slot, at: newest)
      case (.devices, .devices(let devices)):
        guard let session = connections[slot].session else { throw RelayNode.notSignedIn }
        let list = devices.map { presence.shown($0, of: session.account, wall: moment.wall) }
        answer(slot, Answer(status: 200, json: DeviceList(list).encodedBody()))
      case (.device(let id), .devices(let devices)):
        guard let device = devices.first(where: { $0.id == id }) else {
          throw StoreRefusals.unknownDevice
        }
        guard let session = connections[slot].session else { throw RelayNode.notSignedIn }
        let body = presence.shown(device, of: session.account, wall: moment.wall).encodedBody()
        answer(slot, Answer(status: 200, json: body))
      case (.chunk(let fetch), .chunk(let chunk)), (.owner(.chunk(let fetch)), .chunk(let chunk)):
        try beginDownload(slot, fetch, chunk)
      case (.owner(let continuation), let result):
        let (presence, wall) = (presence, moment.wall)
        let answer = try continuation.answer(to: result) { device, account in
          presence.shown(device, of: account, wall: wall)
        }
        self.answer(slot, answer)
      default: answer(slot, try continuation.answer(showing: result))
      }
    } catch {
      answer(slot, Answer(error))
    }
    read(slot)
  }

  private mutating func callHasRead(
    _ id: ConnectionID, _ continuation: ResponseBuilder, _ page: ReadPage
  ) {
    guard let slot = connections.slot(of: id) else { return }
    switch continuation {
    case .changes(let query): pageRead(slot, query, page)
    case .events: beginStream(slot, page)
    default: answer(slot, Answer(ResponseBuilder.mismatch))
    }
    read(slot)
  }

  /// Uncounts a guess unless the code was wrong; a wrong code over the limit is refused as that.
  /// Any other reason for a refusal is not a guess.
  private mutating func judgedGuess(
    _ result: Result<CommitResult, Refusal>, from address: PeerNetwork
  ) -> Result<CommitResult, Refusal> {
    if case .failure(let refusal) = result, refusal.code == .badPairingCode {
      guard let wait = admission.guesses.waitInAll(at: moment.instant) else { return result }
      return .failure(Admission.tooManyGuesses(wait))
    }
    admission.guesses.provedRight(from: address)
    actions.append(.tell(.pairingRight(address: address)))
    return result
  }

  private mutating func report(
    _ continuation: ResponseBuilder, _ result: Result<CommitResult, Refusal>
  ) {
    switch (continuation, result) {
    case (.account(let credentials), .success):
      actions.append(.report(.accountMade(credentials.account)))
    case (.owner(.made(let offer)), .success):
      actions.append(.report(.accountMade(offer.account)))
    case (.owner(.planned(let account, _)), .success):
      actions.append(.report(.planChanged(account)))
    case (.owner(.removed(let account)), .success):
      actions.append(.report(.accountRemoved(account)))
    case (.joined(let device, _, _), .success(.redeemed(let account))):
      actions.append(.report(.deviceJoined(account, device)))
    case (.revoked(let account, let device), .success):
      actions.append(.report(.deviceRevoked(account, device)))
    default: break
    }
  }
}

extension CommitResult {
  /// Returns a failure for a refusal.
  fileprivate var orRefusal: Result<CommitResult, Refusal> {
    if case .refused(let refusal) = self { return .failure(refusal) }
    return .success(self)
  }
}

extension ChunkResult {
  fileprivate var orRefusal: Result<ChunkResult, Refusal> {
    if case .refused(let refusal) = self { return .failure(refusal) }
    return .success(self)
  }
}

extension Result where Success == ReadResult, Failure == Refusal {
  /// Returns a failure in place of a page, because a page comes encoded.
  fileprivate var withoutPage: Result<ReadPage, Refusal> {
    flatMap { _ in .failure(ResponseBuilder.mismatch) }
  }
}

extension ReadResult {
  fileprivate var orRefusal: Result<ReadResult, Refusal> {
    if case .refused(let refusal) = self { return .failure(refusal) }
    return .success(self)
  }
}
