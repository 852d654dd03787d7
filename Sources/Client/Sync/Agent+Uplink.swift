import LockstepLanguage
import LockstepModel
import LockstepWire

/// Connecting, events of the uplink, and the handling of its failures.
extension Agent {
  mutating func connect(at moment: Moment) {
    guard isNetworkOn, !isStopping, failure == nil, uplink == nil, !isFollowing, let credentials
    else { return }
    if case .asleep = rest { rest = .awake }
    deadlines.clear(.retry)
    switch transportSelector.transport {
    case .webSocket:
      uplink = Uplink(
        SocketUplink(credentials, random: random.branch(), at: moment.instant, &output))
    case .events, .longPoll, .poll:
      uplink = Uplink(HTTPUplink(credentials, at: moment.instant, &output))
    }
  }

  /// Retries after the backoff, or at a user's request.
  mutating func retry(at moment: Moment) {
    deadlines.clear(.retry)
    guard !jobs.contains(where: { $0.kind == .load }) else { return }
    if failure != nil || home == nil {
      // The store is read again: it may have been replaced or repaired.
      submit(.load, .load, at: moment)
    } else {
      connect(at: moment)
    }
  }

  mutating func disconnect(because reason: String, at moment: Moment) {
    uplink?.close(&output)
    probe?.close(&probeOutput)
    uplink = nil
    probe = nil
    connectionLost(because: reason, at: moment)
    deadlines.clear(.retry)
  }

  mutating func handleUplinkEvents(at moment: Moment) {
    while true {
      if let event = output.nextEvent() {
        handleUplinkEvent(event, at: moment)
      } else if let event = probeOutput.nextEvent() {
        handleProbeEvent(event, at: moment)
      } else {
        return
      }
    }
  }

  private mutating func handleUplinkEvent(_ event: UplinkEvent, at moment: Moment) {
    switch event {
    case .readyForHello: uplink?.sendHello(since: engine.beginHello(), at: moment.instant, &output)
    case .online(let newest): uplinkOnline(newest: newest, at: moment)
    case .clock(let sample):
      clock.add(sample)
      samplesWanted -= 1
      if samplesWanted > 0 { uplink?.measureTime(at: moment.instant, &output) }
    case .saved(let id, let answer):
      moves = 0
      reportAnswered(id, answer, at: moment)
      engine.saved(id, answer)
    case .saveRefused(let id, let refusal):
      engine.saveRefused(id, refusal)
      followIfMoved(refusal, at: moment)
      guard refusal.code == .planRequired || refusal.code == .outOfScope else { return }
      deadlines.set(
        .plan, moment.instant.advanced(milliseconds: Limits.planRetryMilliseconds))
    case .saveTooLarge(let id, let refusal):
      engine.saveTooLarge(id, refusal)
      deadlines.set(
        .plan, moment.instant.advanced(milliseconds: Limits.planRetryMilliseconds))
    case .longPollServed: transportSelector.transportServed(at: moment.instant)
    case .longPollCut(let milliseconds):
      cutLongPoll = CutLongPoll(heldMilliseconds: milliseconds)
      engine.longPollCut()
    case .page(let page, let origin):
      moves = 0
      if origin == workingOrigin { transportSelector.transportServed(at: moment.instant) }
      if origin == .fetch { confirmLongPollCut(at: moment) }
      reportReceived(page)
      engine.page(page, origin)
    case .fetchRefused(let refusal, let origin):
      engine.fetchRefused(refusal, origin)
      followIfMoved(refusal, at: moment)
    case .hint(let token): engine.hint(token)
    case .reconnectWithin(let milliseconds): reconnectWithin = milliseconds
    case .failed(let failure): uplinkFailed(failure, at: moment)
    }
  }

  /// Origin of the pages that prove that the transport works; a socket proves it by the welcome
  /// message.
  private var workingOrigin: PageOrigin? {
    switch transportSelector.transport {
    case .webSocket: nil
    case .events: .stream
    // A long-poll that was answered at once proves nothing about one that is held.
    case .longPoll: nil
    case .poll: .fetch
    }
  }

  /// The relay is reachable, so the long-poll itself did not work.
  private mutating func confirmLongPollCut(at moment: Moment) {
    guard let cut = cutLongPoll else { return }
    cutLongPoll = nil
    transportSelector.longPollCut(heldMilliseconds: cut.heldMilliseconds, at: moment.instant)
    applySelectedTransport(at: moment)
  }

