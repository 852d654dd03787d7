import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepJSON
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct HomeRulesTests {
  private func table(_ zone: String, _ rule: String = "or") throws -> RuleTable {
    try RuleTable(
      parsing: Array(#"{"zone":"\#(zone)","types":{"Todo":{"fields":{"done":"\#(rule)"}}}}"#.utf8))
  }

  private func home(_ folder: TemporaryFolder) throws -> HomeFolder {
    let home = HomeFolder(path: try folder.longFolder())
    let lock = try home.lock()
    #expect(lock != nil)
    return home
  }

  @Test func aHomeKeepsItsRules() throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    var rules = try HomeRules(of: home)
    #expect(rules.apps.isEmpty)
    try rules.store(try table("Todos"))
    try rules.store(try table("Notes"))
    try rules.store(try table("Todos", "and"))
    let kept = try HomeRules(of: home).apps
    #expect(kept.map(\.zone) == [Name("Todos"), Name("Notes")])
    let todo = try #require(Name("Todo"))
    #expect(kept.first?.rules(for: todo)?["done"] == .and)
  }

  @Test func theZoneOfAnAppIsRefusedAndNothingIsKept() throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    var rules = try HomeRules(of: home)
    for app in AppCatalog.all {
      #expect(throws: CommandFailure.self) { try rules.store(try table(app.zone.text)) }
    }
    #expect(try HomeRules(of: home).apps.isEmpty)
  }

  @Test func aDamagedFileIsNamed() throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    try HomeFile.replace(home.rules, by: Array("{".utf8))
    let failure = #expect(throws: CommandFailure.self) { try HomeRules(of: home) }
    #expect(failure?.message?.contains("rules.json") == true)
  }

  /// A pipe that nobody writes to is not waited for.
  @Test func aPipeOrFolderInPlaceOfTheFileIsNamed() throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    for make in [{ mkfifo(home.rules, 0o600) }, { mkdir(home.rules, 0o700) }] {
      #expect(make() == 0)
      let failure = #expect(throws: CommandFailure.self) { try HomeRules(of: home) }
      #expect(failure?.message?.contains("rules.json is no regular file") == true)
      #expect(remove(home.rules) == 0)
    }
  }

  @Test func aDeviceThatLeavesTakesItsRulesAlong() throws {
    let folder = try TemporaryFolder()
    let home = try home(folder)
    var rules = try HomeRules(of: home)
    try rules.store(try table("Todos"))
    try home.removeData()
    #expect(try HomeRules(of: home).apps.isEmpty)
  }
}
