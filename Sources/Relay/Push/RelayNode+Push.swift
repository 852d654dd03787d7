import Changes
import Link
import Storage

/// How those who watch an account are told of a commit: each form of it is made once, whoever many
/// take it.
extension RelayNode {
  mutating func heard(_ news: RelayNews) {
    switch news {
    case .changed(let change):
      if change.origin.node == configuration.node {
        status.recordsSaved += change.told?.records.count ?? 0
      }
      commits.changed(change.account)
      hub.moved(change.account, to: change.token)
      guard let watchers = hub.watchers(of: change.account) else { return }
      let sleepers = change.sleepers(watchers.rules)
      if !watchers.sockets.isEmpty { tellSockets(watchers.sockets, change, sleepers) }
      if !watchers.polls.isEmpty { tellPolls(watchers.polls, change, sleepers) }
      if !watchers.streams.isEmpty { tellStreams(watchers.streams, change, sleepers) }
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
    }
  }

  // MARK: sockets

  private mutating func tellSockets(
    _ sockets: [Hub.Slot], _ change: AccountChange, _ sleepers: Set<DeviceID>
  ) {
    let own = change.origin.node == configuration.node ? change.origin.connection : nil
    let frame = change.frame ?? []
    let limit = sendQueueLimit
    var pushed: [ConnectionID] = []
    pushed.reserveCapacity(sockets.count)
    var deflated: [ConnectionID] = []
    var hinted: [ConnectionID] = []
    var behind: [Hub.Slot] = []
    for slot in sockets {
      if !sleepers.isEmpty && isAsleep(slot, sleepers) {
        let isOwn = own == connections[slot].id
        connections[slot].socket?.chain.passedOver(change.token, isOwn: isOwn)
        continue
      }
      // One access: this is what every delivery costs.
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

  /// Sends the same to those that take it compressed, which is done once for all of them.
  private mutating func sendDeflated(_ frame: [UInt8], to ids: [ConnectionID]) {
    let deflated = deflater.frame(of: frame)
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.add(deflated.count, at: moment.instant)
    }
    actions.append(.multicast(deflated, ids))
  }

  func isAsleep(_ slot: Hub.Slot, _ sleepers: Set<DeviceID>) -> Bool {
    connections[slot].session.map { sleepers.contains($0.device) } ?? false
  }

  private mutating func sendHints(to ids: [ConnectionID], _ token: ChangeToken) {
    let hint = WebSocketFrame.text(RelayMessage.changed(token: token).encoded())
    for id in ids {
      guard let slot = connections.slot(of: id) else { continue }
      connections[slot].queue.add(hint.count, at: moment.instant)
    }
    actions.append(.multicast(hint, ids))
  }

  // MARK: long-polls

  /// A poll begins to listen before the store is read for it.
  mutating func watchChanges(_ slot: Hub.Slot, _ query: FetchQuery) {
    guard query.waitMilliseconds > 0, let since = query.since, since.pinned == nil,
      let session = connections[slot].session
    else { return }
    var poll = LongPoll(
      query: query,
      endsAt: moment.instant.advanced(
        milliseconds: min(query.waitMilliseconds, Limits.longPollHeldMilliseconds)))
    if let head = connections[slot].http.exchange?.value.head {
      poll.sharesAnswers =
        query.zone == nil && head.minorVersion == 1 && head.method == "GET" && head.keepsAlive
    }
    connections[slot].http.exchange?.value.poll = poll
    hub.watchByPoll(slot, session.account)
  }

  /// A poll that stands where the account does, as far as has been heard, waits without a look into
  /// the store. False where it has to be read for.
  mutating func parkAtOnce(_ slot: Hub.Slot) -> Bool {
    guard stage == .running, let session = connections[slot].session,
      let newest = hub.newest(of: session.account),
      connections[slot].http.exchange?.value.poll?.stands(at: newest) == true
    else { return false }
    connections[slot].http.exchange?.value.poll?.token = newest
    connections[slot].http.exchange?.value.stage = .parked
    return true
  }

  /// The store was read for a poll: it is answered, or waits.
  mutating func pageRead(_ slot: Hub.Slot, _ query: FetchQuery, _ page: ReadPage) {
    guard let poll = connections[slot].http.exchange?.value.poll, !page.more,
      page.isEmpty || !(poll.isWoken || isWoken(slot, by: page.records))
    else {
      answer(slot, Answer(status: 200, json: page.bytes))
      return
    }
    if let session = connections[slot].session, session.plan.hasNoZone {
      answer(slot, Answer(Session.needsPlan))
      return
    }
    connections[slot].http.exchange?.value.poll?.token = page.token
    connections[slot].http.exchange?.value.poll?.isWoken = false
    if !page.isEmpty { connections[slot].http.exchange?.value.poll?.passed = page.token }
    guard moment.instant < poll.endsAt, stage == .running else {
      answerEmpty(slot)
      return
    }
    if let heard = poll.heard, !page.token.covers(heard) {
      connections[slot].http.exchange?.value.poll?.isWoken = poll.isWoken
      readAgain(slot)
      return
    }
    if let session = connections[slot].session, poll.query.zone == nil {
      // It was a member from before it was read for, so all commits since then were heard of.
      hub.learned(session.account, standsAt: page.token)
    }
    connections[slot].http.exchange?.value.stage = .parked
  }

  /// Whether what was read contains something that wakes the device.
  private func isWoken(_ slot: Hub.Slot, by records: [Record]) -> Bool {
    guard let session = connections[slot].session,
      let rules = hub.watchers(of: session.account)?.rules
    else { return true }
    return rules.wakes(session.device, standing: records)
  }

  private mutating func tellPolls(
    _ polls: [Hub.Slot], _ change: AccountChange, _ sleepers: Set<DeviceID>
  ) {
    var answered: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    for slot in polls {
      guard let poll = connections[slot].http.exchange?.value.poll,
        poll.query.zone.map({ $0 == change.zone }) ?? true, !poll.knows(change.token)
      else { continue }
      if isAsleep(slot, sleepers) {
        connections[slot].http.exchange?.value.poll?.passed = change.token
        continue
      }
      switch connections[slot].http.exchange?.value.stage {
      case .parked:
        if isSharedAnswer(change, poll) {
          answered.append(slot)
        } else {
          connections[slot].http.exchange?.value.poll?.isWoken = true
          behind.append(slot)
        }
      case .asking:
        connections[slot].http.exchange?.value.poll?.heard = change.token
        connections[slot].http.exchange?.value.poll?.isWoken = true
      case .reading, .full, .whole, .sending, .streaming, nil: break
      }
    }
    if !answered.isEmpty { answerTogether(answered, change) }
    for slot in behind { readAgain(slot) }
    for slot in behind + answered { read(slot) }
  }

  /// The device's subscriptions are others now: what they passed over is looked at again.
  mutating func ruleChanged(ofPoll slot: Hub.Slot) {
    guard let passed = connections[slot].http.exchange?.value.poll?.passed else { return }
    switch connections[slot].http.exchange?.value.stage {
    case .parked:
      readAgain(slot)
      read(slot)
    case .asking: connections[slot].http.exchange?.value.poll?.heard = passed
    case .reading, .full, .whole, .sending, .streaming, nil: break
    }
  }

  /// Whether the commit alone is the whole answer, in the bytes that others get too.
  private func isSharedAnswer(_ change: borrowing AccountChange, _ poll: LongPoll) -> Bool {
    guard poll.sharesAnswers, stage == .running, let count = change.told?.records.count else {
      return false
    }
    return poll.query.since == change.since && poll.token == change.since
      && count <= poll.query.limit
  }

  private mutating func answerTogether(_ slots: [Hub.Slot], _ change: AccountChange) {
    guard let told = change.told else { return }
    let body = told.changes.body(since: change.since, token: change.token, more: false)
    let answer = Answer(status: 200, json: body)
    status.pushes += slots.count
    // Pages of one origin get the same bytes, and so does whoever is no page.
    var rest = slots
    while let first = rest.first {
      let crossOrigin = connections[first].crossOrigin
      let alike = rest.filter { connections[$0].crossOrigin == crossOrigin }
      rest.removeAll { connections[$0].crossOrigin == crossOrigin }
      let bytes = response(
        answer, head: nil, door: .front, crossOrigin: crossOrigin, closes: false)
      send(bytes, asSharedAnswerTo: alike)
    }
  }

  private mutating func send(_ bytes: [UInt8], asSharedAnswerTo slots: [Hub.Slot]) {
    actions.append(.multicast(bytes, slots.map { connections[$0].id }))
    for slot in slots {
      connections[slot].queue.add(bytes.count, at: moment.instant)
      endExchange(slot, closes: false)
    }
  }

  private mutating func readAgain(_ slot: Hub.Slot) {
    guard let session = connections[slot].session,
      let query = connections[slot].http.exchange?.value.poll?.query
    else { return }
    connections[slot].http.exchange?.value.poll?.heard = nil
    connections[slot].http.exchange?.value.stage = .asking
    watchRequest(slot)
    let isAsked = askPage(
      session, query, as: .body(keepsRecords: true),
      for: .call(connections[slot].id, .changes(query)))
    if !isAsked { answer(slot, Answer(CommitQueue.overloaded)) }
  }

  /// A poll with nothing to tell ends: its time is up, or the relay stops.
  mutating func answerEmpty(_ slot: Hub.Slot) {
    guard let poll = connections[slot].http.exchange?.value.poll,
      // What did not wake the device it has not been told.
      let token = poll.passed == nil ? poll.token ?? poll.query.since : poll.query.since
    else { return }
    let page = ChangePage(since: poll.query.since, token: token, more: false, changes: [])
    answer(slot, Answer(status: 200, json: page.encodedBody()))
  }
}

extension Connection {
  /// What a socket is told of a commit, and whether it takes that compressed; only a plain push is
  /// added to its queue here. `own`: the connection that asked for the commit. `frameBytes`: of the
  /// push, 0 where it is too large to be one. `limit`: bytes that may wait.
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