  /// Applies the selected transport. The connection stays if both transports use HTTP.
  private mutating func applySelectedTransport(at moment: Moment) {
    guard engine.transport != nil, engine.transport != transportSelector.transport else { return }
    engine.changeTransport(transportSelector.transport)
    if transportSelector.transport == .poll {
      deadlines.set(.poll, moment.instant.advanced(milliseconds: configuration.pollMilliseconds))
    } else {
      deadlines.clear(.poll)
    }
  }

  private mutating func uplinkOnline(newest: ChangeToken?, at moment: Moment) {
    let now = moment.instant
    outage = nil
    // A relay with many devices sends another value right after this.
    reconnectWithin = 0
    catchUpDeadline = now.advanced(milliseconds: Limits.catchUpMilliseconds)
    engine.online(transportSelector.transport, newest: newest)
    if transportSelector.transport == .webSocket {
      moves = 0
      transportSelector.transportServed(at: now)
      // On a socket, several measurements to choose from cost almost nothing.
      samplesWanted = Limits.clockSamples
      uplink?.measureTime(at: now, &output)
      deadlines.set(.backlog, now.advanced(milliseconds: Limits.answerMilliseconds))
    }
    deadlines.set(.measure, now.advanced(milliseconds: Limits.clockMeasureMilliseconds))
  }

  private mutating func uplinkFailed(_ failed: UplinkFailure, at moment: Moment) {
    uplink = nil
    connectionLost(because: failed.reason, at: moment)
    var retryAfter: Int64?
    var spread = reconnectWithin
    switch failed.kind {
    case .unreachable, .lost: break
    case .transportFailed:
      // A fault of the path, which may not affect other devices.
      spread = 0
      transportSelector.transportFailed(at: moment.instant)
    case .refused(let refusal):
      if refusal.code.advice == .askPerson { return fail(refusal, at: moment) }
      if refusal.code == .accountMoved { return follow(refusal, at: moment) }
      retryAfter = refusal.retryAfterMilliseconds
    case .barred: return failBarred(failed.reason, at: moment)
    }
    let delay = backoff.next(
      retryAfterMilliseconds: retryAfter, spreadMilliseconds: spread, random: &random)
    deadlines.set(.retry, moment.instant.advanced(milliseconds: delay))
    endSyncOrders(at: moment)
  }

  private mutating func connectionLost(because reason: String, at moment: Moment) {
    engine.offline()
    cutLongPoll = nil
    for kind in [AgentDeadlines.Kind.resume, .poll, .measure, .backlog] { deadlines.clear(kind) }
    if let since = outage?.since {
      outage = Outage(since: since, reason: reason)
    } else {
      outage = Outage(since: clock.reading(at: moment).relayTime, reason: reason)
    }
  }

  /// Stops the sync until a user acts. Nothing is discarded.
  mutating func fail(_ refusal: Refusal, at moment: Moment) {
    disconnect(because: refusal.detail, at: moment)
    failure =
      switch refusal.code {
      case .badToken:
        localized(
          "the relay does not know this device any more; join the account again "
            + "with a code of another device (lockstep agent join); unsent changes "
            + "are kept")
      case .planRequired:
        localized("the account's plan does not include sync ({reason})", ["reason": refusal.detail])
      default: "\(refusal.code.title): \(refusal.detail)"
      }
  }

  private mutating func failBarred(_ reason: String, at moment: Moment) {
    disconnect(because: reason, at: moment)
    failure = localized(
      "{reason}; this version does not know the reason: update it", ["reason": reason])
  }

  // MARK: sleep

  /// Connects, if the agent sleeps, and stays connected.
  mutating func wake(at moment: Moment) {
    guard case .asleep = rest else {
      rest = .awake
      return
    }
    backoff.reset()
    retry(at: moment)
  }

  /// Closes the connection of an agent that may sleep once nothing waits, and connects one that
  /// sleeps as soon as something does.
  mutating func advanceRest(at moment: Moment) {
    switch rest {
    case .awake: break
    case .falling:
      let isIdle =
        engine.isSettled && jobs.isEmpty && chunks.jobs.isEmpty && chunks.fetches.isEmpty
        && syncOrders.isEmpty && !chunks.transfer.isBusy
      guard isIdle, !isStopping else { return }
      let position = cursor
      uplink?.close(at: position, &output)
      probe?.close(&probeOutput)
      uplink = nil
      probe = nil
      connectionLost(because: Agent.sleeps, at: moment)
      // There is no failure to report: the relay was reached to the end.
      outage = nil
      deadlines.clear(.retry)
      rest = .asleep(since: clock.reading(at: moment).relayTime)
      advanceUploads(at: moment)
    case .asleep:
      guard !isStopping, isNetworkOn, failure == nil else { return }
      if engine.needsRelay || !chunks.fetches.isEmpty { wake(at: moment) }
    }
  }

