import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Requests to the store, and handling of its results.
extension RelayNode {
  /// Starts the reads of pages that are due, except those whose connection is gone.
  mutating func startDuePageReads() {
    while let (id, job) = services.pages.next(at: services.moment.instant) {
      let connection = services.queue.connection(ofRead: id)
      let slot = connection.flatMap { connections.slot(of: $0) }
      let isWanted = connection == nil || slot != nil
      var holder = Admission.Holder.anybody
      if let slot { holder = self.holder(of: slot) }
      if isWanted, services.admission.hasRoom(for: holder) {
        services.actions.append(.run(id, .reads, job))
        continue
      }
      services.pages.finishRead(id, nanoseconds: 0, at: services.moment.instant)
      if isWanted {
        handleRead(id, .failure(services.admission.refusal(of: holder)))
      } else {
        services.queue.cancelRead(id)
      }
    }
    services.schedulePageReads()
  }

  mutating func handleOutcome(_ job: JobID, _ outcome: StoreOutcome) {
    var nanoseconds: Int64 = 0
    if case .page(let page) = outcome { nanoseconds = page.nanoseconds }
    services.pages.finishRead(job, nanoseconds: nanoseconds, at: services.moment.instant)
    switch outcome {
    case .committed(let result): handleCommitOutcome(job, result)
    case .read(.success(let result)):
      if services.queue.isReading(job) {
        services.recordReadSuccess()
        handleRead(job, result.orRefusal)
      }
    case .read(.failure(let error)):
      if services.queue.isReading(job) {
        services.recordReadFailure(error)
        handleRead(job, .failure(StoreHealth.unavailable))
      }
    case .page(let page):
      if let pending = services.queue.removePage(job) {
        services.recordReadSuccess()
        services.countPage(page)
        handlePage(pending, .success(page))
      }
    case .pageFile(let result):
      if let id = services.queue.removeOwnPage(job) { handlePageFile(id, result) }
    case .chunk(let result):
      if let pending = services.queue.removeFileRequest(job) { handleFileResult(pending, result) }
    }
    startDuePageReads()
  }

  private mutating func handleCommitOutcome(
    _ job: JobID, _ outcome: Result<CommitResult, StorageError>
  ) {
    var rest: CommitRequest?
    if case .success(let result) = outcome {
      rest = services.queue.nextPortion(of: job, after: result)
    }
    guard let pending = services.queue.removeCommit(job) else { return }
    switch outcome {
    case .success(let result):
      services.status.commits += 1
      // Queued after the commits that came meanwhile. The client is answered when all is done.
      if let rest {
        durableAt = nil
        if !services.submitCommit(rest, for: pending) {
          handleCommitResult(pending, .failure(StoreQueue.overloaded))
        }
        return
      }
      services.recordCommitSuccess()
      handleCommitResult(pending, result.orRefusal)
    case .failure(let error):
      services.recordCommitFailure(error)
      handleCommitResult(pending, .failure(StoreHealth.unavailable))
    }
  }

  private mutating func handleFileResult(
    _ pending: PendingFileRequest, _ outcome: Result<ChunkResult, StorageError>
  ) {
    let result: Result<ChunkResult, Refusal>
    switch outcome {
    case .success(let done): result = done.orRefusal
    case .failure(let error):
      services.recordFileFailure(error)
      result = .failure(StoreHealth.unavailable)
    }
    switch pending {
    case .upload(let id, let file): handleUploadStep(id, file, result)
    case .download(let id, let file): handleChunkRead(id, file, result)
    case .sweep: services.handleSweepList(result)
    case .removal(let files): if case .failure = result { services.keepLeftover(files) }
    }
  }

