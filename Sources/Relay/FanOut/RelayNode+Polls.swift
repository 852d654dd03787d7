import LockstepModel
import LockstepStorage
import LockstepWire

/// Long-polls: waiting, and answers to commits.
extension RelayNode {
  /// Registers a poll for news, before the store is read for it.
  mutating func watchChanges(_ slot: Hub.Slot, _ query: FetchQuery) {
    guard query.waitMilliseconds > 0, let since = query.since, since.pinned == nil,
      let session = connections[slot].session
    else { return }
    var poll = LongPoll(query, at: moment.instant)
    if let head = connections[slot].http.exchange?.value.head {
      poll.sharesAnswers = query.zone == nil && head.isPlainGet
    }
    connections[slot].http.exchange?.value.poll = poll
    hub.watchByPoll(slot, session.account)
  }

  /// Parks a poll at the account's newest known token, without a read of the store. Returns false
  /// if the store must be read.
  mutating func parkAtOnce(_ slot: Hub.Slot) -> Bool {
    guard stage == .running, let session = connections[slot].session,
      let newest = hub.newest(of: session.account),
      connections[slot].http.exchange?.value.poll?.stands(at: newest) == true
    else { return false }
    connections[slot].http.exchange?.value.poll?.token = newest
    park(slot)
    return true
  }

  private mutating func park(_ slot: Hub.Slot) {
    connections[slot].http.exchange?.value.poll?.number = peerRelays.park()
    connections[slot].http.exchange?.value.stage = .parked
  }

  /// Answers or parks a poll after the store was read for it.
  mutating func pageRead(_ slot: Hub.Slot, _ query: FetchQuery, _ page: ReadPage) {
    guard let poll = connections[slot].http.exchange?.value.poll, !page.more,
      page.isEmpty || !(poll.isWoken || isWoken(slot, by: page.records))
    else {
      answer(slot, answerWithReconnect(page.bytes))
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
      // The connection was a member before the read, so all commits since then were heard of.
      hub.learned(session.account, standsAt: page.token)
    }
    park(slot)
  }

  /// True if one of the records matches the device's filter.
  func isWoken(_ slot: Hub.Slot, by records: [Record]) -> Bool {
    guard let session = connections[slot].session,
      let rules = hub.watchers(of: session.account)?.rules
    else { return true }
    return rules.wakes(session.device, standing: records)
  }

  mutating func tellPolls(
    _ polls: [Hub.Slot], _ change: AccountChange, _ unmatchedDevices: Set<DeviceID>,
    _ lastPoll: UInt64
  ) {
    var answered: [Hub.Slot] = []
    var behind: [Hub.Slot] = []
    for slot in polls {
      guard let poll = connections[slot].http.exchange?.value.poll,
        change.mayConcern(poll.query.zone), !poll.knows(change.token)
      else { continue }
      if isAsleep(slot, unmatchedDevices) {
        connections[slot].http.exchange?.value.poll?.passed = change.token
        continue
      }
      switch connections[slot].http.exchange?.value.stage {
      case .parked:
        if isSharedAnswer(change, poll), poll.number <= lastPoll {
          answered.append(slot)
        } else {
          connections[slot].http.exchange?.value.poll?.isWoken = true
          behind.append(slot)
        }
      case .asking:
        connections[slot].http.exchange?.value.poll?.heard = change.token
        connections[slot].http.exchange?.value.poll?.isWoken = true
      case .reading, .full, .whole, .delayed, .sending, .streaming, nil: break
      }
    }
    if !answered.isEmpty { answerTogether(answered, change) }
    for slot in behind { readAgain(slot) }
    for slot in behind { read(slot) }
    for slot in answered {
      // Usually no request follows a poll.
      if connections[slot].holdsNothing(), !isCrowded(slot) {
        watchRequest(slot)
      } else {
        read(slot)
      }
    }
  }

  /// Handles new subscriptions of the device: changes that the old ones skipped are checked again.
  mutating func ruleChanged(ofPoll slot: Hub.Slot) {
    guard let passed = connections[slot].http.exchange?.value.poll?.passed else { return }
    switch connections[slot].http.exchange?.value.stage {
    case .parked:
      readAgain(slot)
      read(slot)
    case .asking: connections[slot].http.exchange?.value.poll?.heard = passed
    case .reading, .full, .whole, .delayed, .sending, .streaming, nil: break
    }
  }

