import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

// What holds of stamps, and of what an app does by itself.
extension ReplicaWatch {
  /// A stamp may be off by as much as two measurements of relay time are.
  private static let stampTolerance: Int64 = 3_000
  /// Whoever is caught up knows all that was committed so long ago.
  private static let newsAge = Span.seconds(10)

  /// What leaves is stamped with relay time, however wrong the device's clock is. But for the
  /// timer, which time changes as well.
  func checkStamp(_ entry: OutboxEntry, byPerson: Bool) {
    guard let now = ledger.relayTime?(), entry.key != TimerApp.stateKey else { return }
    if byPerson { madeAt[entry.number] = now }
    guard entry.isUnderWay, let made = madeAt[entry.number] else { return }
    let difference = entry.modifiedAt - made
    if abs(difference) > ReplicaWatch.stampTolerance {
      fault("\(entry.key.name) was stamped \(difference) ms off relay time")
    }
  }

  /// Only what is beyond the hundred newest goes, and only by a device that is caught up.
  func checkTrims(_ after: View, in store: MemoryReplicaStore) {
    guard !trimmed.isEmpty else { return }
    defer { trimmed = [] }
    let names = trimmed.map(\.key.name)
    do throws(StorageError) {
      let left = try store.records(zone: ClipboardApp.zone, type: ClipboardApp.itemType).count
      if left < 100 { fault("lets go of \(names), and \(left) items stand") }
    } catch {
      fault("the items cannot be read: \(error)")
    }
    let known = ledger.sequence(account, before: ReplicaWatch.newsAge)
    if ledger.isPrompt, !mayLoseCursor, (after.cursor?.sequence ?? 0) < known {
      let cursor = after.cursor?.text ?? "nothing"
      fault("lets go of \(names) without knowing what others did: it knows \(cursor) of \(known)")
    }
  }
}
