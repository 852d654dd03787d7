import LockstepModel
import LockstepWire

/// Rates of requests and sockets: who pays for what is asked, and what becomes of those who ask too
/// often. A request is answered with 429, a little later, so that a client that does not wait costs
/// little. A socket is not read until there is a token again, so that nothing of it is lost. The
/// owner's doors are free.
extension RelayNode {
  /// A request of nobody in particular, or of somebody who is still to be looked up.
  mutating func chargeAddress(_ slot: Hub.Slot) -> Refusal? {
    guard isCharged(slot), !connections[slot].client.isExempt else { return nil }
    let network = connections[slot].client.network
    return rates.addresses.take(network, at: moment.instant).map(RequestRates.tooOften)
  }

  /// It was a device's, which pays itself.
  mutating func giveBackToAddress(_ slot: Hub.Slot) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    rates.addresses.giveBack(connections[slot].client.network)
  }

  mutating func chargeDevice(_ slot: Hub.Slot, _ session: Session) -> Refusal? {
    guard isCharged(slot) else { return nil }
    return rates.devices.take(session.presenceKey, at: moment.instant).map(RequestRates.tooOften)
  }

  /// A message or a control frame of a socket was read. Where it was one too many, the next is
  /// looked at later.
  mutating func chargeFrame(_ slot: Hub.Slot) {
    guard isCharged(slot), connections[slot].socket != nil else { return }
    let wait: Int64?
    if let session = connections[slot].session {
      wait = rates.devices.spend(session.presenceKey, at: moment.instant)
    } else if connections[slot].client.isExempt {
      wait = nil
    } else {
      wait = rates.addresses.spend(connections[slot].client.network, at: moment.instant)
    }
    guard let wait else { return }
    status.throttles += 1
    connections[slot].socket?.isThrottled = true
    timers.schedule(
      .throttled(connections[slot].id), at: moment.instant.advanced(milliseconds: wait))
  }

  /// Keeps back the answer to a request that was one too many; false where it is to leave now.
  /// If the body has not come whole, the connection ends with the answer, and nothing waits.
  mutating func delays(_ slot: Hub.Slot, _ answer: Answer) -> Bool {
    guard answer.refused == .tooManyRequests, isCharged(slot), stage == .running else {
      return false
    }
    switch connections[slot].http.exchange?.value.stage {
    case .whole, .asking: break
    case .reading, .full, .delayed, .sending, .parked, .streaming, nil: return false
    }
    connections[slot].http.exchange?.value.verdict = answer
    connections[slot].http.exchange?.value.stage = .delayed
    timers.schedule(
      .throttled(connections[slot].id),
      at: moment.instant.advanced(milliseconds: Limits.tooOftenMilliseconds))
    return true
  }

  /// Welcomes a socket that has signed in: now, or later where its account's come too often.
  mutating func welcomeInTurn(_ slot: Hub.Slot, _ session: Session, since: ChangeToken?) {
    let wait = isCharged(slot) ? rates.welcomes.take(session.account, at: moment.instant) : nil
    connections[slot].socket?.isKeptWaiting = wait != nil
    guard let wait else { return welcome(slot, session, since: since) }
    status.throttles += 1
    timers.schedule(
      .throttled(connections[slot].id), at: moment.instant.advanced(milliseconds: wait))
  }

  mutating func endThrottle(_ id: ConnectionID) {
    guard let slot = connections.slot(of: id) else { return }
    if connections[slot].http.exchange?.value.stage == .delayed,
      let verdict = connections[slot].http.exchange?.value.verdict
    {
      answer(slot, verdict)
      guard connections.isTaken(slot) else { return }
    }
    connections[slot].socket?.isThrottled = false
    if connections[slot].socket?.isKeptWaiting == true, let session = connections[slot].session,
      case .signingIn(let since) = connections[slot].socket?.stage
    {
      welcomeInTurn(slot, session, since: since)
      guard connections.isTaken(slot) else { return }
    }
    read(slot)
  }

  /// An account is about to be made for somebody: counted here and, by news, on all other nodes.
  mutating func countNewAccount(_ slot: Hub.Slot) throws(Refusal) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    let network = connections[slot].client.network
    if let wait = rates.newAccounts.take(network, at: moment.instant) {
      throw RequestRates.tooManyAccounts(wait)
    }
    actions.append(.tell(.newAccount(address: network)))
  }

  /// Throws where the account may not hold one more socket, stream or waiting poll on this node.
  func checkConnections(_ slot: Hub.Slot, of account: AccountID) throws(Refusal) {
    guard hub.watcherCount(of: account) < watcherLimit(slot) else {
      throw RequestRates.tooManyConnections
    }
  }

  func watcherLimit(_ slot: Hub.Slot) -> Int {
    connections[slot].client.isExempt ? .max : configuration.limits.connectionsPerAccount
  }

  private func isCharged(_ slot: Hub.Slot) -> Bool { connections[slot].opening.door == .front }
}
