import LockstepJSON
import LockstepModel

/// An app that is nothing but a table of merge rules, for simulated users only: a few rows with a
/// field of each rule.
package enum TablesApp {
  package static let zone = Name(trusted: "Tables")
  package static let type = Name(trusted: "Row")

  package static let fields: [(name: String, rule: FieldRule)] = [
    ("title", .newest), ("note", .keepBoth), ("due", .least), ("top", .greatest), ("done", .or),
    ("ok", .and), ("tags", .set), ("extra", .map), ("count", .counter), ("best", .greatestEach),
  ]

  package static let rules: MergeRules = {
    var rules = MergeRules()
    for (name, rule) in fields { rules[name] = rule }
    return rules
  }()

  package static var app: RuleApp {
    RuleApp(RuleTable(zone: zone, types: [(name: type, rules: rules)]))
  }

  package static func key(_ row: Int) -> RecordKey {
    RecordKey(zone: zone, name: Name(trusted: "row \(row)"))
  }

  /// Returns an edit of one field. `number`: chooses the field and, with `act`, the value.
  static func edit(_ row: Int, field: Int, number: Int64, act: Int64) -> EditRequest {
    let (name, rule) = fields[field % fields.count]
    return EditRequest(key: key(row), type: type) { (context) throws(EditRefusal) -> JSONValue? in
      let fields = Stamps.removed(from: context.current?.value ?? [:])
      let value = value(rule, fields[name], number: number, act: act, context.device.text)
      let edited = fields.setting(name, to: value)
      guard edited != fields else { throw EditRefusal("The row has this value already.") }
      return edited
    }
  }

  /// Returns the new value of a field; nil removes it.
  private static func value(
    _ rule: FieldRule, _ old: JSONValue?, number: Int64, act: Int64, _ device: String
  ) -> JSONValue? {
    let small: JSONValue = .number(JSONNumber(number))
    switch rule {
    case .newest, .least, .greatest: return number == 0 ? nil : small
    case .keepBoth: return number == 0 ? nil : .string("text \(act)")
    case .or, .and: return number == 0 ? nil : .bool(number.isMultiple(of: 2))
    case .set:
      let elements = old?.array ?? []
      let rest = elements.filter { $0 != small }
      return .array(rest.count < elements.count ? rest : elements + [small])
    case .map:
      return (old ?? [:]).setting(["k", "l"][Int(act % 2)], to: number == 0 ? nil : small)
    case .counter:
      let parts = (old?[device]?.array ?? [0, 0]).map { $0.int64 ?? 0 }
      let counted =
        act.isMultiple(of: 3) ? [parts[0], parts[1] + 1] : [parts[0] + number + 1, parts[1]]
      return (old ?? [:]).setting(device, to: .array(counted.map { .number(JSONNumber($0)) }))
    case .greatestEach:
      let name = ["p", "q"][Int(act % 2)]
      return (old ?? [:]).setting(
        name, to: .number(JSONNumber((old?[name]?.int64 ?? 0) + number + 1)))
    }
  }
}
