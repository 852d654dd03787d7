import LockstepJSON

/// Fields of an object by name. Names are compared by their bytes: `String` treats two encodings of
/// one accented letter as equal.
struct FieldTable {
  private let values: [[UInt8]: JSONValue]

  init(_ object: JSONValue?) {
    let members = object?.members ?? []
    values = Dictionary(members.map { (Array($0.name.utf8), $0.value) }) { first, _ in first }
  }

  subscript(_ name: String) -> JSONValue? { values[Array(name.utf8)] }

  func contains(_ name: String) -> Bool { values.index(forKey: Array(name.utf8)) != nil }
}

/// Order of two versions by age: the newer one has the greater `(modifiedAt, device)`. Devices are
/// compared by their UTF-8 bytes.
///
/// One device never gives two versions of a record the same timestamp, so this order decides
/// between any two changes by Lockstep devices. If other programs created two equal stamps, the
/// bytes of the content decide: the result must be the same on every device, also with local and
/// server swapped.
package enum NewerWins {
  package static func isNewer(_ version: Version, than other: Version) -> Bool {
    if version.modifiedAt != other.modifiedAt { return version.modifiedAt > other.modifiedAt }
    if version.device.utf8.lexicographicallyPrecedes(other.device.utf8) { return false }
    if other.device.utf8.lexicographicallyPrecedes(version.device.utf8) { return true }
    return content(other).lexicographicallyPrecedes(content(version))
  }

  /// Bytes of the content. A delete has none and sorts below any other version.
  private static func content(_ version: Version) -> [UInt8] {
    version.fields?.serialized() ?? []
  }
}

extension Conflict {
  /// Both sides, ordered by age. A rule that uses only these names is symmetric.
  package var sides: (newer: Version, older: Version) {
    NewerWins.isNewer(local, than: server) ? (local, server) : (server, local)
  }
}

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

/// Three-way merge of lists. Elements are compared by an identity.
package enum SetMerge {
  /// Keeps the elements that both sides have, and those that one side has and the base lacks. The
  /// newer side's elements come first, each side in its own order, each identity once. If both
  /// sides have an element, the newer version of it is kept.
  package static func merge<Element, Identity: Hashable>(
    base: [Element], newer: [Element], older: [Element], identity: (Element) -> Identity
  ) -> [Element] {
    let inBase = Set(base.map(identity))
    let inNewer = Set(newer.map(identity))
    let inOlder = Set(older.map(identity))
    return union(newer: newer, older: older, identity: identity).filter { element in
      let name = identity(element)
      return (inNewer.contains(name) && inOlder.contains(name)) || !inBase.contains(name)
    }
  }

  /// Returns all elements of both sides, the newer side's first, each identity once.
  package static func union<Element, Identity: Hashable>(
    newer: [Element], older: [Element], identity: (Element) -> Identity
  ) -> [Element] {
    var seen: Set<Identity> = []
    return (newer + older).filter { seen.insert(identity($0)).inserted }
  }
}

/// "A change outlives a delete": if one version is deleted, the live one is kept whole, whatever
/// the base is and whichever version is newer. Losing written content is worse than restoring
/// removed content.
package enum ChangeOutlivesDelete {
  /// Returns nil if both versions are live; then the record type's own rule decides.
  package static func resolution(of conflict: Conflict) -> Resolution? {
    if conflict.local.isDeleted { return .merged(fields: conflict.server.fields, copies: []) }
    if conflict.server.isDeleted { return .merged(fields: conflict.local.fields, copies: []) }
    return nil
  }
}

/// Names of conflict copies. They are valid record names.
package enum CopyName {
  /// Returns `stem` followed by `suffix`. Cuts the stem if the name would exceed
  /// `Limits.nameBytes`.
  package static func text(_ stem: String, _ suffix: String) -> String {
    var stem = stem.unicodeScalars[...]
    var count = stem.reduce(0) { $0 + UTF8.width($1) } + suffix.utf8.count
    while count > Limits.nameBytes, let last = stem.popLast() { count -= UTF8.width(last) }
    return String(stem) + suffix
  }
}

extension JSONValue {
  /// The number rounded down and limited to ±2⁶⁰, so that sums and differences of a few of them
  /// cannot overflow; nil if the value is not a number.
  ///
  /// Versions may come from third-party programs, which may write 1.5e3 or 0.5.
  package var wholeNumber: Int64? {
    let bound: Int64 = 1 << 60
    if let exact = int64 { return min(max(exact, -bound), bound) }
    guard let text = number?.text, let value = Double(text) else { return nil }
    let bounded = min(max(value, -Double(bound)), Double(bound))
    // `rounded` would need the C math library, which no other code here uses.
    let towardsZero = Int64(bounded)
    return Double(towardsZero) > bounded ? towardsZero - 1 : towardsZero
  }
}
