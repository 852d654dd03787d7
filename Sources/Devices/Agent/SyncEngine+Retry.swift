import Changes
import Link

/// What failed on the way to the relay, and what is tried again.
extension SyncEngine {
  /// The way may be another one by now: what was too large for it is tried again.
  mutating func retrySetAside() {
    batchBytes = Limits.batchBytes
    if outbox.setAsideCount > 0 { retry(withParked: false) }
  }

  /// A person asks: what was given up on is tried again, also what the relay has refused.
  mutating func tryEverything() {
    isPaused = false
    unblockZones()
    batchRecords = Limits.batchRecords
    batchBytes = Limits.batchBytes
    if outbox.setAsideCount > 0 || outbox.parkedCount > 0 { retry(withParked: true) }
    fetchNow()
  }

  private mutating func retry(withParked: Bool) {
    pending.append(.retryRefused(withParked: withParked))
    applications += 1
  }

  /// The long-poll was cut: what it may have missed is asked for.
  mutating func longPollCut() {
    isWaiting = false
    poll()
  }

  /// Something on the way to the relay refused the batch for its size. Smaller ones may pass; a
  /// change that does not, by itself, is set aside, so that the others go on.
  mutating func saveTooLarge(_ id: BatchID, _ refusal: Refusal) {
    guard let batch = saving, batch.id == id else { return }
    let bytes = batch.encodedBody().count
    let isOneThing = batch.atomic || batch.mutations.count == 1
    let least = Limits.smallRequestBytes
    let passing = Refusal(
      .internalError, refusal.detail, retryAfterMilliseconds: refusal.retryAfterMilliseconds)
    guard bytes > least, isOneThing || batchBytes > least else { return saveRefused(id, passing) }
    saving = nil
    batchBytes = max(least, min(batchBytes, bytes) / 2)
    guard isOneThing else { return refuse(id, passing) }
    pending.append(.setAside(id))
    applications += 1
  }
}
