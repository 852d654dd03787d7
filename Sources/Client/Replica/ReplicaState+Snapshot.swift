import LockstepModel
import LockstepStorage

/// Snapshots: what the relay has, page by page, and what follows for that which it does not name.
extension ReplicaState {
  /// The cursor leads nowhere any more. Until a whole snapshot is here the store has none, so that
  /// a crash on the way begins it anew. `restoredThrough` and `lostThrough`: see `Refusal`.
  mutating func forgetCursor(
    restoredThrough: ChangeTag?, lostThrough: ChangeTag? = nil, in generation: UInt32?
  ) throws(StorageError) {
    noteFormerPlace()
    if let restoredThrough {
      let held = min(try greatestTag(before: generation), lostThrough ?? .max)
      try begin(Restore(through: restoredThrough, held: held))
      setFormer(former.map { LostCursor(token: $0.token, seenIn: generation) })
    }
    setHeldBefore(nil)
    position = .nothing
    overtaken = []
    answered = nil
    ledger.setCursor(nil)
  }

  mutating func beginSnapshot() {
    snapshot += 1
    ledger.beginSnapshot()
    forgetPlacesOfZonesOff()
    ledger.setValue(ReplicaState.snapshotKey, String(snapshot))
  }

  /// Notes the versions that are held with tags which the relay's history has passed over: they
  /// were given by a relay whose store has gone back since. Who was away meanwhile, or has saved
  /// before it read, is told of it by nothing else. True where there are such, and a snapshot is
  /// needed.
  @discardableResult
  mutating func noticeLosses(_ gaps: [TagGap]) throws(StorageError) -> Bool {
    guard !gaps.isEmpty else { return false }
    let held = try ledger.tags(after: gaps.map(\.after).min() ?? 0).sorted()
    let lost = gaps.filter { gap in
      let first = held.lowerBound { $0 <= gap.after }
      return first < held.count && gap.contains(held[first])
    }
    guard !lost.isEmpty else { return false }
    try begin(Restore(lost: lost))
    return true
  }

  /// What the snapshot did not name is not there any more. What was edited here stays, and goes to
  /// the relay; what the relay has lost waits to be brought back. Of a relay that was restored the
  /// deletions are kept.
  mutating func finishSnapshot(_ applied: inout Applied) throws(StorageError) {
    var gone: [UnnamedRecord] = []
    for record in try ledger.unnamed(bySnapshot: snapshot) {
      if ledger.outbox.holds(record.key) {
        try standOnNothing(record.key, &applied)
      } else if restore?.hasLost(record.tag) == true {
        ledger.lose(record.key)
        hasLost = true
      } else if restore != nil, record.isDeleted {
        // No snapshot names it. A still older copy of the relay may be put back, which lacks it.
        continue
      } else if !isOff(record.key.zone) {
        gone.append(record)
      }
    }
    ledger.drop(gone)
    setFormer(nil)
    guard var restore else { return }
    restore.isSnapshotDone = true
    setRestore(restore)
  }

  /// A local change of a record that the relay does not have.
  private mutating func standOnNothing(_ key: RecordKey, _ applied: inout Applied)
    throws(StorageError)
  {
    // What is in flight is answered by the relay itself, and with it what was made on top of it.
    guard let entry = ledger.outbox.open(key), ledger.outbox.sent(key) == nil else { return }
    let nothing = Record.nothing(at: key, type: entry.type)
    if restore?.hasLost(entry.knownTag) == true {
      return try stand(entry, on: .lost(entry.base ?? nothing))
    }
    guard !isOff(key.zone) else { return }
    // What a person was asked about was deleted since. Other changes meet that when they are sent.
    if case .asking(let asked) = entry.state, asked.tag > 0 { try settle(entry, nothing, &applied) }
  }
}

extension Record {
  /// Stands for a record that the relay does not have, not even as a tombstone.
  static func nothing(at key: RecordKey, type: Name) -> Record {
    var nothing = Record.nothing(at: key)
    nothing.type = type
    return nothing
  }

  /// The same where the relay had this version, and has lost it.
  static func lost(_ version: Record) -> Record {
    var lost = nothing(at: version.key, type: version.type)
    lost.modifiedAt = version.modifiedAt
    return lost
  }

  /// Whether it stands for a version that the relay has lost.
  var isLost: Bool { tag == 0 && modifiedAt > 0 }
}
