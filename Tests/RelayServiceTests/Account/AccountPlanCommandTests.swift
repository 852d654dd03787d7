import LockstepCommandLine
import LockstepModel
import Testing

@testable import LockstepRelayService

struct AccountPlanCommandTests {
  private func zones(_ text: String) throws -> [String] {
    try ValueKind<[Name]>.zones(atMost: 3).parse(text).map(\.text)
  }

  @Test func anAppsNameStandsForItsZone() throws {
    #expect(try zones("timer,memo") == ["Memos", "Timer"])
    #expect(try zones("TIMER,memos,Habits,timer") == ["Habits", "Memos", "Timer"])
  }

  @Test func otherZonesAreTakenAsTheyStand() throws {
    #expect(try zones("Notes,notes") == ["Notes", "notes"])
    #expect(throws: ValueFault.self) { try zones("") }
    #expect(throws: ValueFault.self) { try zones("Timer,,Memos") }
    #expect(try zones("a,b,c,a").count == 3)
    #expect(throws: ValueFault.self) { try zones("a,b,c,d") }
  }

  @Test func aFreePlanHasAllAppsButHabits() {
    #expect(
      AccountPlanCommand.freePlan.zones?.map(\.text) == ["Clipboard", "Memos", "Timer", "Vault"])
  }
}
