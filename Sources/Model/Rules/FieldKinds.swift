import LockstepJSON

/// Kinds of values. A value of another kind than its rule's reads as nothing, so an edit that sets
/// one is refused.
extension FieldRule {
  /// The kind of value that the rule is for, as words in a sentence; nil for any.
  package var kind: String? {
    switch self {
    case .newest: nil
    case .greatest, .least: "a number or a text"
    case .or, .and: "a Boolean"
    case .counter: "an object {\"device\": [up, down]} of whole numbers from 0"
    case .set: "an array of scalars"
    case .map: "an object"
    case .greatestEach: "an object of numbers"
    case .keepBoth: "a text"
    }
  }

  ///
  /// - Parameter held: The field before the edit. Parts of a counter that another program has set
  ///   stay as they are.
  package func accepts(_ value: JSONValue, over held: JSONValue? = nil) -> Bool {
    switch self {
    case .newest: true
    case .greatest, .least: value.number != nil || value.string != nil
    case .or, .and: if case .bool = value { true } else { false }
    case .counter:
      value.members?.allSatisfy { Self.isCount($0.value) || held?[$0.name] == $0.value } ?? false
    case .set: value.array?.allSatisfy { $0.array == nil && $0.members == nil } ?? false
    case .map: value.members != nil
    case .greatestEach: value.members?.allSatisfy { $0.value.number != nil } ?? false
    case .keepBoth: value.string != nil
    }
  }

  private static func isCount(_ parts: JSONValue) -> Bool {
    parts.array?.count == 2 && parts.array?.allSatisfy { ($0.int64 ?? -1) >= 0 } == true
  }
}

extension MergeRules {
  /// Returns the first field that an edit sets to a value of another kind than its rule's.
  ///
  /// - Parameter current: The fields before the edit; what another program has set stays as it is.
  package func wrongField(in fields: JSONValue, over current: JSONValue?) -> String? {
    fields.members?.first { member in
      let held = current?[member.name]
      return member.name != Stamps.member && held != member.value
        && !self[member.name].accepts(member.value, over: held)
    }?.name
  }

  /// The sentence for a field that `wrongField` returns.
  package func kindFault(_ field: String, of type: Name) -> String {
    "the field \(JSONValue.string(field).text) of \(type) must be \(self[field].kind ?? "JSON"), as "
      + "its rule \"\(self[field].rawValue)\" requires; give it such a value, or leave it out"
  }
}
