import Testing

@testable import LockstepSimulation

struct PeoplePlanTests {
  @Test func allFaultsAreToldAtOnce() {
    var plan = PeoplePlan()
    #expect(plan.validate().isEmpty)
    (plan.accounts, plan.devices, plan.seconds) = (0, 1, 0)
    #expect(plan.validate().count == 3)
    (plan.accounts, plan.devices, plan.seconds) = (1_001, 17, 3_601)
    #expect(plan.validate().count == 3)
    (plan.accounts, plan.devices, plan.seconds) = (1_000, 16, 3_600)
    #expect(plan.validate().isEmpty)
    plan.apps = []
    #expect(plan.validate().count == 1)
  }

  @Test func aResultIsGoodWhereEveryAccountIsRight() {
    var result = PeopleResult()
    (result.accounts, result.equal, result.asDemanded) = (3, 3, 3)
    #expect(result.isGood)
    result.asDemanded = 2
    #expect(!result.isGood)
    (result.asDemanded, result.equal) = (3, 2)
    #expect(!result.isGood)
    (result.equal, result.faults) = (3, ["device 1: the outbox is full"])
    #expect(!result.isGood)
  }
}
