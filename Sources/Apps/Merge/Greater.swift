import LockstepModel

/// Merge rule for values that only grow: the greater one wins.
package enum Greater {
  /// Returns the greater of two numbers, the newer one if they are equal. A value that is not a
  /// number counts as absent; returns nil if neither is a number.
  package static func number(_ newer: JSONValue?, _ older: JSONValue?) -> JSONValue? {
    guard let newest = newer?.number else { return older?.number == nil ? nil : older }
    guard let oldest = older?.number else { return newer }
    return isGreater(oldest, than: newest) ? older : newer
  }

  private static func isGreater(_ number: JSONNumber, than other: JSONNumber) -> Bool {
    if let number = number.int64, let other = other.int64 { return number > other }
    // `Double` parses every JSON number.
    return (Double(number.text) ?? 0) > (Double(other.text) ?? 0)
  }

  /// Returns the greater number for each name that either object has. If neither side has a number
  /// under a name, the newer value stays. Returns nil if neither is an object.
  package static func numbers(_ newer: JSONValue?, _ older: JSONValue?) -> JSONValue? {
    guard newer?.members != nil || older?.members != nil else { return nil }
    let others = FieldTable(older)
    let changes = (newer?.members ?? []).map { member in
      JSONMember(member.name, number(member.value, others[member.name]) ?? member.value)
    }
    return (older ?? [:]).setting(changes)
  }
}
