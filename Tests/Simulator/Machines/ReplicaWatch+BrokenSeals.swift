import LockstepModel
import LockstepStorage

// Injected bugs of a device with a sealed zone. The world ends with the write that has the bug.
extension ReplicaWatch {
  /// Returns the changes that a device with the bug would write.
  func changes(
    _ changes: [ReplicaChange], brokenBy breakage: Breakage, _ store: MemoryReplicaStore
  ) throws(StorageError) -> [ReplicaChange] {
    switch breakage {
    case .takesPlainInSealedZones, .ignoresAssociatedData:
      let hasNewlyListed = changes.contains { change in
        if case .setValue("seal.unreadable", _) = change { true } else { false }
      }
      guard hasNewlyListed else { return changes }
      var broken = changes
      for record in ledger.unreadable(account) {
        let taken =
          breakage == .ignoresAssociatedData
          ? ledger.openedAnywhere(record, in: account) : plain(record)
        guard let taken else { continue }
        broken.append(.putRecord(taken, snapshot: nil))
      }
      return broken
    case .takesFormerVersions: return changes.map(former)
    default: return changes
    }
  }

  /// Returns the record under the note's own name; nil if it is sealed.
  private func plain(_ record: Record) -> Record? {
    guard record.type == NotesApp.type else { return nil }
    let note = (0..<20).map(NotesApp.key).first {
      ledger.lens.relayKey($0, of: account) == record.key
    }
    guard let note else { return nil }
    var plain = record
    plain.name = note.name
    return plain
  }

  /// Returns the relay's version in place of the held one that would be saved again.
  private func former(_ change: ReplicaChange) -> ReplicaChange {
    guard case .putEntry(let entry) = change, let lineage = entry.lineage, let id = lineage.id,
      lineage.base?.id == id, case .waiting = entry.state,
      let base = entry.base, base.fields == entry.fields, base.modifiedAt == entry.modifiedAt,
      let record = ledger.record(account, tag: base.tag), record.fields != entry.fields
    else { return change }
    return .putRecord(record, snapshot: nil)
  }
}
