import LockstepModel
import LockstepStorage

/// Stamps are relay time. An edit made while relay time was unknown has an estimated stamp, and is
/// stamped again before it is sent.
extension ReplicaState {
  /// Returns a stamp for a new edit: later than all known versions of the record, however wrong the
  /// clock is.
  func stamp(after held: Record?, _ clock: ClockReading) -> Int64 {
    guard let held else { return clock.relayTime }
    return max(clock.relayTime, held.modifiedAt + 1)
  }

  /// Records the offset that untrusted stamps are made with, so that they can be corrected by the
  /// difference to the true offset.
  mutating func noteOffset(_ clock: ClockReading) {
    guard clock.offset != assumedOffset else { return }
    // A trusted offset varies by a few milliseconds; that is not worth a write.
    let isClose = abs(clock.offset - assumedOffset) < Limits.offsetNoteMilliseconds
    guard !(clock.isTrusted && isClose) else { return }
    assumedOffset = clock.offset
    ledger.setValue(ReplicaState.offsetKey, String(clock.offset))
  }

  /// Follows a step of the wall clock: the offset of the estimates so far is converted to the new
  /// wall clock, which the true offset will refer to.
  mutating func followSteps(of clock: ClockReading) {
    guard clock.wallSteps != followedSteps else { return }
    assumedOffset -= clock.wallSteps - followedSteps
    followedSteps = clock.wallSteps
    ledger.setValue(ReplicaState.offsetKey, String(assumedOffset))
  }

  /// Corrects the stamps that were estimates, now that relay time is known, and those in the
  /// relay's future. Entries in flight are not changed.
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

  /// Undoes due edits that were made too early because this device's clock was ahead: other devices
  /// would treat them as newer than all edits made until then. They are made again when they are
  /// due. Returns nil if nothing of the entry remains.
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

  /// Returns the result of due edits after the entry's stamp moves by `shift` milliseconds.
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
