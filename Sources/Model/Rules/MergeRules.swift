import LockstepJSON

/// Merge rule of a field: the value that remains after concurrent edits.
public enum FieldRule: String, CaseIterable, Hashable, Sendable {
  /// The value with the greatest stamp. For any JSON value.
  case newest
  /// The greatest of concurrent values. Numbers come before all other values, which are ordered by
  /// their JSON text. A later edit may lower it.
  case greatest
  /// The least of concurrent values, in the same order. A later edit may raise it.
  case least
  /// True if one of the concurrent values is true.
  case or
  /// True if all concurrent values are true.
  case and
  /// An object `{"device": [up, down]}`. The value is the sum of all parts; a device only writes
  /// its own part.
  case counter
  /// An array of scalars without order. For each element the newest edit decides: in or out.
  case set
  /// An object whose members are merged each by `newest`.
  case map
  /// An object of numbers. Each member only grows.
  case greatestEach
  /// A text. The newest remains, and the other is kept as a copy record.
  case keepBoth
}

/// Merge rules of a record type, as data. The engine (`RuleResolver`) exists once per language, and
/// all give the same bytes.
public struct MergeRules: Hashable, Sendable {
  /// Result of a live version against a deleted one.
  public enum DeleteRule: String, CaseIterable, Hashable, Sendable {
    /// The live version remains.
    case changeWins
    /// The record is deleted.
    case deleteWins
    /// The version with the greater `(modifiedAt, deleted, device)` remains.
    case newest
  }

  /// Rule of all fields that have none of their own.
  public var otherFields: FieldRule
  public var delete: DeleteRule
  /// True if a person decides every conflict, and no rule does.
  public var asks: Bool
  private var table: TextTable<FieldRule>

  /// Makes the rules that give each field its newest value.
  public init() {
    table = TextTable()
    otherFields = .newest
    delete = .changeWins
    asks = false
  }

  public init(
    fields: KeyValuePairs<String, FieldRule> = [:], otherFields: FieldRule = .newest,
    delete: DeleteRule = .changeWins, asks: Bool = false
  ) {
    table = TextTable(fields.map { ($0.key, $0.value) })
    self.otherFields = otherFields
    self.delete = delete
    self.asks = asks
  }

  /// Names of the fields that have a rule of their own, by their UTF-8 bytes.
  public var names: [String] { table.entries.map(\.key) }

  /// The rule of a field. A field named "" has no entry among the stamps, so it is always `newest`.
  public subscript(_ field: String) -> FieldRule {
    get { field.isEmpty ? .newest : table[field] ?? otherFields }
    set { table[field] = newValue }
  }
}

/// Rules of the fields; `"*"` is the rule of all others.
extension MergeRules: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, FieldRule)...) {
    self.init()
    for (name, rule) in elements {
      if name == "*" { otherFields = rule } else { self[name] = rule }
    }
  }
}

/// Rules of the record types of a zone, as the file of `agent run --rules` holds them: `{"zone":
/// "Todos", "types": {"Todo": {"delete": …, "conflict": "ask", "fields": {"done": "or"}}}}`.
@usableFromInline
package struct RuleTable: Hashable, Sendable {
  @usableFromInline package var zone: Name
  /// By type, in the order of the file.
  @usableFromInline package var types: [(name: Name, rules: MergeRules)]

  @usableFromInline
  package init(zone: Name, types: [(name: Name, rules: MergeRules)]) {
    self.zone = zone
    self.types = types
  }

  @usableFromInline
  package static func == (left: RuleTable, right: RuleTable) -> Bool {
    left.zone == right.zone
      && left.types.elementsEqual(right.types) { $0.name == $1.name && $0.rules == $1.rules }
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    hasher.combine(zone)
    for type in types {
      hasher.combine(type.name)
      hasher.combine(type.rules)
    }
  }

  /// Returns nil for a type that the table does not name.
  @usableFromInline
  package func rules(for type: Name) -> MergeRules? { types.first { $0.name == type }?.rules }
}

/// Reason why a JSON value is not a table of merge rules.
@usableFromInline
package struct RuleFault: Error, Hashable, Sendable {
  /// One sentence for a person, with the place of the fault.
  @usableFromInline package let reason: String
}

extension MergeRules {
  private static let members = ["fields", "delete", "conflict"]

