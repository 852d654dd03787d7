import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Sends a commit to the connections that watch the account. Each encoding is built once and shared
/// by all receivers.
extension RelayNode {
  mutating func handleNews(_ news: RelayNews) {
    switch news {
    case .changed(let change):
      if change.origin?.node == services.configuration.node {
        services.status.recordsSaved += change.contents?.records.count ?? 0
        durableAt = change.durableAt
      }
      let account = change.account
      services.configuration.sharesStore ? handleOwnCommit(change) : pushChange(change)
      services.noteWakeChange(account)
    case .revoked(let account, let device, let origin):
      handleRevocation(account, device, by: origin)
    case .planChanged(let account, let plan): applyPlan(account, plan)
    case .subscribed(let account, let device, let all): applySubscriptions(account, device, all)
    case .accountRemoved(let account): handleAccountRemoval(account)
    case .presence(let node, let account, let device, let isConnected):
      services.presence.recordPresence(
        of: Presence.Key(account: account, device: device), isConnected: isConnected, on: node)
      if !isConnected { services.noteLeaving(Presence.Key(account: account, device: device)) }
    case .pairingGuess(let address):
      services.admission.guesses.recordGuess(from: address, at: services.moment.instant)
    case .pairingRight(let address): services.admission.guesses.uncountGuess(from: address)
    case .newAccount(let address):
      _ = services.rates.newAccounts.spendTokens(address, at: services.moment.instant)
    case .status(let node, let status):
      if services.otherStatuses.indices.contains(node) { services.otherStatuses[node] = status }
    case .wakePut(let offer, let isVerified):
      let key = Presence.Key(account: offer.id.account, device: offer.id.device)
      if services.presence.isConnected(key) { services.beginWakes(key) }
      services.sendWakeCode(offer, isVerified: isVerified)
    case .wakeKeys(let wakes): services.useWakes(wakes)
    case .remoteCommit(let account, let token):
      handleRemoteCommit(account, to: token)
      services.noteWakeChange(account)
      peerRelays.leaveFormerAccount(account, services.hub)
    case .remoteMembershipChange(let account):
      rereadMembership(of: account)
      peerRelays.leaveFormerAccount(account, services.hub)
    case .sleepersMissed(let account): services.followWakes(of: account)
    case .remoteRelaysHeard(let relays): peerRelays.setHeard(relays)
    case .remoteNewsLost: peerRelays.handleLostAnnouncements(&services)
    case .remoteNewsReliability(let isReliable):
      peerRelays.setReliability(isReliable, &services)
    }
  }

  /// Sends a change to all connections that watch the account. `lastPoll`: the last poll parked
  /// before the store was read for this; later ones may need more changes.
  mutating func pushChange(_ news: AccountChange, lastPoll: UInt64 = .max) {
    var change = news
    services.commits.recordChange(change.account)
    services.hub.recordCommit(change.account, to: change.token)
    guard let watchers = services.hub.watchers(of: change.account) else { return }
    if hasReceivers(watchers, of: change) { change.encode() }
    let audience = change.audience(watchers.filters)
    let before = services.status.pushes
    if !watchers.sockets.isEmpty, !deferPush(change, watchers, audience) {
      pushToSockets(watchers.sockets, change, audience)
    }
    if !watchers.polls.isEmpty { pushToPolls(watchers.polls, change, audience, lastPoll) }
    if !watchers.streams.isEmpty { pushToStreams(watchers.streams, change, audience) }
    measureLag(of: change, receivers: services.status.pushes - before)
  }

  /// False if the only one to watch the account is the socket that requested the change.
  private func hasReceivers(_ watchers: Hub.Watchers, of change: AccountChange) -> Bool {
    guard watchers.polls.isEmpty, watchers.streams.isEmpty, watchers.sockets.count == 1,
      let socket = watchers.sockets.first
    else { return true }
    return change.origin?.node != services.configuration.node
      || change.origin?.connection != connections[socket].id
  }

  /// The clock is read once a turn, so a change may seem durable slightly after it was announced.
  mutating func measureLag(of change: AccountChange, receivers: Int) {
    guard receivers > 0, let durableAt = change.durableAt else { return }
    let lag = services.moment.instant.nanoseconds - durableAt.nanoseconds
    services.status.notifyLag.observe(max(0, lag), times: receivers)
  }

