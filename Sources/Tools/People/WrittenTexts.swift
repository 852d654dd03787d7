import LockstepClient
import LockstepModel

/// Set of written texts, all different. A text may disappear only if a person who saw it replaced
/// or removed it; every other text must exist at the end.
struct WrittenTexts {
  private var pending = PendingPresses<(old: String?, new: String?)>()
  private var standing: Set<String> = []

  /// Records that a person saw `old` (nil: nothing) and replaces it with `new` (nil: nothing).
  mutating func ordered(_ order: OrderID, old: String?, new: String?) {
    pending.add(order, (old, new))
  }

  mutating func done(_ order: OrderID) {
    guard let (old, new) = pending.take(order) else { return }
    if let old { standing.remove(old) }
    if let new { standing.insert(new) }
  }

  mutating func dropped(_ order: OrderID) { _ = pending.take(order) }

  /// Returns the texts that are not in `found`.
  func lost(in found: [String]) -> [String] { standing.subtracting(found).sorted() }
}
