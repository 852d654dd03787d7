import LockstepModel

/// Whose hand is behind a write of a device's store, and what of it the store does not tell.
package enum Hand: Hashable {
  /// Somebody did something.
  case edit
  /// … namely counted, or took back.
  case count(RecordKey, by: Int64)
  /// … namely chose one of two versions.
  case keep(RecordKey, isLocal: Bool)
  /// … namely removed an item of the clipboard, or all.
  case remove(RecordKey)
  case clear

  /// Whether this deletes an item of the clipboard: otherwise the app lets go of it.
  func deletes(_ key: RecordKey) -> Bool {
    switch self {
    case .clear: true
    // The beginning of a name that only one item has is enough, also once that item is gone.
    case .remove(let item): key.name.text.hasPrefix(item.name.text) && key.zone == item.zone
    case .edit, .count, .keep: false
    }
  }

  /// How much this counts in a record of a day; nil where it counts elsewhere. The beginning of a
  /// habit's name is enough here too.
  func counts(in key: RecordKey) -> Int64? {
    guard case .count(let pressed, let amount) = self, key.zone == pressed.zone else { return nil }
    let named = pressed.name.text.split(separator: "/")
    let shown = key.name.text.split(separator: "/")
    guard let habit = named.first, shown.first?.hasPrefix(habit) == true, named.last == shown.last
    else { return nil }
    return amount
  }
}
