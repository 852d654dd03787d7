import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

// Checks of stamps, and of the changes that an app makes by itself.
extension ReplicaWatch {
  /// Greatest error of a stamp, in milliseconds: that of two measurements of relay time.
  private static let stampTolerance: Int64 = 3_000
  /// Age of a commit after which every device that is caught up has read it.
  private static let newsAge = Span.seconds(10)

  /// Reports a violation if an entry that is sent is not stamped with relay time, however wrong the
  /// device's clock is. The timer is exempt: time changes it as well.
  func checkStamp(_ entry: OutboxEntry, byPerson: Bool) {
    guard let now = ledger.relayTime?(), entry.key != TimerApp.stateKey else { return }
    if byPerson { madeAt[entry.number] = now }
    guard entry.isInFlight, let made = madeAt[entry.number] else { return }
    let difference = entry.modifiedAt - made
    if abs(difference) > ReplicaWatch.stampTolerance {
      fault("\(entry.key.name) was stamped \(difference) ms off relay time")
    }
  }

  /// Reports a violation if the app trims an item that is not beyond the hundred newest, or if the
  /// device that trims it is not caught up.
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