  private mutating func handleCommitResult(
    _ pending: PendingCommit, _ result: consuming Result<CommitResult, Refusal>
  ) {
    if case .success(.saved(var saved)) = result {
      services.status.conflicts += saved.answer.results.count(where: \.isConflict)
      if let receivedAt = arrivalTime(of: pending), let durableAt, durableAt >= receivedAt {
        saved.answer.timing = services.timing(receivedAt: receivedAt, durableAt: durableAt)
        result = .success(.saved(saved))
      }
    }
    durableAt = nil
    switch pending {
    case .call(let id, let response): handleCallCommit(id, response, result)
    case .socketSave(let id, let batch, let bytes, _):
      handleSaveResult(id, batch, bytes: bytes, result)
    case .sightings, .missingReport: break
    case .storeProbe: if services.health.fault != nil { services.scheduleStoreProbe() }
    case .addChunk(let id, let file): handleChunkAdded(id, file, result)
    case .confirmation(let last): services.handleConfirmation(through: last, result)
    case .collection: services.handleCollection(result)
    }
  }

  /// Returns the arrival time of a save whose answer reports its times; nil for everything else.
  private func arrivalTime(of pending: PendingCommit) -> Instant? {
    if case .socketSave(_, _, _, let instant) = pending { return instant }
    guard case .call(let id, .saved(_, timed: true)) = pending,
      let slot = connections.slot(of: id)
    else { return nil }
    return connections[slot].http.exchange?.value.begunAt
  }

  /// Handles the result of a read that is not an encoded page: if a page was requested, the reason
  /// for which there is none.
  private mutating func handleRead(_ job: JobID, _ result: Result<ReadResult, Refusal>) {
    if let pending = services.queue.removePage(job) {
      handlePage(pending, result.flatMap { _ in .failure(StoreHealth.mismatch) })
      return
    }
    guard let pending = services.queue.removeRead(job) else { return }
    switch pending {
    case .call(let id, let response): handleCallRead(id, response, result)
    case .signIn(let id, let tokenHash, let membershipChanges, let commits):
      handleSignInRead(
        id, tokenHash: tokenHash, membershipChanges: membershipChanges, commits: commits, result)
    case .welcome(let id): handleWelcomeRead(id, result)
    case .sweepCheck(let files): services.handleSweepCheck(files, result)
    case .remoteCommit(let account, let since): handleRemoteRead(account, since: since, result)
    case .accountVersions(let accounts): handleVersionsRead(accounts, result)
    case .membership(let account, let device): handleMembershipRead(account, device, result)
    }
  }

  private mutating func handlePage(_ pending: PendingPage, _ page: Result<ReadPage, Refusal>) {
    switch pending {
    case .call(let id, let response): handleCallPage(id, response, page)
    case .catchUp(let id, let since): handleCatchUpRead(id, since: since, page)
    case .backlog(let id, let since): handleBacklogRead(id, since: since, page)
    case .socketFetch(let id, let request, let ofWholeAccount):
      handleFetchRead(id, request: request, ofWholeAccount: ofWholeAccount, page)
    }
  }

  // MARK: calls

  private mutating func handleCallCommit(
    _ id: ConnectionID, _ response: CommitResponse, _ result: Result<CommitResult, Refusal>
  ) {
    services.reportCommit(response, result)
    var result = result
    if case .joined(_, _, let address) = response {
      result = services.checkGuess(result, from: address)
    }
    if case .owner(.removed(let account)) = response, case .success = result {
      services.removeFiles(of: account)
    }
    guard let slot = connections.slot(of: id) else { return }
    if case .renamed(let device) = response, case .success = result,
      let session = connections[slot].session
    {
      if !services.submitRead(.devices(session.account), for: .call(id, .device(device))) {
        answer(slot, Answer(StoreQueue.overloaded))
      }
    } else if case .written(let key, let isDelete) = response,
      case .success(.saved(let outcome)) = result
    {
      answerWrite(slot, of: key, outcome, isDelete: isDelete)
    } else {
      do throws(Refusal) {
        answer(slot, try response.answer(to: try result.get()))
      } catch {
        answer(slot, Answer(error))
      }
    }
    processInput(slot)
  }

