import LockstepModel
import LockstepStorage
import LockstepWire

/// Signs connections in to a device, and out again.
extension RelayNode {
  /// Looks up the token's device in the store. Returns false if too many requests are pending.
  mutating func askWho(_ id: ConnectionID, tokenHash: [UInt8]) -> Bool {
    ask(
      .read(.authenticate(tokenHash: tokenHash)),
      for: .signIn(
        id, tokenHash: tokenHash, standings: standings.count, commits: commits.count))
  }

  /// Handles the store's answer about a token: its device, or a refusal. `standings`, `commits`:
  /// the counts of both logs when the store was asked.
  mutating func signInAnswered(
    _ id: ConnectionID, tokenHash: [UInt8], standings: Int, commits: Int,
    _ result: Result<ReadResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    switch result {
    case .success(.principal(let principal)):
      // News may have overtaken this answer; a new request to the store includes them.
      let isNewest = !self.commits.hasChanged(principal.account, since: commits)
      // A relay that shares its store must know from which token on it has heard of all commits.
      if self.standings.hasChanged(principal.account, since: standings)
        || (configuration.sharesStore && !isNewest)
      {
        if askWho(id, tokenHash: tokenHash) { return }
        signInRefused(slot, CommitQueue.overloaded)
        break
      }
      signIn(
        slot,
        Session(
          account: principal.account, device: principal.device, tokenHash: tokenHash,
          plan: principal.plan),
        SubscriptionFilter(principal.subscriptions), newest: isNewest ? principal.newest : nil)
      beginLooking(at: principal.account, membershipVersion: principal.membershipVersion)
    case .success:
      signInRefused(slot, ResponseBuilder.mismatch)
    case .failure(let refusal):
      signInRefused(slot, refusal)
    }
    read(slot)
  }

  /// `newest`: the account's newest token; nil if commits were heard of that may be newer.
  private mutating func signIn(
    _ slot: Hub.Slot, _ session: Session, _ rule: SubscriptionFilter?, newest: ChangeToken?
  ) {
    signOut(slot)
    stopHolding(slot)
    connections[slot].identity = .session(session)
    hub.join(slot, session.account)
    if let newest { hub.learned(session.account, standsAt: newest) }
    hub.setRule(rule, of: session.device, session.account)
    if presence.arrived(session.presenceKey, wall: moment.wall) {
      tellPresence(session, isConnected: true)
    }
    scheduleSightings()
    giveBackToAddress(slot)
    if case .signingIn(let since) = connections[slot].socket?.stage {
      // Refunds both the upgrade and the hello.
      giveBackToAddress(slot)
      chargeFrame(slot)
      welcomeInTurn(slot, session, since: since)
      return
    }
    connections[slot].http.exchange?.value.isSigningIn = false
    checkPlan(slot)
    if let refusal = chargeDevice(slot, session) {
      connections[slot].http.exchange?.value.verdict = Answer(refusal)
      connections[slot].http.exchange?.value.body = []
      endUpload(slot)
    }
    continueBody(slot)
    proceed(slot)
  }

  private mutating func signInRefused(_ slot: Hub.Slot, _ refusal: Refusal) {
    // A guessed token is charged to the address; a failing store is not the client's fault.
    if refusal.code != .badToken { giveBackToAddress(slot) }
    if connections[slot].socket != nil {
      closeSocket(slot, refusal)
      return
    }
    guard connections[slot].http.exchange != nil else { return }
    connections[slot].http.exchange?.value.isSigningIn = false
    connections[slot].http.exchange?.value.verdict = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
    endUpload(slot)
    continueBody(slot)
    proceed(slot)
  }

  /// Ends the connection's session.
  mutating func signOut(_ slot: Hub.Slot) {
    guard let session = connections[slot].session else { return }
    stopHolding(slot)
    connections[slot].identity = .guest(UnauthenticatedClient())
    if presence.left(session.presenceKey, wall: moment.wall) {
      hub.setRule(nil, of: session.device, session.account)
      tellPresence(session, isConnected: false)
    }
    hub.leave(slot, session.account)
    scheduleSightings()
  }

  private mutating func tellPresence(_ session: Session, isConnected: Bool) {
    guard configuration.nodes > 1 else { return }
    actions.append(
      .tell(
        .presence(
          node: configuration.node, session.account, session.device, isConnected: isConnected)))
  }

  // MARK: sightings

  mutating func scheduleSightings() {
    guard let next = presence.nextWriting(at: moment.instant) else { return }
    if let planned = sightingsAt, planned <= next { return }
    sightingsAt = next
    timers.schedule(.sightings, at: next)
  }

  mutating func writeSightings(isLast: Bool) {
    sightingsAt = nil
    let sightings = presence.sightings(
      at: moment.instant, wall: moment.wall, isLast: isLast)
    if !sightings.isEmpty {
      // If the queue is full, the sightings are lost, and written again in a minute.
      _ = askCommit(.touchDevices(sightings), for: .sightings)
    }
    if !isLast { scheduleSightings() }
  }
}
