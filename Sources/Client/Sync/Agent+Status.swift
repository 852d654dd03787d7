import LockstepModel

/// Status of the sync, for users.
extension Agent {
  /// Returns relay time as known to this device, milliseconds: the same on all devices that know
  /// it, to a few milliseconds.
  public func relayTime(at moment: Moment) -> Int64 { clock.reading(at: moment).relayTime }

  /// Token up to which the device has read; nil before the first snapshot is complete, and during
  /// one.
  public var cursor: ChangeToken? { engine.position.cursor }

  func status(at moment: Moment) -> SyncStatus {
    var status = SyncStatus()
    let reading = clock.reading(at: moment)
    status.state = state
    status.lastSync = lastSync
    status.transport = engine.transport
    status.waiting = engine.outbox.unsentWhileOn
    status.switchedOff = engine.outbox.off.map { zone in
      SyncStatus.SwitchedOff(
        zone: zone, waiting: engine.outbox.waiting.first { $0.zone == zone }?.count ?? 0)
    }
    status.questions = engine.outbox.questions
    status.parked = engine.outbox.parked
    status.parkedCount = engine.outbox.parkedCount
    status.asking = engine.outbox.asking
    status.askingCount = engine.outbox.askingCount
    status.blockedZones = engine.blockedZones
    status.setAsideCount = engine.outbox.setAsideCount
    status.chunksWaiting = chunks.transfer.waitingCount
    status.chunksRefused = chunks.transfer.refusal
    status.clockOffset = clock.isKnown ? reading.offset : nil
    status.traffic = traffic
    return status
  }

  /// Reports the status if it has changed. Changes of the counters, of the offset by a few
  /// milliseconds, and of the time of the last sync are not reported by themselves. Chunks report
  /// their progress separately.
  mutating func reportStatus(at moment: Moment) {
    if engine.isInSync {
      lastSync = clock.reading(at: moment).relayTime
      backoff.reset()
    }
    guard home != nil, !hasStopped else { return }
    let now = status(at: moment)
    var known = reported
    known.traffic = now.traffic
    known.lastSync = now.lastSync
    known.chunksWaiting = now.chunksWaiting
    if let old = known.clockOffset, let new = now.clockOffset,
      abs(new - old) < Limits.offsetToldMilliseconds
    {
      known.clockOffset = new
    }
    guard now != known else { return }
    reported = now
    report(.status(now))
  }

  private var state: SyncStatus.State {
    if hasStopped { return .stopped }
    if let failure { return .failed(reason: failure) }
    guard home != nil else { return .starting }
    if let outage { return .offline(since: outage.since, reason: outage.reason) }
    if engine.isPaused, let pause { return .offline(since: pause.since, reason: pause.reason) }
    guard engine.isInSync else { return .syncing }
    let waitsForPerson =
      engine.outbox.parkedCount > 0 || engine.outbox.askingCount > 0
      || engine.outbox.unsentWhileOn > 0 || !engine.outbox.questions.isEmpty
    return waitsForPerson ? .needsPerson : .inSync
  }

  private var traffic: Traffic {
    var sum = output.traffic
    for other in [probeOutput.traffic, chunks.output.traffic] {
      sum.connections += other.connections
      sum.requests += other.requests
      sum.messages += other.messages
      sum.bytesSent += other.bytesSent
      sum.bytesReceived += other.bytesReceived
    }
    sum.edits = edits
    sum.conflicts = conflicts
    return sum
  }
}
