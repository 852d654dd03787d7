import Changes

/// A three-way merge of JSON objects, field by field: changed on one side, that side's value;
/// changed on both, the newer's. Removing a field is a change like any other. Without a base, all
/// that a side has is its change.
package enum FieldMerge {
  /// What is no JSON object counts as an object without fields.
  package static func merge(base: JSONValue?, newer: JSONValue?, older: JSONValue?) -> JSONValue {
    let baseFields = FieldTable(base)
    let newerFields = FieldTable(newer)
    let olderFields = FieldTable(older)
    var merged: [JSONMember] = []
    for member in newer?.members ?? [] {
      let value = choose(
        base: baseFields[member.name], newer: member.value, older: olderFields[member.name])
      if let value { merged.append(JSONMember(member.name, value)) }
    }
    for member in older?.members ?? [] where !newerFields.holds(member.name) {
      let value = choose(base: baseFields[member.name], newer: nil, older: member.value)
      if let value { merged.append(JSONMember(member.name, value)) }
    }
    return .object(merged)
  }

  /// nil: the field is not there.
  private static func choose(base: JSONValue?, newer: JSONValue?, older: JSONValue?) -> JSONValue? {
    newer == base ? older : newer
  }
}

/// An object's fields by name. Names are told apart by their bytes: `String` would take two
/// spellings of one accented letter for the same name.
private struct FieldTable {
  private let values: [[UInt8]: JSONValue]

  init(_ object: JSONValue?) {
    let members = object?.members ?? []
    values = Dictionary(members.map { (Array($0.name.utf8), $0.value) }) { first, _ in first }
  }

  subscript(_ name: String) -> JSONValue? { values[Array(name.utf8)] }

  func holds(_ name: String) -> Bool { values.index(forKey: Array(name.utf8)) != nil }
}
