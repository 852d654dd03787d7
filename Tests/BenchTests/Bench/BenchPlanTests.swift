import Testing

@testable import LockstepBench

struct BenchPlanTests {
  @Test func theUsualPlanIsGood() {
    let plan = BenchPlan()
    #expect(plan.validate().isEmpty)
    #expect(plan.changes == 2_000)
    #expect(plan.deliveries == 4_000)
  }

  @Test func allFaultsAreToldAtOnce() {
    var plan = BenchPlan()
    (plan.accounts, plan.devices, plan.rate, plan.seconds) = (0, 1, 0, 0)
    #expect(plan.validate().count == 4)
    (plan.accounts, plan.devices, plan.rate, plan.seconds) = (5_001, 65, 100_001, 3_601)
    #expect(plan.validate().count == 4)
    (plan.accounts, plan.devices, plan.rate, plan.seconds) = (5_000, 64, 100_000, 3_600)
    #expect(plan.validate().isEmpty)
  }

  @Test func aPollIsWaitedForLongerThanItsInterval() {
    var plan = BenchPlan()
    #expect(plan.drainMilliseconds == 10_000)
    plan.transport = .poll
    #expect(plan.drainMilliseconds == 40_000)
  }
}