  // MARK: sockets

  mutating func pushToSockets(
    _ sockets: [Hub.Slot], _ change: AccountChange, _ audience: ChangeAudience = ChangeAudience()
  ) {
    let own = change.origin?.node == services.configuration.node ? change.origin?.connection : nil
    let frame = change.frame ?? []
    let limit = services.sendQueueLimit(for: .account(change.account))
    var pushed: [ConnectionID] = []
    pushed.reserveCapacity(sockets.count)
    var deflated: [ConnectionID] = []
    var hinted: [ConnectionID] = []
    var behind: [Hub.Slot] = []
    // Usually all devices get it, and no connection is asked.
    let isLimited = !audience.isEverybody
    for slot in sockets {
      if isLimited, connections[slot].isDevice(in: audience.unmatched) {
        connections[slot].recordUnmatched(change.token, own: own)
        continue
      }
      let isPartial = isLimited && connections[slot].isDevice(in: audience.partial)
      // One access, because every delivery costs this.
      let (id, push, isDeflated) = connections[slot].handleCommit(
        change, own: own, frameBytes: isPartial ? 0 : frame.count, limit: limit, &services)
      switch push {
      case .nothing: break
      case .push where isDeflated: deflated.append(id)
      case .push: pushed.append(id)
      case .hint: hinted.append(id)
      case .read: behind.append(slot)
      }
    }
    services.status.pushes += pushed.count + deflated.count
    services.status.hints += hinted.count
    if !pushed.isEmpty { services.actions.append(.multicast(frame, pushed)) }
    if !deflated.isEmpty { sendDeflated(frame, to: deflated) }
    if !hinted.isEmpty { sendHints(to: hinted, change.token) }
    for slot in behind { connections[slot].readMissedChanges(&services) }
  }

