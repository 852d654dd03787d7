import LockstepModel

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