  /// Answers a `PUT` or `DELETE` of one record.
  private mutating func answerWrite(
    _ slot: Hub.Slot, of key: RecordKey, _ outcome: SaveOutcome, isDelete: Bool
  ) {
    do throws(Refusal) {
      if let written = try Answer(writing: outcome, isDelete: isDelete) {
        answer(slot, written)
        return
      }
      guard let session = connections[slot].session else { throw RelayServices.notSignedIn }
      let isSubmitted = services.submitRead(
        .record(session.account, key),
        for: .call(connections[slot].id, .record(ifNoneMatch: [])))
      if !isSubmitted { throw StoreQueue.overloaded }
    } catch {
      answer(slot, Answer(error))
    }
  }

  private mutating func handleCallRead(
    _ id: ConnectionID, _ response: ReadResponse, _ result: Result<ReadResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    do throws(Refusal) {
      let result = try result.get()
      switch (response, result) {
      case (.events, .token(let newest)): beginStream(slot, at: newest)
      case (.devices, .devices(let devices)):
        guard let session = connections[slot].session else { throw RelayServices.notSignedIn }
        let list = devices.map {
          services.presence.completed($0, of: session.account, wall: services.moment.wall)
        }
        answer(slot, Answer(status: 200, json: DeviceList(list).encodedBody()))
      case (.device(let id), .devices(let devices)):
        guard let device = devices.first(where: { $0.id == id }) else {
          throw StoreRefusals.unknownDevice
        }
        guard let session = connections[slot].session else { throw RelayServices.notSignedIn }
        let body = services.presence.completed(
          device, of: session.account, wall: services.moment.wall
        ).encodedBody()
        answer(slot, Answer(status: 200, json: body))
      case (.chunk(let fetch), .chunk(let chunk)), (.owner(.chunk(let fetch)), .chunk(let chunk)):
        try beginDownload(slot, fetch, chunk)
      case (.owner(let response), let result):
        let (presence, wall) = (services.presence, services.moment.wall)
        let answer = try response.answer(to: result) { device, account in
          presence.completed(device, of: account, wall: wall)
        }
        self.answer(slot, answer)
      default: answer(slot, try response.answer(showing: result))
      }
    } catch {
      answer(slot, Answer(error))
    }
    processInput(slot)
  }

