import Changes
import Link
import Storage

/// How a connection becomes a device's, and ceases to be.
extension RelayNode {
  /// The store knows whose token it is, or that it is nobody's.
  mutating func signInAnswered(
    _ id: ConnectionID, tokenHash: [UInt8], revocations before: Int,
    _ result: Result<ReadResult, Refusal>
  ) {
    guard let slot = connections.slot(of: id) else { return }
    switch result {
    case .success(.principal(let principal)):
      // A revocation may have overtaken this answer; an answer asked for now knows of it.
      guard before == revocations else {
        let isAsked = ask(
          .read(.authenticate(tokenHash: tokenHash)),
          for: .signIn(id, tokenHash: tokenHash, revocations: revocations))
        if isAsked { return }
        signInRefused(slot, CommitQueue.overloaded)
        break
      }
      signIn(
        slot,
        Session(
          account: principal.account, device: principal.device, tokenHash: tokenHash))
    case .success:
      signInRefused(slot, CallContinuation.mismatch)
    case .failure(let refusal):
      signInRefused(slot, refusal)
    }
    read(slot)
  }

  private mutating func signIn(_ slot: Hub.Slot, _ session: Session) {
    signOut(slot)
    connections[slot].identity = .session(session)
    hub.join(slot, session.account)
    if presence.arrived(session.presenceKey, wall: moment.wall) {
      tellPresence(session, isConnected: true)
    }
    scheduleSightings()
    if case .signingIn(let since) = connections[slot].socket?.stage {
      welcome(slot, session, since: since)
      return
    }
    connections[slot].http.exchange?.isSigningIn = false
    continueBody(slot)
    proceed(slot)
  }

  private mutating func signInRefused(_ slot: Hub.Slot, _ refusal: Refusal) {
    if connections[slot].socket != nil {
      closeSocket(slot, refusal)
      return
    }
    guard connections[slot].http.exchange != nil else { return }
    connections[slot].http.exchange?.isSigningIn = false
    connections[slot].http.exchange?.verdict = Answer(refusal)
    connections[slot].http.exchange?.body = []
    continueBody(slot)
    proceed(slot)
  }

  /// The connection is nobody's any more.
  mutating func signOut(_ slot: Hub.Slot) {
    guard let session = connections[slot].session else { return }
    connections[slot].identity = .guest(Guest())
    hub.leave(slot, session.account)
    if presence.left(session.presenceKey, wall: moment.wall) {
      tellPresence(session, isConnected: false)
    }
    scheduleSightings()
  }

  private mutating func tellPresence(_ session: Session, isConnected: Bool) {
    guard configuration.nodes > 1 else { return }
    actions.append(
      .tell(
        .presence(
          node: configuration.node, session.account, session.device, isConnected: isConnected)))
  }

  /// A device's token died. The connection that asked for it still gets its answer.
  mutating func revoked(_ account: AccountID, _ device: DeviceID, by origin: CommitOrigin) {
    revocations += 1
    guard let members = hub.watchers(of: account)?.members else { return }
    for slot in members where connections[slot].session?.device == device {
      if origin.node == configuration.node, origin.connection == connections[slot].id {
        signOut(slot)
      } else if connections[slot].socket != nil {
        closeSocket(slot, RelayNode.notSignedIn)
      } else {
        close(slot, .afterSending)
      }
    }
  }

  // MARK: when devices were last heard of

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
      // Where the queue is full they are lost, and written again in a minute.
      _ = ask(
        .commit(
          .touchDevices(sightings), by: CommitOrigin(node: configuration.node, connection: nil)),
        for: .sightings)
    }
    if !isLast { scheduleSightings() }
  }
}
