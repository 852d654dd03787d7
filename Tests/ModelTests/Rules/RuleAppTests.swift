import LockstepJSON
import LockstepModel
import Testing

struct RuleAppTests {
  private func table(_ zone: String, _ type: String = "Todo") throws -> RuleTable {
    try RuleTable(
      parsing: Array(
        #"{"zone":"\#(zone)","types":{"\#(type)":{"fields":{"done":"or"},"delete":"deleteWins"}}}"#
          .utf8))
  }

  @Test func aTableWithoutTypesSaysSo() {
    let fault = #expect(throws: RuleFault.self) {
      try RuleTable(parsing: Array(#"{"zone":"Todos","types":{}}"#.utf8))
    }
    #expect(fault?.reason.contains("is empty") == true)
  }

  @Test func aTableIsAnAppOfItsZone() throws {
    let app = RuleApp(try table("Todos"))
    let todo = try #require(Name("Todo"))
    #expect(app.zone == Name("Todos"))
    #expect(app.types == [todo])
    #expect(app.rules(for: todo)?["done"] == .or)
    #expect(app.resolver(for: todo) != nil)
  }

  @Test func aTypeThatTheTableDoesNotNameHasNoRule() throws {
    let app = RuleApp(try table("Todos"))
    let note = try #require(Name("Note"))
    #expect(app.rules(for: note) == nil)
    #expect(app.resolver(for: note) == nil)
  }

  @Test func aTableReplacesTheFormerOneOfItsZone() throws {
    var tables = RuleTables()
    try tables.put(try table("Todos"))
    try tables.put(try table("Notes"))
    try tables.put(try table("Todos", "Task"))
    #expect(tables.tables == [try table("Todos", "Task"), try table("Notes")])
  }

  @Test func storedTablesAreReadAsTheyWere() throws {
    var tables = RuleTables()
    try tables.put(try table("Todos"))
    try tables.put(try table("Notes"))
    #expect(try RuleTables(parsing: tables.json.serialized()) == tables)
  }

  @Test func moreTablesThanAHomeKeepsAreRefused() throws {
    var tables = RuleTables()
    for number in 0..<RuleTables.countMax { try tables.put(try table("Zone\(number)")) }
    try tables.put(try table("Zone0", "Task"))
    #expect(throws: RuleFault.self) { try tables.put(try table("Another")) }
  }

  @Test func whatIsNoListOfTablesIsRefused() {
    for text in ["", "[]", "{}", #"{"tables":{}}"#, #"{"tables":[{"zone":"Todos"}]}"#] {
      #expect(throws: RuleFault.self) { try RuleTables(parsing: Array(text.utf8)) }
    }
  }
}
