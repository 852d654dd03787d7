import LockstepModel
import Simulator
import Testing

struct FaultPlanTests {
  private func plans() -> [FaultPlan] {
    (1...200 as ClosedRange<UInt64>).map { seed in
      var random = SeededRandom(seed: seed)
      return FaultPlan(
        random: &random, kinds: FaultPlan.Kind.allCases, count: 30, devices: 3, span: 60_000)
    }
  }

  @Test func weeksPassOnceAtMost() {
    let counts = plans().map { plan in plan.faults.count { $0.fault.kind == .putAway } }
    #expect(counts.max() == 1)
  }

  @Test func nobodyIsSignedOutOfARelayThatIsPutBack() {
    for plan in plans() {
      let kinds = Set(plan.faults.map(\.fault.kind))
      #expect(!kinds.isSuperset(of: [.revoke, .restoreStore]))
    }
  }

  @Test func whatIsPlannedAfterTheWeeksIsSoMuchLater() throws {
    let plan = FaultPlan(faults: [
      .init(at: 700, fault: .cut(device: 0)), .init(at: 500, fault: .putAway(days: 40)),
    ])
    let away = try #require(plan.away)
    #expect(away.at == 500 && away.milliseconds == 40 * 86_400_000)
    #expect(FaultPlan(faults: []).away == nil)
  }

  @Test func lessOfAPlanKeepsItsOrder() {
    let plan = plans()[0]
    #expect(plan.only(nil).faults == plan.faults)
    #expect(plan.only([]).faults.isEmpty)
    #expect(plan.only([3, 1, 99]).faults == [plan.faults[1], plan.faults[3]])
  }
}
