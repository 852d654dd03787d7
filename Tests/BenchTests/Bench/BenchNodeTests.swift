import LockstepClient
import LockstepModel
import LockstepSimulation
import Stages
import Testing

@testable import LockstepBench

struct BenchNodeTests {
  private func plan(_ transport: Transport = .webSocket, rate: Int = 10, seconds: Int = 2)
    -> BenchPlan
  {
    var plan = BenchPlan()
    (plan.accounts, plan.devices) = (2, 3)
    (plan.rate, plan.seconds) = (rate, seconds)
    plan.transport = transport
    return plan
  }

  private func stage(_ plan: BenchPlan, badTokens: [Int] = []) throws -> FleetStage<BenchNode> {
    try FleetStage(accounts: plan.accounts, devices: plan.devices, badTokens: badTokens) {
      BenchNode(plan: plan, random: SeededRandom(seed: 3), at: $0)
    }
  }

  private func finish(_ stage: FleetStage<BenchNode>) throws -> BenchResult {
    var result: BenchResult?
    stage.run(seconds: 300) { reports in
      if case .finished(let found) = reports.last { result = found }
      return result != nil
    }
    return try #require(result)
  }

  @Test(arguments: Transport.allCases)
  func everyChangeArrivesOnceAtEveryOtherDevice(_ transport: Transport) throws {
    let result = try finish(stage(plan(transport)))
    #expect(result.sent == 20)
    #expect(result.delivered == 40)
    #expect(result.missing == 0 && result.duplicated == 0)
    #expect(result.failures.isEmpty)
    #expect(result.latency.count == 40)
    #expect(result.lateNanoseconds == 0)
  }

  @Test func theLoadBeginsOnceAllDevicesAreInSync() throws {
    let stage = try stage(plan())
    stage.run(seconds: 60) { !$0.isEmpty }
    guard case .running = stage.reports.first else {
      Issue.record("the first report is \(stage.reports)")
      return
    }
    #expect(stage.environment.network.openCount(of: try #require(stage.fleet)) == 6)
  }

  @Test func aSlowStoreCountsAsLatency() throws {
    let stage = try stage(plan())
    stage.commitNanoseconds = Span.milliseconds(500)
    let result = try finish(stage)
    #expect(result.missing == 0)
    #expect(result.latency.leastNanoseconds >= Span.milliseconds(500))
  }

  @Test func everyLatencyStandsInTheSecondInWhichItWasDue() throws {
    let result = try finish(stage(plan(rate: 10, seconds: 3)))
    #expect(result.timeline.seconds.map { $0?.count } == [20, 20, 20])
    #expect(
      result.timeline.seconds.compactMap { $0?.greatest }.max()
        == result.latency.greatestNanoseconds)
  }

  @Test func aPollMayTakeItsWholeInterval() throws {
    let result = try finish(stage(plan(.poll)))
    let worst = try #require(result.latency.quantile(1))
    #expect(worst > Span.seconds(10) && worst <= Span.seconds(31))
  }

  @Test func whatDoesNotArriveIsMissing() throws {
    let stage = try stage(plan())
    stage.run(seconds: 60) { !$0.isEmpty }
    stage.run(seconds: 1)
    stage.killRelay()
    let result = try finish(stage)
    #expect(result.sent == 20)
    #expect(result.missing > 0 && result.missing < 40)
    #expect(result.delivered + result.missing == 40)
  }

  @Test func whatComesTwiceIsCounted() throws {
    let stage = try stage(plan(.poll, rate: 1, seconds: 65))
    stage.run(seconds: 45)
    #expect(stage.reports.count == 1)
    try stage.overwriteOldest()
    let result = try finish(stage)
    #expect(result.missing == 0)
    // Two of the three devices did not make it, and receive it a second time.
    #expect(result.duplicated == 2)
  }

  @Test func aDeviceThatCannotSyncEndsTheBench() throws {
    let result = try finish(stage(plan(), badTokens: [4]))
    #expect(result.sent == 0)
    #expect(result.failures.count == 1)
    #expect(result.failures[0].hasPrefix("device 4: "))
  }

  @Test func stoppingEndsItWithWhatItHas() throws {
    let stage = try stage(plan())
    stage.run(seconds: 60) { !$0.isEmpty }
    stage.run(seconds: 1)
    stage.stopFleet()
    guard case .finished(let result) = stage.reports.last else {
      Issue.record("the last report is \(stage.reports.last.debugDescription)")
      return
    }
    #expect(result.sent > 5 && result.sent < 20)
  }

  @Test func aSeedChangesTheSameThings() throws {
    let first = try finish(stage(plan()))
    let again = try finish(stage(plan()))
    #expect(first.latency.doublings().map(\.count) == again.latency.doublings().map(\.count))
    #expect(first.latency.quantile(1) == again.latency.quantile(1))
  }
}