  private mutating func handleCallPage(
    _ id: ConnectionID, _ response: PageResponse, _ result: Result<ReadPage, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    switch (response, result) {
    case (_, .failure(let refusal)): answer(slot, Answer(refusal))
    case (.changes(let query), .success(let page)): handlePollRead(slot, query, page)
    case (.events, .success(let page)): beginStream(slot, page)
    case (.recordList(let tags, _), .success(let page)):
      answer(slot, Answer(list: page, ifNoneMatch: tags))
    }
    processInput(slot)
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

extension ReadResult {
  fileprivate var orRefusal: Result<ReadResult, Refusal> {
    if case .refused(let refusal) = self { return .failure(refusal) }
    return .success(self)
  }
}

/// Follows the changes of other relays on a shared store.
///
/// Other relays announce which account moved, and to which token, but not the changes. A node with
/// devices of the account reads the changes once for all of them, and sends them like a commit of
/// its own. An announcement may be lost; so a node also asks the store, every few seconds, for the
/// tokens of its devices' accounts.
extension RelayNode {
  /// Handles a commit of this relay. If earlier commits were not announced here, all changes are
  /// read: a device whose filter matches one of them, but not this commit, must not be skipped. All
  /// changes are also read if polls wait: their answer must be as new as what other relays had
  /// announced when they came, and that may follow this commit.
  mutating func handleOwnCommit(_ change: AccountChange) {
    guard let watchers = services.hub.watchers(of: change.account) else {
      return pushChange(change)
    }
    let isNext = watchers.newest == change.since && !services.peerRelays.isReading(change.account)
    if isNext && watchers.polls.isEmpty {
      pushChange(change)
    } else {
      handleRemoteCommit(change.account, to: change.token)
    }
  }

  /// Handles the announcement that another relay moved the account to `token`.
  mutating func handleRemoteCommit(_ account: AccountID, to token: ChangeToken) {
    services.commits.recordChange(account)
    guard let watchers = services.hub.watchers(of: account) else { return }
    if let newest = watchers.newest, newest.covers(token) { return }
    guard let since = watchers.newest, services.hub.watcherCount(of: account) > 0 else {
      // No connection needs the changes.
      announceToken(account, token)
      return
    }
    if services.peerRelays.isReading(account, upTo: token) { return }
    let request = ReadRequest.changes(account, since: since, zone: nil, limit: Limits.batchRecords)
    // If there is no room, the next check finds it again.
    if services.admission.hasRoom(for: .anybody),
      services.submitRead(request, for: .remoteCommit(account, since: since))
    {
      services.peerRelays.begin(account, upTo: token)
    }
  }

  /// Handles the changes that were read from the store.
  mutating func handleRemoteRead(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>
  ) {
    guard let (newest, lastPoll) = services.peerRelays.end(account) else { return }
    switch result {
    case .success(.page(let page)):
      // Otherwise all connections left meanwhile, and another one came.
      guard services.hub.newest(of: account) == since else { return }
      // If the store has nothing new, it has not come so far; the next check finds it.
      guard page.token != since else { return }
      pushChange(AccountChange(account, page), lastPoll: lastPoll)
      handleRemoteCommit(account, to: newest)
    case .failure(let refusal) where refusal.code.advice == .fetchFirst:
      // An older store was restored, or tombstones are forgotten: each device fetches.
      announceToken(account, newest)
    // The next check asks again.
    case .success, .failure: break
    }
  }

  /// Announces that the account moved, without the changes.
  private mutating func announceToken(_ account: AccountID, _ token: ChangeToken) {
    if let newest = services.hub.newest(of: account), newest.covers(token) { return }
    pushChange(AccountChange(account: account, zone: nil, origin: nil, since: token, token: token))
  }

  // MARK: pages that match no filter

  /// True if pages may be withheld from the connection's device. If a device came before a commit
  /// of another relay was announced here, that commit is sent to it together with changes that it
  /// has already read; only the page that is read for the device itself shows if its filter
  /// matches.
  func mayWithholdPages(_ slot: Hub.Slot) -> Bool {
    guard services.configuration.sharesStore, let session = connections[slot].session else {
      return false
    }
    return services.hub.filter(of: session.device, session.account) != nil
  }

  /// True if the page, the next one of that chain, is withheld.
  func withholds(_ slot: Hub.Slot, _ page: ReadPage, _ chain: CursorChain?) -> Bool {
    mayWithholdPages(slot) && chain?.mayWithholdPage == true && !page.more && !page.records.isEmpty
      && !matchesFilter(slot, page.records)
  }

  // MARK: devices, plans, subscriptions

  /// Asks the store for the state of the account's devices here, because another relay changed
  /// something of the account.
  mutating func rereadMembership(of account: AccountID) {
    services.membershipChanges.recordChange(account)
    var requested: [DeviceID] = []
    for slot in members(of: account) {
      guard let session = connections[slot].session, !requested.contains(session.device) else {
        continue
      }
      requested.append(session.device)
      let request = ReadRequest.authenticate(tokenHash: session.tokenHash)
      if !services.submitRead(request, for: .membership(account, session.device)) {
        services.hub.invalidateMembership(of: account)
      }
    }
  }

  mutating func handleMembershipRead(
    _ account: AccountID, _ device: DeviceID, _ result: Result<ReadResult, Refusal>
  ) {
    switch result {
    case .success(.principal(let principal)):
      let isOther = members(of: account).contains {
        connections[$0].session?.plan != principal.plan
      }
      if isOther { applyPlan(account, principal.plan) }
      if services.hub.filter(of: device, account) != SubscriptionFilter(principal.subscriptions) {
        applySubscriptions(account, device, principal.subscriptions)
      }
    case .failure(let refusal) where refusal.code == .badToken:
      handleRevocation(account, device, by: nil)
    // The next check of the account's `membershipVersion` asks again.
    case .success, .failure: services.hub.invalidateMembership(of: account)
    }
  }

  // MARK: lost announcements

  /// Starts the checks of an account whose device signed in. `membershipVersion`: from the store.
  mutating func beginVersionChecks(at account: AccountID, membershipVersion: Int64) {
    guard services.configuration.sharesStore else { return }
    if services.hub.recordMembership(account, version: membershipVersion) {
      rereadMembership(of: account)
    }
    if services.peerRelays.check == .none { scheduleVersionCheck() }
  }

  /// Asks the store for the accounts' tokens, a part of them at a time.
  mutating func checkAccountVersions() {
    guard services.configuration.sharesStore, services.stage == .running,
      services.peerRelays.check != .underWay
    else {
      return
    }
    continueVersionCheck(from: 0)
  }

  private mutating func continueVersionCheck(from index: Int) {
    let (accounts, next) = services.hub.accounts(from: index, limit: Limits.versionCheckAccounts)
    services.peerRelays.nextIndex = next
    if !accounts.isEmpty,
      services.submitRead(.accountVersions(accounts), for: .accountVersions(accounts))
    {
      services.peerRelays.check = .underWay
    } else {
      scheduleVersionCheck()
    }
  }

  mutating func handleVersionsRead(_ accounts: [AccountID], _ result: Result<ReadResult, Refusal>) {
    guard case .success(.accountVersions(let versions)) = result else {
      scheduleVersionCheck()
      return
    }
    var gone = Set(accounts)
    for version in versions {
      gone.remove(version.account)
      let newest = services.hub.newest(of: version.account)
      if services.peerRelays.isBehind(version.account, newest, storeAt: version.token) {
        handleRollback(version.account, to: version.token)
      }
      handleRemoteCommit(version.account, to: version.token)
      if services.hub.recordMembership(version.account, version: version.membershipVersion) {
        rereadMembership(of: version.account)
      }
    }
    for account in accounts where gone.contains(account) { handleAccountRemoval(account) }
    if let index = services.peerRelays.nextIndex {
      continueVersionCheck(from: index)
    } else {
      scheduleVersionCheck()
    }
  }

  /// Handles a store that was set back behind this relay. Connected devices reconnect, and learn by
  /// their own tokens what is lost.
  private mutating func handleRollback(_ account: AccountID, to token: ChangeToken) {
    services.commits.recordChange(account)
    services.hub.recordCommit(account, to: token)
    for slot in members(of: account) { endIfIdle(slot) }
  }

  /// Schedules the next check. Without accounts there is none: the next sign-in starts it.
  private mutating func scheduleVersionCheck() {
    guard services.hub.accountCount > 0, services.stage == .running else {
      services.peerRelays.check = .none
      return
    }
    services.peerRelays.check = .planned
    services.timers.schedule(
      .versionCheck,
      at: services.moment.instant.advanced(milliseconds: Limits.versionCheckMilliseconds))
  }
}

extension AccountChange {
  /// Creates a change from the page of another relay's changes. The store does not report if a
  /// record was created or updated, so a filter for either matches.
  fileprivate init(_ account: AccountID, _ page: ChangePage) {
    self.init(
      account: account, zone: page.changes.onlyZone, origin: nil, since: page.since ?? page.token,
      token: page.token, records: page.changes,
      events: page.changes.map { $0.isDeleted ? .delete : [.create, .update] })
  }
}

extension [Record] {
  /// The zone of all records; nil if they are of several zones, or if there are none.
  fileprivate var onlyZone: Name? {
    guard let zone = first?.zone, allSatisfy({ $0.zone == zone }) else { return nil }
    return zone
  }
}
