import LockstepModel
import LockstepWire

/// Rate limits of requests and sockets: the device or address that is charged, and the handling of
/// clients that exceed their rate. A request is answered with 429 after a short delay, so that a
/// client that does not wait costs little. A socket is not read until a token is available again,
/// so that no message is lost. The owner's listeners are not limited.
extension RelayNode {
  /// Charges the address for a request without a device, or with one that is still to be looked up.
  mutating func chargeAddress(_ slot: Hub.Slot) -> Refusal? {
    guard isCharged(slot), !connections[slot].client.isExempt else { return nil }
    let network = connections[slot].client.network
    return rates.addresses.take(network, at: moment.instant).map(RequestRates.tooOften)
  }

  /// Refunds the address: the request was a device's, which is charged itself.
  mutating func giveBackToAddress(_ slot: Hub.Slot) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    rates.addresses.giveBack(connections[slot].client.network)
  }

  mutating func chargeDevice(_ slot: Hub.Slot, _ session: Session) -> Refusal? {
    guard isCharged(slot) else { return nil }
    return rates.devices.take(session.presenceKey, at: moment.instant).map(RequestRates.tooOften)
  }

  /// Charges a message or a control frame that was read on a socket. If it exceeds the rate, the
  /// next one is read later.
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

  /// Delays the answer to a request that exceeds the rate; returns false if it is to be sent now.
  /// If the body is not complete, the connection closes after the answer, without a delay.
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

  /// Welcomes a socket that has signed in: now, or later if its account's sockets come too often.
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

  /// Counts an account that is about to be created here and, by news, on all other nodes.
  mutating func countNewAccount(_ slot: Hub.Slot) throws(Refusal) {
    guard isCharged(slot), !connections[slot].client.isExempt else { return }
    let network = connections[slot].client.network
    if let wait = rates.newAccounts.take(network, at: moment.instant) {
      throw RequestRates.tooManyAccounts(wait)
    }
    actions.append(.tell(.newAccount(address: network)))
  }

  /// Throws if the account may not hold one more socket, stream or waiting poll on this node.
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
