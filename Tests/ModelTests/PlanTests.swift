import LockstepModel
import Testing

struct PlanTests {
  @Test func aPlanIncludesTheZonesThatItNames() {
    let timer = Name(trusted: "timer")
    let memos = Name(trusted: "memos")
    #expect(Plan.everything.includes(timer))
    #expect(!Plan.everything.hasNoZone)
    #expect(Plan(zones: [timer]).includes(timer))
    #expect(!Plan(zones: [timer]).includes(memos))
    #expect(!Plan(zones: [timer]).hasNoZone)
    #expect(Plan(zones: []).hasNoZone)
  }
}
