import LockstepClient
import LockstepModel

/// What was written, each text unlike any other. A text may go only where somebody who saw it
/// replaced or removed it; every other must stand somewhere in the end.
struct WrittenTexts {
  private var pending = PendingPresses<(old: String?, new: String?)>()
  private var standing: Set<String> = []

  /// Somebody saw `old` (nil: nothing) and wants `new` in its place (nil: nothing).
  mutating func ordered(_ order: OrderID, old: String?, new: String?) {
    pending.add(order, (old, new))
  }

  mutating func done(_ order: OrderID) {
    guard let (old, new) = pending.take(order) else { return }
    if let old { standing.remove(old) }
    if let new { standing.insert(new) }
  }

  mutating func dropped(_ order: OrderID) { _ = pending.take(order) }

  /// Those that are nowhere in `found`.
  func lost(in found: [String]) -> [String] { standing.subtracting(found).sorted() }
}
