import LockstepClient
import LockstepModel

/// Live records that a device shows, by key.
struct ShownRecords {
  private(set) var all: [Record] = []

  subscript(key: RecordKey) -> Record? {
    let place = all.lowerBound { $0.key < key }
    return place < all.count && all[place].key == key ? all[place] : nil
  }

  /// Returns the records of a type, sorted by name.
  func records(of type: Name) -> [Record] { all.filter { $0.type == type } }

  /// Shows a record and returns the version shown before.
  @discardableResult
  mutating func show(_ record: Record) -> Record? {
    let place = all.lowerBound { $0.key < record.key }
    let before = place < all.count && all[place].key == record.key ? all[place] : nil
    if before != nil { all.remove(at: place) }
    if !record.isDeleted { all.insert(record, at: place) }
    return before
  }

  /// True if the contents are equal. The author and time of a save are not visible to a person.
  func looksLike(_ other: ShownRecords) -> Bool {
    all.count == other.all.count
      && zip(all, other.all).allSatisfy { $0.key == $1.key && $0.fields == $1.fields }
  }
}

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
