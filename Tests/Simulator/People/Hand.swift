import Changes

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
}
