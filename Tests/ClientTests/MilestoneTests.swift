import LockstepModel
import Testing

@testable import LockstepClient

/// Reports about the transfer of a change, for an observer.
struct MilestoneTests {
  private func milestones(_ device: TestDevice) -> [Milestone] {
    device.reports.compactMap { if case .milestone(let milestone) = $0 { milestone } else { nil } }
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func theWayOfAChangeIsTold(_ transport: Transport) throws {
    let stage = try Stage()
    let first = try stage.device(1, transports: [transport], reportsMilestones: true)
    let second = try stage.device(2, transports: [transport], reportsMilestones: true)
    try stage.run()
    first.forgetReports()
    second.forgetReports()
    let now = first.moment.instant
    stage.relay.timing = SaveTiming(
      received: stage.now * 1_000, durable: stage.now * 1_000 + 250,
      pushed: stage.now * 1_000 + 500)
    try first.edit(.note("a", "hello"))
    try stage.run(transport == .poll ? 31_000 : 1_000)
    let batch = try #require(stage.relay.saves.last)
    #expect(batch.timed)
    let reported = milestones(first).filter { if case .received = $0 { false } else { true } }
    #expect(reported.count == 2 && reported.first == .sent(batch.id, [.desk("a")]))
    guard case .answered(batch.id, let relayTimes?)? = reported.last else {
      Issue.record("not answered with times: \(reported)")
      return
    }
    #expect(abs(relayTimes.received.nanoseconds - now.nanoseconds) <= relayTimes.errorNanoseconds)
    #expect(relayTimes.durable.nanoseconds - relayTimes.received.nanoseconds == 250_000)
    #expect(relayTimes.pushed.nanoseconds - relayTimes.received.nanoseconds == 500_000)
    // The bytes arrive before the change is reported.
    let received = second.reports.firstIndex {
      if case .milestone(.received([.desk("a")])) = $0 { true } else { false }
    }
    let applied = second.reports.firstIndex {
      if case .changed(let records) = $0 { records.map(\.key) == [.desk("a")] } else { false }
    }
    #expect(try #require(received) < #require(applied))
  }

  @Test func aRelayThatTellsNoTimesIsFollowedAsFarAsItGoes() throws {
    let stage = try Stage()
    let device = try stage.device(1, reportsMilestones: true)
    try stage.run()
    device.forgetReports()
    try device.edit(.note("a", "hello"))
    try stage.run()
    let batch = try #require(stage.relay.saves.last)
    #expect(milestones(device) == [.sent(batch.id, [.desk("a")]), .answered(batch.id, nil)])
    #expect(device.status.state == .inSync)
  }

  @Test func nothingIsAskedOrToldWhereNobodyFollows() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    stage.relay.timing = SaveTiming(received: 1, durable: 2, pushed: 3)
    try first.edit(.note("a", "hello"))
    try stage.run()
    #expect(try second.text("a") == "hello")
    #expect(stage.relay.saves.map(\.timed) == [false])
    #expect(milestones(first).isEmpty && milestones(second).isEmpty)
  }
}
