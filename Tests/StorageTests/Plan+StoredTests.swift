import LockstepModel
import LockstepStorage
import Testing

struct PlanStoredTests {
  @Test func aPlanComesBackAsItWas() {
    let plans = [
      .everything, Plan(zones: []), Plan(zones: ["b", "a\"", "é"].map(Name.init(trusted:))),
    ]
    for plan in plans { #expect(Plan(storedText: plan.storedText) == plan) }
    #expect(Plan.everything.storedText == nil)
    #expect(plans[2].storedText == #"["b","a\"","é"]"#)
  }

  @Test(arguments: ["", "[", "{}", "null", "[1]", #"["a",""]"#, #"["\u0007"]"#])
  func whatIsNoPlanIsToldFromOne(_ text: String) {
    #expect(Plan(storedText: text) == nil)
  }
}
