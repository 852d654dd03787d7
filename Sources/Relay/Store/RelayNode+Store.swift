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
      if let slot { holder = connections[slot].holder }
      if isWanted, services.admission.hasRoom(for: holder) {
        services.actions.append(.run(id, .read(job)))
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

  mutating func handleOutcome(_ job: JobID, _ outcome: consuming StoreOutcome) {
    switch consume outcome {
    case .commit(let result): handleCommitOutcome(job, result)
    case .read(let outcome): handleReadOutcome(job, outcome)
    case .file(.pageFile(let result)):
      if let id = services.queue.removeOwnPage(job), let slot = connections.slot(of: id) {
        connections[slot].handleOwnPage(result, &services)
        removeIfClosed(slot)
      }
    case .file(.chunk(let result)):
      if let pending = services.queue.removeFileRequest(job) { handleFileResult(pending, result) }
    }
    startDuePageReads()
  }

  private mutating func handleReadOutcome(_ job: JobID, _ outcome: consuming StoreReadOutcome) {
    services.pages.finishRead(
      job, nanoseconds: outcome.nanoseconds, at: services.moment.instant)
    switch consume outcome {
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
    case .dueWakes(let result):
      guard case .dueWakes(let query) = services.queue.removeRead(job) else { return }
      switch result {
      case .success(let found): services.handleDueWakes(query, .success(found))
      case .failure(let error):
        services.recordReadFailure(error)
        services.handleDueWakes(query, .failure(StoreHealth.unavailable))
      }
    case .page(let page):
      if let pending = services.queue.removePage(job) {
        services.recordReadSuccess()
        services.countPage(page)
        handlePage(pending, .success(page))
      }
    }
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
    case .upload(let id, let file):
      guard let slot = connections.slot(of: id) else { return }
      connections[slot].handleUploadStep(file, result, &services)
      removeIfClosed(slot)
    case .download(let id, let file):
      guard let slot = connections.slot(of: id) else { return }
      connections[slot].handleChunkRead(file, result, &services)
      removeIfClosed(slot)
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
    let slot = pending.connection.flatMap { connections.slot(of: $0) }
    // The answer comes after all changes before it.
    if let slot, !crowdPushes.isEmpty { serveCrowdPushes(to: slot) }
    switch pending {
    case .call(_, let response):
      let result = services.handleCallCommit(response, result)
      if let slot { connections[slot].handleCallCommit(response, result, &services) }
    case .socketSave(_, let account, let batch, let bytes, _):
      services.hub.endSave(account)
      if let slot { connections[slot].handleSaveResult(batch, bytes: bytes, result, &services) }
    case .addChunk(_, let file):
      services.handleChunkAdded(file, result)
      if let slot { connections[slot].handleChunkAdded(result, &services) }
    case .sightings(let sightings):
      if case .failure = result { services.recordFailure(of: sightings) }
    case .missingReport, .wakeReport: break
    case .wakeClaim: services.handleWakeClaim(result)
    case .storeProbe: if services.health.fault != nil { services.scheduleStoreProbe() }
    case .confirmation(let last): services.handleConfirmation(through: last, result)
    case .collection: services.handleCollection(result)
    }
    if let slot { removeIfClosed(slot) }
  }

  /// Returns the arrival time of a save whose answer reports its times; nil for everything else.
  private func arrivalTime(of pending: PendingCommit) -> Instant? {
    if case .socketSave(_, _, _, _, let instant) = pending { return instant }
    guard case .call(let id, .saved(_, timed: true)) = pending,
      let slot = connections.slot(of: id)
    else { return nil }
    return connections[slot].requestBegunAt
  }

  /// Handles the result of a read that is not an encoded page: if a page was requested, the reason
  /// for which there is none.
  private mutating func handleRead(_ job: JobID, _ result: consuming Result<ReadResult, Refusal>) {
    if let pending = services.queue.removePage(job) {
      handlePage(pending, result.flatMap { _ in .failure(StoreHealth.mismatch) })
      return
    }
    guard let pending = services.queue.removeRead(job) else { return }
    switch pending {
    case .call(let id, let response):
      guard let slot = connections.slot(of: id) else { return }
      connections[slot].handleCallRead(response, result, &services)
      removeIfClosed(slot)
    case .signIn(let id, let tokenHash, let membershipChanges, let commits):
      handleSignInRead(
        id, tokenHash: tokenHash, membershipChanges: membershipChanges, commits: commits, result)
    case .welcome(let id):
      guard let slot = connections.slot(of: id) else { return }
      connections[slot].handleWelcomeRead(result, &services)
      removeIfClosed(slot)
    case .sweepCheck(let files): services.handleSweepCheck(files, result)
    case .remoteCommit(let account, let since): handleRemoteRead(account, since: since, result)
    case .accountVersions(let accounts, let left):
      handleVersionsRead(accounts, leaving: left, result)
    case .followAccounts(let accounts, let left): handleFollowing(accounts, leaving: left, result)
    case .membership(let account, let device): handleMembershipRead(account, device, result)
    case .dueWakes(let query):
      services.handleDueWakes(query, result.flatMap { _ in .failure(StoreHealth.mismatch) })
    case .eventLabel(let account, let event):
      var label = ""
      if case .success(.account(let summary)) = result { label = summary.label }
      services.actions.append(.report(.accountEvent(account, event, label: label)))
    }
  }

  private mutating func handlePage(_ pending: PendingPage, _ page: Result<ReadPage, Refusal>) {
    guard let slot = connections.slot(of: pending.connection) else { return }
    switch pending {
    case .call(_, let response): connections[slot].handleCallPage(response, page, &services)
    case .catchUp(_, let since):
      connections[slot].handleCatchUpRead(since: since, page, &services)
    case .backlog(_, let since):
      connections[slot].handleBacklogRead(since: since, page, &services)
    case .socketFetch(_, let request, let ofWholeAccount):
      connections[slot].handleFetchRead(
        request: request, ofWholeAccount: ofWholeAccount, page, &services)
    }
    removeIfClosed(slot)
  }

  /// Handles the store's answer about a token: its device, or a refusal. `membershipChanges`,
  /// `commits`: the counts of both logs when the request was sent.
  private mutating func handleSignInRead(
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
        connections[slot].refuseSignIn(StoreQueue.overloaded, &services)
        break
      }
      let session = Session(
        account: principal.account, device: principal.device, tokenHash: TokenHash(tokenHash),
        plan: principal.plan, scope: principal.scope)
      connections[slot].signIn(
        session, SubscriptionFilter(principal.subscriptions, zones: principal.scope.zones),
        newest: isNewest ? principal.newest : nil, hasWakes: principal.hasWakes, &services)
      removeIfClosed(slot)
      beginVersionChecks(at: principal.account, membershipVersion: principal.membershipVersion)
    case .success: connections[slot].refuseSignIn(StoreHealth.mismatch, &services)
    case .failure(let refusal): connections[slot].refuseSignIn(refusal, &services)
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

/// Applies what other relays on the same store have changed to the node's connections.
extension RelayNode {
  /// Handles a commit of this relay.
  mutating func handleOwnCommit(_ change: AccountChange) {
    if peerRelays.isComplete(change, services.hub) {
      pushChange(change)
    } else {
      handleRemoteCommit(change.account, to: change.token)
    }
  }

  /// Handles the announcement that another relay moved the account to `token`.
  mutating func handleRemoteCommit(_ account: AccountID, to token: ChangeToken) {
    if let change = peerRelays.handleAnnouncement(account, token, &services) { pushChange(change) }
  }

  /// Handles the changes that were read from the store.
  private mutating func handleRemoteRead(
    _ account: AccountID, since: ChangeToken, _ result: Result<ReadResult, Refusal>
  ) {
    guard let found = peerRelays.handleRead(account, since: since, result, services.hub) else {
      return peerRelays.hasten(&services)
    }
    pushChange(found.change, lastPoll: found.lastPoll)
    if let newest = found.newest { handleRemoteCommit(account, to: newest) }
  }

  // MARK: devices, plans, subscriptions

  /// Asks the store for the state of the account's devices here, because another relay changed
  /// something of the account.
  mutating func rereadMembership(of account: AccountID) {
    let sessions = members(of: account).compactMap { connections[$0].session }
    peerRelays.readMembership(of: account, sessions, &services)
  }

  private mutating func handleMembershipRead(
    _ account: AccountID, _ device: DeviceID, _ result: Result<ReadResult, Refusal>
  ) {
    switch result {
    case .success(.principal(let principal)):
      let isOther = members(of: account).contains {
        !connections[$0].hasPlan(principal.plan)
      }
      if isOther { applyPlan(account, principal.plan) }
      let filter = SubscriptionFilter(principal.subscriptions, zones: principal.scope.zones)
      if services.hub.filter(of: device, account) != filter {
        applySubscriptions(account, device, principal.subscriptions)
      }
      if principal.hasWakes {
        services.beginWakes(Presence.Key(account: account, device: device))
      }
    case .failure(let refusal) where refusal.code == .badToken:
      handleRevocation(account, device, by: nil)
    case .failure(let refusal) where refusal.code == .accountMoved:
      endSessions(of: account, refusal)
    // The next check of the account's `membershipVersion` asks again.
    case .success, .failure:
      services.hub.invalidateMembership(of: account)
      peerRelays.hasten(&services)
    }
  }

  // MARK: lost announcements

  /// Starts the checks of an account whose device signed in. `membershipVersion`: from the store.
  private mutating func beginVersionChecks(at account: AccountID, membershipVersion: Int64) {
    guard services.configuration.sharesStore else { return }
    if services.hub.recordMembership(account, version: membershipVersion) {
      rereadMembership(of: account)
    }
    peerRelays.follow(account, &services)
    peerRelays.beginChecks(&services)
  }

  /// Handles the versions of accounts that the node follows from now on.
  private mutating func handleFollowing(
    _ accounts: [AccountID], leaving left: [AccountID], _ result: Result<ReadResult, Refusal>
  ) {
    guard case .success(.accountVersions(let versions, let relays, let wasRegistered)) = result
    else { return peerRelays.endFollowing(accounts, leaving: left, isDone: false, &services) }
    peerRelays.compare(relays, &services)
    handleVersions(versions, of: accounts)
    peerRelays.endFollowing(accounts, leaving: left, isDone: true, &services)
    if !wasRegistered { peerRelays.handleForgottenRegistration(&services) }
  }

  private mutating func handleVersionsRead(
    _ accounts: [AccountID], leaving left: [AccountID], _ result: Result<ReadResult, Refusal>
  ) {
    guard case .success(.accountVersions(let versions, let relays, let wasRegistered)) = result
    else { return peerRelays.handleFailedCheck(leaving: left, &services) }
    peerRelays.compare(relays, &services)
    for version in versions where peerRelays.isBehind(version, services.hub) {
      handleRollback(version)
    }
    handleVersions(versions, of: accounts)
    peerRelays.continueCheck(&services)
    if !wasRegistered { peerRelays.handleForgottenRegistration(&services) }
  }

  /// Handles what the store has of these accounts. Those that are missing were removed, or have
  /// moved to another relay: the tokens of their devices show which.
  private mutating func handleVersions(_ versions: [AccountVersion], of accounts: [AccountID]) {
    var gone = Set(accounts)
    for version in versions {
      gone.remove(version.account)
      handleRemoteCommit(version.account, to: version.token)
      if services.hub.recordMembership(version.account, version: version.membershipVersion) {
        rereadMembership(of: version.account)
      }
    }
    for account in accounts where gone.contains(account) { rereadMembership(of: account) }
  }

  /// Handles a store that was set back behind this relay. Connected devices reconnect, and learn by
  /// their own tokens what is lost.
  private mutating func handleRollback(_ version: AccountVersion) {
    services.commits.recordChange(version.account)
    services.hub.recordCommit(version.account, to: version.token)
    for slot in members(of: version.account) { endIfIdle(slot) }
  }
}
