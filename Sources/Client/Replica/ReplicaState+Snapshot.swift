import LockstepModel
import LockstepStorage

/// Snapshots: the relay's records, page by page, and the handling of held records that they do not
/// name.
extension ReplicaState {
  /// Discards an invalid cursor. The store has no cursor until a whole snapshot is complete, so
  /// that a crash before that restarts it. `restoredThrough` and `lostThrough`: see `Refusal`.
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

  /// Detects held versions whose tags are in gaps of the relay's history: a relay whose store was
  /// reset since has assigned them. A device that was offline meanwhile, or has saved before it
  /// read, cannot detect this otherwise. Returns true if there are such versions, and a snapshot is
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

  /// Handles records that the snapshot did not name: they are gone. Records with local edits stay,
  /// and are sent to the relay; records that the relay has lost wait to be saved again. After a
  /// restore of the relay, tombstones are kept.
  mutating func finishSnapshot(_ applied: inout Applied) throws(StorageError) {
    var gone: [UnnamedRecord] = []
    for record in try ledger.unnamed(bySnapshot: snapshot) {
      if ledger.outbox.holds(record.key) {
        try standOnNothing(record.key, &applied)
      } else if restore?.hasLost(record.tag) == true {
        ledger.lose(record.key)
        hasLost = true
      } else if restore != nil, record.isDeleted {
        // Snapshots name no tombstones. A still older copy of the relay, which lacks the deletion,
        // may be put back later.
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

  /// Handles a local change to a record that the relay does not have.
  private mutating func standOnNothing(_ key: RecordKey, _ applied: inout Applied)
    throws(StorageError)
  {
    // The relay's answer decides about the change in flight, and about edits made on top of it.
    guard let entry = ledger.outbox.open(key), ledger.outbox.sent(key) == nil else { return }
    let nothing = Record.nothing(at: key, type: entry.type)
    if restore?.hasLost(entry.knownTag) == true {
      return try stand(entry, on: .lost(entry.base ?? nothing))
    }
    guard !isOff(key.zone) else { return }
    // The record that the user was asked about was deleted since. Other changes meet the deletion
    // when they are sent.
    if case .asking(let asked) = entry.state, asked.tag > 0 { try settle(entry, nothing, &applied) }
  }
}

extension Record {
  /// Placeholder for a record that the relay does not have, not even as a tombstone.
  static func nothing(at key: RecordKey, type: Name) -> Record {
    var nothing = Record.nothing(at: key)
    nothing.type = type
    return nothing
  }

  /// Placeholder for a version that the relay had, and has lost.
  static func lost(_ version: Record) -> Record {
    var lost = nothing(at: version.key, type: version.type)
    lost.modifiedAt = version.modifiedAt
    return lost
  }

  /// True if it is a placeholder for a version that the relay has lost.
  var isLost: Bool { tag == 0 && modifiedAt > 0 }
}
