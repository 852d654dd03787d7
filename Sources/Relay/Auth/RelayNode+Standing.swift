import LockstepModel
import LockstepWire

/// Applies news about a signed-in device at once, to all its connections.
extension RelayNode {
  /// Handles a revoked token. The connection that asked for it still gets its answer.
  mutating func revoked(_ account: AccountID, _ device: DeviceID, by origin: CommitOrigin?) {
    standings.changed(account)
    for slot in members(of: account) where connections[slot].session?.device == device {
      if origin?.node == configuration.node, origin?.connection == connections[slot].id {
        signOut(slot)
      } else {
        end(slot, RelayNode.notSignedIn)
      }
    }
  }

  mutating func accountRemoved(_ account: AccountID) {
    standings.changed(account)
    for slot in members(of: account) { end(slot, RelayNode.notSignedIn) }
  }

  /// Applies a new plan. Requests that were admitted before may finish; later ones need the new
  /// one.
  mutating func planChanged(_ account: AccountID, _ plan: Plan) {
    standings.changed(account)
    for slot in members(of: account) {
      connections[slot].setPlan(plan)
      if plan.hasNoZone { endWaiting(slot) }
    }
  }

  mutating func subscribed(
    _ account: AccountID, _ device: DeviceID, _ subscriptions: [Subscription]
  ) {
    standings.changed(account)
    hub.setRule(SubscriptionFilter(subscriptions), of: device, account)
    for slot in members(of: account) where connections[slot].session?.device == device {
      if connections[slot].socket != nil {
        let isClogged = isClogged(slot)
        let push = connections[slot].socket?.chain.ruleChanged(isClogged: isClogged)
        follow(slot, push ?? .nothing)
      } else if connections[slot].stream != nil {
        ruleChanged(ofStream: slot)
      } else {
        ruleChanged(ofPoll: slot)
      }
    }
  }

  /// Refuses, before its body arrives, a request that the account's plan does not include.
  mutating func checkPlan(_ slot: Hub.Slot) {
    guard let session = connections[slot].session else { return }
    let refusal: Refusal?
    switch connections[slot].http.exchange?.value.call {
    case .signed(let call): refusal = session.refusal(of: call)
    case .upload: refusal = session.plan.hasNoZone ? Session.needsPlan : nil
    case .guest, .owner, .health, .page, .socket, nil: refusal = nil
    }
    guard let refusal else { return }
    connections[slot].http.exchange?.value.verdict = Answer(refusal)
    connections[slot].http.exchange?.value.body = []
    endUpload(slot)
  }

  /// Returns the account's connections, in the order in which they signed in.
  func members(of account: AccountID) -> [Hub.Slot] {
    hub.watchers(of: account)?.members ?? []
  }

  /// Ends a connection whose device is no longer valid; the refusal answers its request.
  private mutating func end(_ slot: Hub.Slot, _ refusal: Refusal) {
    if connections[slot].socket != nil {
      closeSocket(slot, refusal)
      return
    }
    if connections[slot].isStreaming {
      endStream(slot, refusal)
      return
    }
    switch connections[slot].http.exchange?.value.call {
    case nil where connections[slot].http.exchange == nil: close(slot, .afterSending)
    // The answer has begun; only closing it early can signal the error.
    case .signed where isSending(slot): close(slot, .afterSending)
    case .signed, .upload: answer(slot, Answer(refusal), isLast: true)
    // The request does not need a signed-in device.
    case .guest, .owner, .health, .page, .socket, nil: signOut(slot)
    }
  }

  /// Ends requests that wait for news, which will not come any more, and uploads, which could go on
  /// for long.
  private mutating func endWaiting(_ slot: Hub.Slot) {
    if connections[slot].socket != nil {
      closeSocket(slot, Session.needsPlan)
    } else if connections[slot].isStreaming {
      endStream(slot, Session.needsPlan)
    } else if connections[slot].http.exchange?.value.stage == .parked {
      answer(slot, Answer(Session.needsPlan))
      read(slot)
    } else if uploads[connections[slot].id] != nil {
      checkPlan(slot)
      proceed(slot)
      read(slot)
    }
  }
}

extension Connection {
  fileprivate mutating func setPlan(_ plan: Plan) {
    guard case .session(var session) = identity else { return }
    session.plan = plan
    identity = .session(session)
  }
}