  /// Reads the rules of a type. Refuses members, rules and values that it does not know: a rule
  /// that one device does not apply would make devices disagree.
  ///
  /// - Parameter place: Begins the sentence of a fault, such as `the type "Todo"`.
  package init(_ value: JSONValue, place: String) throws(RuleFault) {
    guard let members = value.members else {
      throw RuleFault(reason: "\(place) must be an object of rules")
    }
    for member in members where !Self.members.contains(member.name) {
      throw RuleFault(
        reason: "\(place) has a member \(quoted(member.name)); known are fields, delete, conflict")
    }
    self.init()
    if let delete = value["delete"] {
      self.delete = try named(delete, "\"delete\" of \(place)")
    }
    if let conflict = value["conflict"] {
      guard conflict.string == "ask" else {
        throw RuleFault(reason: "\"conflict\" of \(place) can only be \"ask\"")
      }
      asks = true
    }
    guard let fields = value["fields"] else { return }
    guard let rules = fields.members else {
      throw RuleFault(reason: "\"fields\" of \(place) must be an object of rules by field")
    }
    guard rules.count <= Limits.mergeRuleFields else {
      throw RuleFault(reason: "\(place) has over \(Limits.mergeRuleFields) rules of fields")
    }
    for rule in rules {
      guard !rule.name.isEmpty, rule.name != Stamps.member else {
        throw RuleFault(reason: "\(place) has a rule for \(quoted(rule.name)), which is no field")
      }
      let parsed: FieldRule = try named(rule.value, "the field \(quoted(rule.name)) of \(place)")
      if rule.name == "*" { otherFields = parsed } else { self[rule.name] = parsed }
    }
  }

  /// The rules in the form that `init(_:place:)` reads.
  package var json: JSONValue {
    var value: JSONValue = [:]
    var fields = table.entries.map { JSONMember($0.key, .string($0.value.rawValue)) }
    if otherFields != .newest { fields.append(JSONMember("*", .string(otherFields.rawValue))) }
    if !fields.isEmpty { value = value.setting("fields", to: .object(fields)) }
    if delete != .changeWins { value = value.setting("delete", to: .string(delete.rawValue)) }
    return asks ? value.setting("conflict", to: "ask") : value
  }
}

extension RuleTable {
  /// Reads a table from JSON text.
  package init(parsing bytes: [UInt8]) throws(RuleFault) {
    let value: JSONValue
    do throws(JSONFault) {
      value = try JSONValue(parsing: bytes)
    } catch {
      throw RuleFault(reason: "the rules are not JSON: \(error)")
    }
    try self.init(value)
  }

  /// The table in the form that `init(_:)` reads.
  package var json: JSONValue {
    let types = types.map { JSONMember($0.name.text, $0.rules.json) }
    return ["zone": .string(zone.text), "types": .object(types)]
  }

  package init(_ value: JSONValue) throws(RuleFault) {
    guard let members = value.members else {
      throw RuleFault(reason: "the rules must be an object {\"zone\", \"types\"}")
    }
    for member in members where !["zone", "types"].contains(member.name) {
      throw RuleFault(
        reason: "the rules have a member \(quoted(member.name)); known are zone and types")
    }
    guard let zone = value["zone"]?.string.flatMap({ Name($0) }) else {
      throw RuleFault(reason: "\"zone\" of the rules must be the name of a zone")
    }
    guard let types = value["types"]?.members else {
      throw RuleFault(reason: "\"types\" of the rules must be an object of rules by record type")
    }
    guard !types.isEmpty else {
      throw RuleFault(reason: "\"types\" of the rules is empty; give the rules of a record type")
    }
    guard types.count <= Limits.mergeRuleTypes else {
      throw RuleFault(reason: "the rules have over \(Limits.mergeRuleTypes) types")
    }
    self.init(zone: zone, types: [])
    for type in types {
      guard let name = Name(type.name) else {
        throw RuleFault(reason: "\(quoted(type.name)) in \"types\" is not a valid type name")
      }
      let rules = try MergeRules(type.value, place: "the type \(quoted(type.name))")
      self.types.append((name: name, rules: rules))
    }
  }
}

private func named<Rule: RawRepresentable & CaseIterable>(_ value: JSONValue, _ place: String)
  throws(RuleFault) -> Rule where Rule.RawValue == String
{
  if let text = value.string, let rule = Rule(rawValue: text) { return rule }
  let known = Rule.allCases.map(\.rawValue).joined(separator: ", ")
  throw RuleFault(reason: "\(place) is \(value.text), which is none of: \(known)")
}

private func quoted(_ text: String) -> String { JSONValue.string(text).text }
