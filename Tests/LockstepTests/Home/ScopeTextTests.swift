import LockstepJSON
import LockstepModel
import Testing

@testable import Lockstep

struct ScopeTextTests {
  private static let one = DeviceScope(zones: [Name(trusted: "Todos")])
  private static let three = DeviceScope(
    zones: ["Todos", "Memos", "Timer"].map(Name.init(trusted:)), isReadOnly: true)
  private static let reader = DeviceScope(zones: nil, isReadOnly: true)

  @Test func abilitiesAreSaidInPlainWords() {
    #expect(DeviceScope.everything.abilities == "read and change everything")
    #expect(Self.one.abilities == "read and change Todos, and nothing else of the account")
    #expect(Self.reader.abilities == "read everything, and change nothing")
    #expect(
      Self.three.abilities == "read Memos, Timer and Todos, and nothing else of the account; it "
        + "can change nothing")
    #expect(Self.three.summary == "Memos, Timer, Todos (read only)")
    #expect(DeviceScope.everything.summary == "everything")
  }

  @Test func aRefusedEditNamesTheZoneAndTheNextStep() {
    let timer = Name(trusted: "Timer")
    #expect(Self.one.explanation(ofEditIn: timer).hasSuffix("--zones Todos,Timer"))
    #expect(
      Self.three.explanation(ofEditIn: timer)
        == "this device was paired to read the zone Timer, and to change nothing; pair this device "
        + "again with a code of lockstep agent pair --zones Memos,Timer,Todos, without --read-only")
    #expect(Self.reader.explanation(ofEditIn: timer).hasSuffix("agent pair without --read-only"))
    let zones = Lockstep.Scope(Self.one).explanation(ofEditIn: "Timer")
    #expect(zones.contains("the zone Timer") && zones.contains(#"zones: ["Todos", "Timer"]"#))
  }

  @Test(arguments: [DeviceScope.everything, one, three, reader])
  func programsReadWhatTheHomeSays(_ scope: DeviceScope) {
    #expect(DeviceScope(json: scope.json) == scope)
    #expect(DeviceScope(json: nil) == .everything)
  }

  @Test func anUnknownLimitIsNotTakenForTheWholeAccount() {
    let unknown: [JSONValue] = [
      ["access": "half"], ["zones": []], ["zones": "Todos"], ["zones": ["Todos", 7]], [], "all",
    ]
    for json in unknown { #expect(DeviceScope(json: json) == nil, "\(json)") }
  }

  @Test func aLibrarysScopeAnswersForAZone() {
    let one = Lockstep.Scope(Self.one)
    #expect(one.zones == ["Todos"] && one.access == .readWrite)
    #expect(one.includesWrites(to: "Todos") && !one.includes("Timer"))
    let three = Lockstep.Scope(Self.three)
    #expect(three.includes("Timer") && !three.includesWrites(to: "Timer"))
    #expect(Lockstep.Scope.everything.includesWrites(to: "any"))
  }
}
