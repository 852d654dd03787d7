import LockstepModel
import LockstepStorage
import LockstepWire

/// Sends a commit to the connections that watch the account. Each encoding is built once and shared
/// by all receivers.
extension RelayNode {
  mutating func heard(_ news: RelayNews) {
    switch news {
    case .changed(let change):
      if change.origin?.node == configuration.node {
        status.recordsSaved += change.told?.records.count ?? 0
        durableAt = change.durableAt
      }
      configuration.sharesStore ? follow(change) : tell(change)
    case .revoked(let account, let device, let origin): revoked(account, device, by: origin)
    case .planChanged(let account, let plan): planChanged(account, plan)
    case .subscribed(let account, let device, let all): subscribed(account, device, all)
    case .accountRemoved(let account): accountRemoved(account)
    case .presence(let node, let account, let device, let isConnected):
      presence.heard(
        of: Presence.Key(account: account, device: device), isConnected: isConnected, on: node)
    case .pairingGuess(let address):
      admission.guesses.guessed(from: address, at: moment.instant)
    case .pairingRight(let address): admission.guesses.provedRight(from: address)
    case .newAccount(let address): _ = rates.newAccounts.spend(address, at: moment.instant)
    case .status(let node, let status):
      if otherStatuses.indices.contains(node) { otherStatuses[node] = status }
    case .remoteCommit(let account, let token): remoteCommit(account, to: token)
    case .remoteMembershipChange(let account): askAfterMembers(of: account)
    case .remoteNewsLost: lookForMovements()
    }
  }

  /// Sends a change to all connections that watch the account. `lastPoll`: the last poll parked
  /// before the store was read for this; later ones may need more changes.
  mutating func tell(_ change: AccountChange, lastPoll: UInt64 = .max) {
    commits.changed(change.account)
    hub.moved(change.account, to: change.token)
    guard let watchers = hub.watchers(of: change.account) else { return }
    let unmatchedDevices = change.unmatchedDevices(watchers.rules)
    let before = status.pushes
    if !watchers.sockets.isEmpty { tellSockets(watchers.sockets, change, unmatchedDevices) }
    if !watchers.polls.isEmpty { tellPolls(watchers.polls, change, unmatchedDevices, lastPoll) }
    if !watchers.streams.isEmpty { tellStreams(watchers.streams, change, unmatchedDevices) }
    measureLag(of: change, receivers: status.pushes - before)
  }

  /// The clock is read once a turn, so a change may seem durable slightly after it was heard of.
  private mutating func measureLag(of change: AccountChange, receivers: Int) {
    guard receivers > 0, let durableAt = change.durableAt else { return }
    let lag = moment.instant.nanoseconds - durableAt.nanoseconds
    status.notifyLag.observe(max(0, lag), times: receivers)
  }

  // MARK: sockets

  private mutating func tellSockets(
    _ sockets: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>
  ) {
    let own = change.origin?.node == configuration.node ? change.origin?.connection : nil
    let frame = change.frame ?? []
    let limit = sendQueueLimit(for: .account(change.account))
    var pushed: [ConnectionID] = []
    pushed.reserveCapacity(sockets.count)
    var deflated: [ConnectionID] = []
    var hinted: [ConnectionID] = []
    var behind: [Hub.Slot] = []
    for slot in sockets {
      if !unmatchedDevices.isEmpty && isAsleep(slot, unmatchedDevices) {
        let isOwn = own == connections[slot].id
        connections[slot].socket?.chain.passedOver(change.token, isOwn: isOwn)
        continue
      }
      // One access, because every delivery costs this.
      let (id, push, isDeflated) = connections[slot].hear(
        change, own: own, frameBytes: frame.count, limit: limit, at: moment.instant)
      switch push {
      case .nothing: break
      case .push where isDeflated: deflated.append(id)
      case .push: pushed.append(id)
      case .hint: hinted.append(id)
      case .read: behind.append(slot)
      }
    }
    status.pushes += pushed.count + deflated.count
    status.hints += hinted.count
    if !pushed.isEmpty { actions.append(.multicast(frame, pushed)) }
    if !deflated.isEmpty { sendDeflated(frame, to: deflated) }
    if !hinted.isEmpty { sendHints(to: hinted, change.token) }
    for slot in behind { readPage(slot) }
  }

  /// Sends the same frame to connections that take it compressed; it is compressed once for all.
  private mutating func sendDeflated(_ frame: [UInt8], to ids: [ConnectionID]) {
    let deflated = deflater.frame(of: frame)
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.add(deflated.count, at: moment.instant)
    }
    actions.append(.multicast(deflated, ids))
  }

  func isAsleep(_ slot: Hub.Slot, _ unmatchedDevices: Set<DeviceID>) -> Bool {
    connections[slot].session.map { unmatchedDevices.contains($0.device) } ?? false
  }

  private mutating func sendHints(to ids: [ConnectionID], _ token: ChangeToken) {
    let hint = WebSocketFrame.text(RelayMessage.changed(token: token).encoded())
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.add(hint.count, at: moment.instant)
    }
    actions.append(.multicast(hint, ids))
  }
}

extension Connection {
  /// Returns a socket's reaction to a commit, and whether the push is compressed. Only an
  /// uncompressed push is added to its queue here. `own`: the connection that asked for the commit.
  /// `frameBytes`: of the push, 0 if it is too large for one. `limit`: bytes that may wait.
  fileprivate mutating func hear(
    _ change: borrowing AccountChange, own: ConnectionID?, frameBytes: Int, limit: Int,
    at now: Instant
  ) -> (ConnectionID, CursorChain.Push, isDeflated: Bool) {
    let push = socket?.chain.heard(
      since: change.since, token: change.token, isOwn: own == id, isLarge: frameBytes == 0,
      isCrowded: queue.isCrowded(limit: limit, at: now), isClogged: queue.isClogged(limit: limit))
    let isDeflated = socket?.takesCompressed == true && frameBytes >= Limits.deflateBytes
    if push == .push, !isDeflated { queue.add(frameBytes, at: now) }
    return (id, push ?? .nothing, isDeflated)
  }
}
