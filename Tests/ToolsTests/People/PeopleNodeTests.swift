import Apps
import Changes
import Devices
import Testing

@testable import Tools

struct PeopleNodeTests {
  private func stage(
    seed: UInt64 = 1, seconds: Int = 6, transport: Transport? = nil
  ) throws -> FleetStage<PeopleNode> {
    var plan = PeoplePlan()
    (plan.accounts, plan.devices, plan.seconds, plan.seed) = (2, 3, seconds, seed)
    plan.transport = transport
    return try FleetStage(accounts: 2, devices: 3, apps: AppCatalog.all) {
      PeopleNode(plan: plan, random: SeededRandom(seed: seed), at: $0)
    }
  }

  private func finish(_ stage: FleetStage<PeopleNode>) throws -> PeopleResult {
    stage.run(seconds: 120) { !$0.isEmpty }
    let report = try #require(stage.reports.first)
    switch report {
    case .finished(let result): return result
    }
  }

  @Test(arguments: UInt64(1)...24)
  func allDevicesShowWhatTheRulesDemand(_ seed: UInt64) throws {
    let result = try finish(stage(seed: seed))
    #expect(result.isGood, "\(result.faults.joined(separator: "\n"))")
    #expect(result.accounts == 2 && result.equal == 2 && result.asDemanded == 2)
    #expect(result.edits > 10)
  }

  @Test(arguments: Transport.allCases)
  func anyTransportServes(_ transport: Transport) throws {
    for seed in UInt64(1)...6 {
      let stage = try stage(seed: seed, transport: transport)
      let result = try finish(stage)
      // A poll may come after the end of the settling.
      if transport == .poll { continue }
      #expect(result.isGood, "\(seed): \(result.faults.joined(separator: "\n"))")
      #expect(result.edits > 10)
    }
  }

  @Test func peopleAreOfflineAndAtOdds() throws {
    let results = try (1...12).map { try finish(stage(seed: $0)) }
    #expect(results.allSatisfy { $0.timesOffline > 0 })
    #expect(results.contains { $0.conflicts > 0 })
    #expect(results.contains { $0.refused > 0 })
  }

  @Test func theSameSeedIsTheSamePeople() throws {
    #expect(try finish(stage(seed: 4)) == finish(stage(seed: 4)))
    #expect(try finish(stage(seed: 4)) != finish(stage(seed: 5)))
  }

  @Test func withoutARelayNothingIsInStepAndTheResultSaysWhere() throws {
    let stage = try stage()
    stage.run(seconds: 2)
    stage.killRelay()
    let result = try finish(stage)
    #expect(!result.isGood)
    #expect(result.equal < 2)
    let fault = try #require(result.faults.first)
    #expect(fault.hasPrefix("account 0, device 0 (offline"))
    #expect(fault.contains(" and should show "))
  }

  @Test func itTakesAsLongAsThePlanSays() throws {
    let stage = try stage(seconds: 6)
    stage.run(seconds: 6)
    #expect(stage.reports.isEmpty)
    stage.run(seconds: 31)
    #expect(stage.reports.count == 1)
  }
}
