import LockstepModel
import LockstepStorage

/// Stamps are relay time. An edit made while that was not known carries a guess, and is stamped
/// anew before it is sent.
extension ReplicaState {
  /// A stamp for a new edit: later than all that was seen of the record, however wrong the clock.
  func stamp(after held: Record?, _ clock: ClockReading) -> Int64 {
    guard let held else { return clock.relayTime }
    return max(clock.relayTime, held.modifiedAt + 1)
  }

  /// Remembers by which offset untrusted stamps are made, so that they can be corrected by the
  /// difference to the true one.
  mutating func noteOffset(_ clock: ClockReading) {
    guard clock.offset != assumedOffset else { return }
    // A trusted offset wanders by a few milliseconds; each of those is not worth a write.
    let isClose = abs(clock.offset - assumedOffset) < Limits.offsetNoteMilliseconds
    guard !(clock.isTrusted && isClose) else { return }
    assumedOffset = clock.offset
    ledger.setValue(ReplicaState.offsetKey, String(clock.offset))
  }

  /// Somebody has set the wall clock: the offset by which the guesses so far were made is counted
  /// from the new one from here on, as the true offset will be.
  mutating func followSteps(of clock: ClockReading) {
    guard clock.wallSteps != followedSteps else { return }
    assumedOffset -= clock.wallSteps - followedSteps
    followedSteps = clock.wallSteps
    ledger.setValue(ReplicaState.offsetKey, String(assumedOffset))
  }

  /// Corrects the stamps that were guesses, now that relay time is known, and those that lie in the
  /// relay's future. What is in flight stays as it is.
  mutating func restamp(_ clock: ClockReading) throws(StorageError) {
    guard clock.isTrusted else { return }
    if ledger.outbox.untrustedCount > 0 {
      let shift = clock.offset - assumedOffset
      for entry in ledger.outbox.entries where !entry.isStampTrusted && !entry.isSent {
        guard let entry = try rewind(entry, clock) else { continue }
        try restamp(entry, shift: shift, clock)
      }
    }
    noteOffset(clock)
  }

  /// Takes back what time made of a record while this device's clock was ahead, as far as its hour
  /// has not come: others would take it for newer than all that is done until then. It is made
  /// again in its time. nil where nothing is left of the entry.
  private mutating func rewind(_ entry: OutboxEntry, _ clock: ClockReading) throws(StorageError)
    -> OutboxEntry?
  {
    guard entry.state == .waiting, entry.timeMade != nil, let base = entry.base else {
      return entry
    }
    var made = base
    var inTime = base
    var isEarly = false
    for _ in 0..<Limits.dueEdits {
      guard let edit = merging.dueEdit(for: made) else { return entry }
      isEarly = isEarly || edit.dueAt > clock.relayTime
      made.fields = edit.fields.serialized()
      if !isEarly { inTime = made }
      guard Merging.equal(made.fields, entry.fields) else { continue }
      return isEarly ? try rewind(entry, to: inTime, from: base) : entry
    }
    return entry
  }

  private mutating func rewind(_ old: OutboxEntry, to inTime: Record, from base: Record)
    throws(StorageError) -> OutboxEntry?
  {
    let tag = try ledger.record(old.key)?.tag ?? base.tag
    guard inTime != base else {
      ledger.remove(old)
      var held = base
      held.tag = tag
      try ledger.put(held)
      return nil
    }
    var entry = old
    entry.fields = inTime.fields
    entry.timeMade = entry.record(by: device, tag: 0)
    ledger.put(entry)
    try ledger.put(try record(of: entry, tag: tag))
    return entry
  }

  private mutating func restamp(_ old: OutboxEntry, shift: Int64, _ clock: ClockReading)
    throws(StorageError)
  {
    let seen = [old.base?.modifiedAt, ledger.outbox.sent(old.key)?.modifiedAt].compactMap { $0 }
    var stamp = min(old.modifiedAt + shift, clock.relayTime)
    if let newest = seen.max() { stamp = max(stamp, newest + 1) }
    var entry = old
    entry.isStampTrusted = true
    if stamp != old.modifiedAt {
      entry.fields = merging.restamped(old, to: stamp)
      entry.modifiedAt = stamp
      entry.timeMade = restamped(old, by: stamp - old.modifiedAt)
      let tag = try ledger.record(old.key)?.tag ?? 0
      try ledger.put(try record(of: entry, tag: tag))
    }
    ledger.put(entry)
  }

  /// What time made of an edit whose stamp moves by so many milliseconds.
  private func restamped(_ entry: OutboxEntry, by shift: Int64) -> Record? {
    guard var made = entry.timeMade else { return nil }
    var twin = entry
    twin.fields = made.fields
    twin.modifiedAt = made.modifiedAt
    made.fields = merging.restamped(twin, to: made.modifiedAt + shift)
    made.modifiedAt += shift
    return made
  }
}