  private static let sleeps = "the device sleeps"

  // MARK: actions of the engine

  mutating func perform(_ action: SyncEngine.Action, at moment: Moment) {
    let now = moment.instant
    switch action {
    case .freezeBatch(let bounds): submit(.freezeBatch, .sync, offer: bounds, at: moment)
    case .apply(let arrivals, let bounds):
      submit(.apply(arrivals), .sync, offer: bounds, at: moment)
    case .refuseBatch(let id, let refusal):
      submit(.refuseBatch(id, refusal), .sync, at: moment)
    case .setAside(let id): submit(.setAside(id), .sync, at: moment)
    case .retryRefused(let withParked):
      submit(.retryRefused(withParked: withParked), .sync, at: moment)
    case .forgetCursor(let restoredThrough, let lostThrough, let generation):
      let task = ReplicaTask.forgetCursor(
        restoredThrough: restoredThrough, lostThrough: lostThrough, in: generation)
      submit(task, .sync, at: moment)
    case .bringBack: submit(.bringBack, .sync, at: moment)
    case .save(let request): saveBatch(request, at: now)
    case .fetch(let since):
      uplink?.fetch(since: since, at: now, &output)
      if engine.transport == .poll {
        deadlines.set(.poll, now.advanced(milliseconds: configuration.pollMilliseconds))
      }
    case .wait(let since):
      uplink?.wait(
        since: since, milliseconds: transportSelector.waitMilliseconds, at: now, &output)
    case .listen(let since): uplink?.listen(since: since, at: now, &output)
    case .measureClock:
      clock.invalidate()
      uplink?.measureTime(at: now, &output)
    case .pause(let refusal):
      let delay = backoff.next(
        retryAfterMilliseconds: refusal.retryAfterMilliseconds, random: &random)
      deadlines.set(.resume, now.advanced(milliseconds: delay))
      pause = Outage(
        since: clock.reading(at: moment).relayTime,
        reason: refusal.detail.isEmpty ? refusal.code.title : refusal.detail)
    case .fail(let refusal): fail(refusal, at: moment)
    }
  }

  private mutating func saveBatch(_ batch: SaveRequest, at now: Instant) {
    var batch = batch
    batch.timed = configuration.reportsMilestones
    uplink?.save(batch, at: now, &output)
    reportSent(batch)
  }

  // MARK: a better transport

  mutating func startProbe(at moment: Moment) {
    guard transportSelector.canUpgradeToSocket, let credentials else {
      return tryBetter(at: moment)
    }
    probe = Uplink(
      SocketUplink(credentials, random: random.branch(), at: moment.instant, &probeOutput))
  }

  /// Tries the same requests with one of them held, or held for longer.
  private mutating func tryBetter(at moment: Moment) {
    transportSelector.tryBetter(at: moment.instant)
    applySelectedTransport(at: moment)
  }

  private mutating func handleProbeEvent(_ event: UplinkEvent, at moment: Moment) {
    switch event {
    // Without the cursor: messages on the old transport may still advance it.
    case .readyForHello: probe?.sendHello(since: nil, at: moment.instant, &probeOutput)
    case .clock(let sample): clock.add(sample)
    case .online(let newest):
      uplink?.close(&output)
      engine.offline()
      deadlines.clear(.poll)
      uplink = probe
      probe = nil
      // A still lesser transport may have been selected meanwhile.
      transportSelector.upgrade(to: .webSocket, at: moment.instant)
      uplinkOnline(newest: newest, at: moment)
    case .failed(let failed):
      probe = nil
      if case .refused(let refusal) = failed.kind {
        if refusal.code.advice == .askPerson { return fail(refusal, at: moment) }
        if refusal.code == .accountMoved { return follow(refusal, at: moment) }
      }
      if case .barred = failed.kind { return failBarred(failed.reason, at: moment) }
      tryBetter(at: moment)
    case .reconnectWithin(let milliseconds): reconnectWithin = milliseconds
    case .saved, .saveRefused, .saveTooLarge, .page, .fetchRefused, .longPollServed, .longPollCut,
      .hint:
      break
    }
  }
}
