import LockstepModel
import LockstepStorage

/// Results of the conflicts between a device's local changes and the relay's versions, read from
/// one write of its store.
struct MergeOutcome {
  /// Entries of the outbox, each with the one that replaces it, made of both versions.
  private(set) var merged: [(OutboxEntry, OutboxEntry)] = []
  /// Entries that were not saved, and that a later change of the record includes.
  private(set) var folded: [OutboxEntry] = []
  /// Records with a conflict of two versions, neither made with knowledge of the other.
  private(set) var conflicts: [RecordKey] = []

  init(
    _ changes: [ReplicaChange], before: ReplicaWatch.View, after: ReplicaWatch.View,
    device: DeviceID
  ) {
    for change in changes {
      switch change {
      case .removeEntry(let number):
        guard let entry = before.outbox.first(where: { $0.number == number }),
          !after.outbox.contains(where: { $0.number == number })
        else { continue }
        leave(entry, before, after, device)
      case .putEntry(let entry):
        guard case .asking(let server) = entry.state,
          let old = before.outbox.first(where: { $0.number == entry.number })
        else { continue }
        if case .asking(let asked) = old.state, asked.tag == server.tag || server.tag == 0 {
          continue
        }
        if !conflicts.contains(entry.key) { conflicts.append(entry.key) }
      default: break
      }
    }
  }

  /// Handles an entry that has left the outbox.
  private mutating func leave(
    _ entry: OutboxEntry, _ before: ReplicaWatch.View, _ after: ReplicaWatch.View,
    _ device: DeviceID
  ) {
    let left = after.entries(entry.key)
    let known = before.entries(entry.key)
    if let later = left.first, later.base?.modifiedAt == entry.modifiedAt,
      later.base?.fields == entry.fields, known.contains(where: { $0.number == later.number })
    {
      return
    }
    if case .sent = entry.state, known.contains(where: { $0.number > entry.number }) {
      return folded.append(entry)
    }
    if let made = left.first(where: { made in !known.contains { $0.number == made.number } }) {
      merged.append((entry, made))
    } else if let held = after.record(entry.key) {
      let isItself =
        held.modifiedAt == entry.modifiedAt
        && (held.device == device || held.fields == entry.fields)
      if isItself || held.tag == entry.base?.tag { return }
    } else if entry.base == nil {
      return
    }
    if !conflicts.contains(entry.key) { conflicts.append(entry.key) }
  }
}
