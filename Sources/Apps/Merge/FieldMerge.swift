import LockstepModel

/// Three-way merge of JSON objects, field by field. A field changed on one side takes that side's
/// value; a field changed on both takes the newer value. Removing a field counts as a change.
/// Without a base, every field of a side counts as changed.
package enum FieldMerge {
  /// Merges two versions. A value that is not a JSON object counts as an object without fields.
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

  /// Returns nil if the merged object does not have the field.
  private static func choose(base: JSONValue?, newer: JSONValue?, older: JSONValue?) -> JSONValue? {
    newer == base ? older : newer
  }
}
