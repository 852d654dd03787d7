import LockstepModel
import Testing

@testable import LockstepClient

/// A device that is woken by pushes: it has no connection while nothing waits.
struct AgentSleepTests {
  private func sleepingDevice(_ stage: Stage) throws -> TestDevice {
    let device = try stage.device(1)
    try stage.run()
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try stage.run()
    try device.order { _ in .sleep }
    try stage.run()
    return device
  }

  private func isAsleep(_ device: TestDevice) -> Bool {
    if case .asleep = device.status.state { true } else { false }
  }

  @Test func itClosesTheSocketWithItsPositionAndStaysAway() throws {
    let stage = try Stage()
    let device = try sleepingDevice(stage)
    #expect(isAsleep(device))
    #expect(device.status.transport == nil)
    let newest = try stage.relay.newestToken().text
    #expect(stage.relay.closes == [newest])
    let traffic = device.status.traffic
    try stage.relay.save("b", TestApp.note, ["text": "unheard"])
    try stage.run(24 * 3_600_000)
    #expect(isAsleep(device))
    #expect(device.status.traffic == traffic)
    #expect(try device.text("b") == nil)
  }

  @Test func aWakeFetchesAndStaysConnected() throws {
    let stage = try Stage()
    let device = try sleepingDevice(stage)
    try stage.relay.save("b", TestApp.note, ["text": "heard"])
    try stage.run(60_000)
    try device.order { _ in .wake }
    try stage.run()
    #expect(try device.text("b") == "heard")
    #expect(device.status.state == .inSync)
    try stage.run(600_000)
    #expect(device.status.transport == .webSocket)
  }

  @Test func anEditConnectsAtOnceAndIsSent() throws {
    let stage = try Stage()
    let device = try sleepingDevice(stage)
    try device.edit(.note("b", "mine"))
    try stage.run()
    #expect(try stage.relay.record("b")?.text == "mine")
    #expect(device.status.state == .inSync)
  }

  @Test func aManualSyncConnects() throws {
    let stage = try Stage()
    let device = try sleepingDevice(stage)
    try stage.relay.save("b", TestApp.note, ["text": "heard"])
    try device.order { .syncNow($0) }
    try stage.run()
    #expect(try device.text("b") == "heard")
    #expect(device.status.state == .inSync)
  }

  @Test func itDoesNotSleepBeforeItsChangesAreSaved() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    stage.relay.onMessage = { message in
      if case .save = message { .ignore } else { nil }
    }
    try device.edit(.note("b", "mine"))
    try device.order { _ in .sleep }
    try stage.run(2_000)
    #expect(!isAsleep(device))
    stage.relay.onMessage = nil
    try stage.run(120_000)
    #expect(try stage.relay.record("b")?.text == "mine")
    #expect(isAsleep(device))
  }

  @Test func aWakeBeforeTheSleepKeepsTheConnection() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try device.order { _ in .sleep }
    try device.order { _ in .wake }
    try stage.run(60_000)
    #expect(device.status.state == .inSync)
    #expect(device.status.transport == .webSocket)
  }

  @Test func itWaitsForTheRelayIfThatIsAwayWhenItWakes() throws {
    let stage = try Stage()
    let device = try sleepingDevice(stage)
    device.isCutOff = true
    try stage.relay.save("b", TestApp.note, ["text": "heard"])
    try device.order { _ in .wake }
    try stage.run(5_000)
    guard case .offline = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    device.isCutOff = false
    try stage.run(120_000)
    #expect(try device.text("b") == "heard")
  }

  @Test func aDeviceThatStopsTellsItsPosition() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    try device.order { _ in .stop }
    try stage.run()
    let newest = try stage.relay.newestToken().text
    #expect(stage.relay.closes == [newest])
  }
}