  /// True if the commit alone is the whole answer, in bytes shared with other connections.
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
    let answer = answerWithReconnect(body)
    status.pushes += slots.count
    // Pages of one origin get the same bytes, and so do all clients that are not pages.
    var rest = slots
    while let first = rest.first {
      let crossOrigin = connections[first].crossOrigin
      let alike = rest.filter { connections[$0].crossOrigin == crossOrigin }
      rest.removeAll { connections[$0].crossOrigin == crossOrigin }
      let bytes = response(
        answer, head: nil, opening: connections[first].opening, crossOrigin: crossOrigin,
        closes: false)
      send(answer, as: bytes, to: alike)
    }
  }

  private mutating func send(
    _ answer: borrowing Answer, as bytes: [UInt8], to slots: [Hub.Slot]
  ) {
    actions.append(.multicast(bytes, slots.map { connections[$0].id }))
    for slot in slots {
      connections[slot].queue.add(bytes.count, at: moment.instant)
      connections[slot].http.exchange?.value.note(answer)
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
      session, query, as: PageForm(shape: .body, keepsRecords: true),
      for: .call(connections[slot].id, .changes(query)))
    if !isAsked { answer(slot, Answer(admission.refusal(of: holder(of: slot)))) }
  }

  /// Ends a poll whose time is up. If the store is shared, it is read once more, because commits of
  /// other relays may be unheard.
  mutating func endPoll(_ slot: Hub.Slot) {
    if configuration.sharesStore { readAgain(slot) } else { answerEmpty(slot) }
  }

  /// Ends a poll without changes: its time is up, the relay stops, or the client has closed its
  /// side and sends no more (`isLast`).
  mutating func answerEmpty(_ slot: Hub.Slot, isLast: Bool = false) {
    guard let poll = connections[slot].http.exchange?.value.poll,
      // Skipped changes were not sent to the device, so its token stays.
      let token = poll.passed == nil ? poll.token ?? poll.query.since : poll.query.since
    else { return }
    let page = ChangePage(since: poll.query.since, token: token, more: false, changes: [])
    answer(slot, answerWithReconnect(page.encodedBody()), isLast: isLast)
  }

  // MARK: repeated polls

  /// Restarts a poll that differs from the one before only in its token, as clients send it that
  /// ask for nothing else: the parsed head and the session stay valid. Returns false, and does
  /// nothing, if the bytes must be parsed: it is another request, or incomplete, or needs more than
  /// waiting.
  mutating func pollsAgain(_ slot: Hub.Slot, _ bytes: RawSpan) -> Bool {
    guard let since = connections[slot].http.repeatedSince(in: bytes), stage == .running,
      !isCrowded(slot), let session = connections[slot].session, !session.plan.hasNoZone,
      hub.watchByPoll(slot, session.account, standingAt: since, limit: watcherLimit(slot))
    else { return false }
    guard chargeDevice(slot, session) == nil else {
      hub.endPoll(slot, session.account)
      return false
    }
    status.requests += 1
    connections[slot].http.repeatPoll(
      since: since, number: peerRelays.park(), at: moment.instant)
    watchRequest(slot)
    return true
  }
}

extension HTTPState {
  /// Keeps an answered poll for its repetition.
  mutating func expectRepetition() {
    if exchange?.value.repetition == nil {
      guard let request = exchange?.value, request.headBytes == 0,
        let query = request.poll?.query
      else { return }
      exchange?.value.repetition = RepeatedPoll(request.head, query)
    }
    if exchange?.value.repetition != nil { swap(&exchange, &lastPoll) }
  }

  /// Returns the token if `bytes` repeat the last poll and nothing else has come.
  fileprivate mutating func repeatedSince(in bytes: RawSpan) -> ChangeToken? {
    guard exchange == nil, awaitsRequest() else { return nil }
    return lastPoll?.value.repetition?.since(in: bytes)
  }

  /// Restarts the last poll, for changes after `since`, the account's token.
  fileprivate mutating func repeatPoll(since: ChangeToken, number: UInt64, at now: Instant) {
    swap(&exchange, &lastPoll)
    exchange?.value.repeatPoll(since: since, number: number, at: now)
  }
}

extension HTTPExchange {
  fileprivate mutating func repeatPoll(since: ChangeToken, number: UInt64, at now: Instant) {
    begunAt = now
    stage = .parked
    status = 0
    answerBytes = 0
    poll?.wait(since: since, at: now)
    poll?.number = number
  }
}