  /// Sends the same frame to connections that accept it compressed; it is compressed once for all.
  private mutating func sendDeflated(_ frame: [UInt8], to ids: [ConnectionID]) {
    let deflated = services.deflater.frame(of: frame)
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].recordSent(deflated.count, &services)
    }
    services.actions.append(.multicast(deflated, ids))
  }

  private mutating func sendHints(to ids: [ConnectionID], _ token: ChangeToken) {
    let hint = RelayMessage.changed(token: token).encodedFrame()
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].recordSent(hint.count, &services)
    }
    services.actions.append(.multicast(hint, ids))
  }

  // MARK: event streams

  mutating func pushToStreams(
    _ streams: [Hub.Slot], _ change: AccountChange, _ audience: ChangeAudience
  ) {
    var pushed: [Hub.Slot] = []
    var hinted: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    let limit = services.sendQueueLimit(for: .account(change.account))
    let isLimited = !audience.isEverybody
    for slot in streams {
      if isLimited, connections[slot].isDevice(in: audience.unmatched) {
        connections[slot].recordUnmatched(change.token, own: nil)
        continue
      }
      switch connections[slot].handleStreamCommit(
        change, audience, limit: limit, at: services.moment.instant)
      {
      case .nothing: break
      case .push: pushed.append(slot)
      case .hint: hinted.append(slot)
      case .read: behind.append(slot)
      }
    }
    services.status.pushes += pushed.count
    services.status.hints += hinted.count
    if !pushed.isEmpty, let changes = change.changes {
      let event = changes.event(since: change.since, token: change.token, more: false)
      multicast(event, to: pushed)
    }
    if !hinted.isEmpty { multicast(RelayEvent.encodedHint(change.token), to: hinted) }
    for slot in behind { connections[slot].readMissedChanges(&services) }
  }

  /// Sends the same event to many streams: one buffer for all chunked streams, and one for the
  /// others.
  private mutating func multicast(_ event: [UInt8], to slots: [Hub.Slot]) {
    var plain: [Hub.Slot] = []
    var chunked: [Hub.Slot] = []
    for slot in slots {
      if connections[slot].isChunkedStream { chunked.append(slot) } else { plain.append(slot) }
    }
    if !plain.isEmpty { sendTogether(event, to: plain) }
    if !chunked.isEmpty { sendTogether(HTTPWriter.chunk(event), to: chunked) }
  }

  private mutating func sendTogether(_ bytes: [UInt8], to slots: [Hub.Slot]) {
    for slot in slots {
      connections[slot].recordSent(bytes.count, &services)
    }
    services.actions.append(.multicast(bytes, slots.map { connections[$0].id }))
  }

  // MARK: long-polls

  mutating func pushToPolls(
    _ polls: [Hub.Slot], _ change: AccountChange, _ audience: ChangeAudience,
    _ lastPoll: UInt64
  ) {
    var answered: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    let isRunning = services.stage == .running
    for slot in polls {
      switch connections[slot].handlePollCommit(
        change, audience, lastPoll: lastPoll, isRunning: isRunning)
      {
      case .nothing: break
      case .answer: answered.append(slot)
      case .read: behind.append(slot)
      }
    }
    if !answered.isEmpty { answerPolls(answered, change) }
    for slot in behind {
      connections[slot].rereadChanges(&services)
      removeIfClosed(slot)
    }
    for slot in behind { processInput(slot) }
    for slot in answered {
      connections[slot].continueAfterPoll(&services)
      removeIfClosed(slot)
    }
  }

  private mutating func answerPolls(_ slots: [Hub.Slot], _ change: AccountChange) {
    guard let changes = change.changes else { return }
    let body = changes.body(since: change.since, token: change.token, more: false)
    let answer = services.answerWithReconnect(body)
    services.status.pushes += slots.count
    if !services.wakeContacts.isEmpty {
      for slot in slots {
        guard let session = connections[slot].session else { continue }
        services.wakeContacts.recordTold(
          session.presenceKey, change.token, at: services.moment.wall)
      }
    }
    // Pages of one origin get the same bytes, and so do all clients that are not pages.
    var rest = slots
    while let first = rest.first {
      let crossOrigin = connections[first].crossOrigin
      let alike = rest.filter { connections[$0].crossOrigin == crossOrigin }
      rest.removeAll { connections[$0].crossOrigin == crossOrigin }
      let bytes = services.response(
        answer, head: nil, opening: connections[first].opening, crossOrigin: crossOrigin,
        closes: false)
      send(answer, as: bytes, to: alike)
    }
  }

  private mutating func send(
    _ answer: borrowing Answer, as bytes: [UInt8], to slots: [Hub.Slot]
  ) {
    services.actions.append(.multicast(bytes, slots.map { connections[$0].id }))
    for slot in slots {
      connections[slot].endPoll(answer, bytes: bytes.count, &services)
    }
  }
}

/// Applies news about a signed-in device at once, to all its connections.
extension RelayNode {
  /// Handles a revoked token. The connection that requested it still gets its answer.
  mutating func handleRevocation(
    _ account: AccountID, _ device: DeviceID, by origin: CommitOrigin?
  ) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) where connections[slot].isSession(of: device) {
      if origin?.node == services.configuration.node, origin?.connection == connections[slot].id {
        connections[slot].signOut(&services)
      } else {
        endSession(slot)
      }
    }
  }

  /// Ends a connection whose device is not served here any more.
  private mutating func endSession(
    _ slot: Hub.Slot, _ refusal: Refusal = RelayServices.notSignedIn
  ) {
    connections[slot].endSession(refusal, &services)
    removeIfClosed(slot)
  }

  mutating func handleAccountRemoval(_ account: AccountID) {
    endSessions(of: account, RelayServices.notSignedIn)
  }

  /// Ends the account's connections: it was removed, or it lives on another relay.
  mutating func endSessions(of account: AccountID, _ refusal: Refusal) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) { endSession(slot, refusal) }
  }

  /// Applies a new plan. Requests that were admitted before may finish; later ones need the new
  /// one.
  mutating func applyPlan(_ account: AccountID, _ plan: Plan) {
    services.membershipChanges.recordChange(account)
    for slot in members(of: account) {
      connections[slot].applyPlan(plan, &services)
      removeIfClosed(slot)
    }
  }

  mutating func applySubscriptions(
    _ account: AccountID, _ device: DeviceID, _ subscriptions: [Subscription]
  ) {
    services.membershipChanges.recordChange(account)
    let zones = services.hub.filter(of: device, account)?.zones
    services.hub.setFilter(SubscriptionFilter(subscriptions, zones: zones), of: device, account)
    for slot in members(of: account) where connections[slot].isSession(of: device) {
      connections[slot].applyFilterChange(&services)
      removeIfClosed(slot)
    }
  }

  /// Lets the idle connections end soon of devices that have just registered for wakes.
  mutating func endIdleConnectionsSoon() {
    while let key = services.newSleepers.popLast() {
      for slot in members(of: key.account) where connections[slot].isSession(of: key.device) {
        connections[slot].limitIdleTime(&services)
      }
    }
  }

  /// Returns the account's connections, in the order in which they signed in.
  func members(of account: AccountID) -> [Hub.Slot] {
    services.hub.watchers(of: account)?.members ?? []
  }
}

