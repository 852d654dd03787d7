import LockstepModel

/// User action behind a write of a device's store, with the details that the store does not show.
package enum UserAction: Hashable {
  /// Any action of a user.
  case edit
  /// A count, or the removal of one.
  case count(RecordKey, by: Int64)
  /// A choice between two versions.
  case keep(RecordKey, isLocal: Bool)
  /// The removal of an item of the clipboard, or of all items (`clear`).
  case remove(RecordKey)
  case clear

  /// True if this deletes an item of the clipboard; if not, the app has trimmed it.
  func deletes(_ key: RecordKey) -> Bool {
    switch self {
    case .clear: true
    // A prefix of a name that only one item has is enough, also after that item is deleted.
    case .remove(let item): key.name.text.hasPrefix(item.name.text) && key.zone == item.zone
    case .edit, .count, .keep: false
    }
  }

  /// Returns the amount that this adds to the record of a day; nil if it counts elsewhere. A prefix
  /// of the habit's name is enough here too.
  func counts(in key: RecordKey) -> Int64? {
    guard case .count(let pressed, let amount) = self, key.zone == pressed.zone else { return nil }
    let named = pressed.name.text.split(separator: "/")
    let shown = key.name.text.split(separator: "/")
    guard let habit = named.first, shown.first?.hasPrefix(habit) == true, named.last == shown.last
    else { return nil }
    return amount
  }
}
