import LockstepModel

/// What only grows: of two values the greater one.
package enum Greater {
  /// The greater of two numbers, the newer where they are equal. What is no number counts as not
  /// there; nil where neither is one.
  package static func number(_ newer: JSONValue?, _ older: JSONValue?) -> JSONValue? {
    guard let newest = newer?.number else { return older?.number == nil ? nil : older }
    guard let oldest = older?.number else { return newer }
    return isGreater(oldest, than: newest) ? older : newer
  }

  private static func isGreater(_ number: JSONNumber, than other: JSONNumber) -> Bool {
    if let number = number.int64, let other = other.int64 { return number > other }
    // JSON's numbers are all that Swift reads as one.
    return (Double(number.text) ?? 0) > (Double(other.text) ?? 0)
  }

  /// The greater number under each name that either object has. Under a name that has none on
  /// either side the newer's value stays. nil where neither is an object.
  package static func numbers(_ newer: JSONValue?, _ older: JSONValue?) -> JSONValue? {
    guard newer?.members != nil || older?.members != nil else { return nil }
    let others = FieldTable(older)
    let changes = (newer?.members ?? []).map { member in
      JSONMember(member.name, number(member.value, others[member.name]) ?? member.value)
    }
    return (older ?? [:]).setting(changes)
  }
}
