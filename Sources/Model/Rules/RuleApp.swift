import LockstepJSON

/// App that is nothing but a table of merge rules: it keeps the records of one zone in sync. Types
/// that the table does not name are merged as a whole: the newer version wins.
@usableFromInline
package struct RuleApp: App {
  @usableFromInline package let table: RuleTable

  @usableFromInline package init(_ table: RuleTable) { self.table = table }

  /// The zone in lowercase; only shown.
  @usableFromInline package var name: String { table.zone.text.lowercased() }
  @usableFromInline package var zone: Name { table.zone }
  @usableFromInline package var types: [Name] { table.types.map(\.name) }

  @usableFromInline package func rules(for type: Name) -> MergeRules? { table.rules(for: type) }
}

/// Tables of several zones, at most one of each, as a home keeps them: `{"tables": [table…]}`.
package struct RuleTables: Hashable, Sendable {
  /// Maximum number of tables. A home is kept by one program with a few zones.
  package static let countMax = 16

  package private(set) var tables: [RuleTable] = []

  package init() {}

  package var apps: [any App] { tables.map { RuleApp($0) } }

  /// Adds a table, in the place of an earlier one of its zone.
  package mutating func put(_ table: RuleTable) throws(RuleFault) {
    if let index = tables.firstIndex(where: { $0.zone == table.zone }) {
      tables[index] = table
      return
    }
    guard tables.count < Self.countMax else {
      throw RuleFault(reason: "this home has rules of \(Self.countMax) zones already")
    }
    tables.append(table)
  }

  package init(parsing bytes: [UInt8]) throws(RuleFault) {
    guard let elements = JSONValue(ifJSON: bytes)?["tables"]?.array else {
      throw RuleFault(reason: "the rules must be an object {\"tables\"}")
    }
    for element in elements { try put(try RuleTable(element)) }
  }

  package var json: JSONValue { ["tables": .array(tables.map(\.json))] }
}
