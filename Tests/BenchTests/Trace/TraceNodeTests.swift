import LockstepClient
import LockstepModel
import LockstepSimulation
import Stages
import Testing

@testable import LockstepBench

struct TraceNodeTests {
  private func stage(
    _ transport: Transport = .webSocket, changes: Int = 3, badTokens: [Int] = []
  ) throws -> FleetStage<TraceNode> {
    var plan = TracePlan()
    (plan.transport, plan.changes) = (transport, changes)
    return try FleetStage(accounts: 1, devices: 2, badTokens: badTokens) {
      TraceNode(plan: plan, random: SeededRandom(seed: 3), at: $0)
    }
  }

  private func finish(_ stage: FleetStage<TraceNode>) throws -> TraceResult {
    var result: TraceResult?
    stage.run(seconds: 300) { reports in
      if case .finished(let found) = reports.last { result = found }
      return result != nil
    }
    return try #require(result)
  }

  @Test(arguments: Transport.allCases)
  func everyChangeIsFollowedThroughAllItsMilestones(_ transport: Transport) throws {
    let result = try finish(stage(transport))
    #expect(result.failures.isEmpty)
    let lines = result.changes.compactMap(\.timeline)
    #expect(lines.count == 3)
    for line in lines {
      #expect(line.steps.map(\.milestone) == TraceTimeline.Milestone.allCases)
      #expect(line.steps.allSatisfy { $0.duration >= 0 })
      #expect(line.uncertainty != nil)
    }
  }

  @Test func oneIsMadeWhenTheOneBeforeHasArrived() throws {
    let changes = try finish(stage(changes: 5)).changes
    for (before, next) in zip(changes, changes.dropFirst()) {
      #expect(try #require(before.applied) < next.acted)
    }
  }

  @Test func aSlowCommitIsSeenAsTheLargestPart() throws {
    let stage = try stage()
    stage.commitNanoseconds = Span.milliseconds(500)
    for line in try finish(stage).changes.compactMap(\.timeline) {
      #expect(line.largest?.milestone == .committed)
      #expect(try #require(line.largest?.duration) >= Span.milliseconds(500))
    }
  }

  @Test func whatIsPolledForIsSeenAsTheWayToDeviceB() throws {
    for line in try finish(stage(.poll, changes: 1)).changes.compactMap(\.timeline) {
      #expect(line.largest?.milestone == .received)
      #expect(line.total <= Span.seconds(31))
    }
  }

  @Test func aRelayThatGoesEndsItInBoundedTime() throws {
    let stage = try stage(changes: 100)
    stage.run(seconds: 60) { $0.count > 3 }
    stage.killRelay()
    let result = try finish(stage)
    #expect(result.changes.count < 100)
    #expect(result.failures.count == 1)
  }

  @Test func aDeviceThatCannotSyncEndsIt() throws {
    let result = try finish(stage(badTokens: [1]))
    #expect(result.changes.isEmpty)
    #expect(result.failures.count == 1)
    #expect(result.failures[0].hasPrefix("device B: "))
  }

  @Test func stoppingEndsItWithWhatItHas() throws {
    let stage = try stage(changes: 100)
    stage.run(seconds: 60) { $0.count > 3 }
    stage.stopFleet()
    guard case .finished(let result) = stage.reports.last else {
      Issue.record("the last report is \(stage.reports.last.debugDescription)")
      return
    }
    #expect(result.changes.count < 100 && result.failures.isEmpty)
  }
}