// MARK: Crowds

extension RelayNode {
  /// Defers the change for the sockets of a crowd. Returns false if it must be sent at once.
  mutating func deferPush(
    _ change: AccountChange, _ watchers: Hub.Watchers, _ audience: ChangeAudience
  ) -> Bool {
    guard services.stage == .running, watchers.sockets.count >= Limits.crowdConnections,
      audience.isEverybody, let frame = change.frame
    else {
      sendCrowdPushes()
      return false
    }
    if !crowdPushes.accepts(change, bytes: frame.count) { sendCrowdPushes() }
    let served = crowdPushes.served.compactMap { connections.slot(of: $0) }
    if !served.isEmpty { pushToSockets(served, change) }
    crowdPushes.append(
      change, bytes: frame.count, sockets: watchers.sockets.count, at: services.moment.instant)
    if change.origin?.node == services.configuration.node,
      let slot = change.origin?.connection.flatMap({ connections.slot(of: $0) })
    {
      serveCrowdPushes(to: slot)
    }
    if crowdPushes.isFull { sendCrowdPushes() }
    return true
  }

  /// Passes the changes so far to a socket, if it is one of the crowd.
  mutating func serveCrowdPushes(to slot: Hub.Slot) {
    guard connections[slot].isSocket, connections[slot].session?.account == crowdPushes.account,
      !crowdPushes.isServed(connections[slot].id)
    else { return }
    for change in crowdPushes.changes { pushToSockets([slot], change) }
    crowdPushes.addServed(connections[slot].id)
  }

  /// Time at which the deferred changes are to be sent; nil if there are none.
  var crowdDeadline: Instant? {
    guard let account = crowdPushes.account else { return nil }
    return services.hub.hasSaves(account) ? crowdPushes.deadline : services.moment.instant
  }

  /// Sends the deferred changes if it is time.
  mutating func sendDueCrowdPushes() {
    if let crowdDeadline, crowdDeadline <= services.moment.instant { sendCrowdPushes() }
  }

  /// Sends the deferred changes.
  mutating func sendCrowdPushes() {
    guard let first = crowdPushes.changes.first, let last = crowdPushes.changes.last else { return }
    var pushes = CrowdPushes()
    swap(&pushes, &crowdPushes)
    guard let watchers = services.hub.watchers(of: first.account) else { return }
    let frames = pushes.joinedFrames()
    let limit = services.sendQueueLimit(for: .account(first.account))
    var joined: [ConnectionID] = []
    joined.reserveCapacity(watchers.sockets.count)
    var others: [Hub.Slot] = []
    for slot in watchers.sockets {
      let id = connections[slot].id
      if pushes.isServed(id) { continue }
      let isAdvanced = connections[slot].handleCommits(
        since: first.since, token: last.token, bytes: frames.count,
        isCompressible: pushes.isCompressible, limit: limit, &services)
      if isAdvanced { joined.append(id) } else { others.append(slot) }
    }
    services.status.pushes += joined.count * pushes.changes.count
    if !joined.isEmpty { services.actions.append(.multicast(frames, joined)) }
    for change in pushes.changes {
      let before = services.status.pushes
      if !others.isEmpty { pushToSockets(others, change) }
      measureLag(of: change, receivers: joined.count + services.status.pushes - before)
    }
  }
}
