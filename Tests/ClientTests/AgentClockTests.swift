import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepClient

/// Stamps are relay time, however wrong the device's clock is; and due edits are made without
/// orders.
struct AgentClockTests {
  /// Returns an edit that starts a countdown of this device.
  private func wound(by device: TestDevice, dueAt: Int64) -> EditRequest {
    .fields(
      "egg", TestApp.egg,
      ["dueAt": .number(JSONNumber(dueAt)), "owner": .string(device.id.text)])
  }

  @Test(arguments: [Int64(-7_200_000), -3_000, 0, 3_000, 86_400_000])
  func aWrongClockStampsRightOnceItIsOnline(_ error: Int64) throws {
    let stage = try Stage()
    let device = try stage.device(1, clockError: error)
    try stage.run()
    try device.edit(.note("a", "x"))
    let stamp = try #require(try device.record("a")).modifiedAt
    #expect(abs(stamp - stage.now) <= 30, "\(stamp - stage.now)")
    try stage.run()
    #expect(try stage.relay.record("a")?.modifiedAt == stamp)
    #expect(try #require(device.status.clockOffset) + error < 30)
  }

  @Test(arguments: [Int64(-7_200_000), 3_000, 86_400_000])
  func anEditMadeBeforeTheOffsetWasKnownIsStampedAnew(_ error: Int64) throws {
    let stage = try Stage()
    let device = try stage.device(1, clockError: error)
    device.isCutOff = true
    try device.edit(.note("a", "x"))
    let madeAt = stage.now
    #expect(try device.record("a")?.modifiedAt == madeAt + error)
    try stage.run(10_000)
    device.isCutOff = false
    try stage.run(40_000)
    let saved = try #require(try stage.relay.record("a"))
    #expect(abs(saved.modifiedAt - madeAt) <= 30)
    #expect(saved.value?["at"]?.int64 == saved.modifiedAt)
    #expect(try device.record("a")?.modifiedAt == saved.modifiedAt)
    #expect(device.changes.last?.first?.modifiedAt == saved.modifiedAt)
  }

  @Test func aGuessSurvivesARestart() throws {
    let stage = try Stage()
    let device = try stage.device(1, clockError: 500_000)
    device.isCutOff = true
    try device.edit(.note("a", "x"))
    let madeAt = stage.now
    try stage.run(5_000)
    try device.restart()
    try device.edit(.note("b", "y"))
    try stage.run(5_000)
    device.isCutOff = false
    try stage.run(40_000)
    #expect(abs(try #require(try stage.relay.record("a")).modifiedAt - madeAt) <= 30)
    #expect(abs(try #require(try stage.relay.record("b")).modifiedAt - madeAt - 5_000) <= 30)
  }

  @Test func aJumpOfTheWallClockMovesNoStamp() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.isCutOff = true
    try device.cut()
    device.clockError = -3_600_000
    try stage.run(5_000)
    try device.edit(.note("a", "x"))
    let madeAt = stage.now
    #expect(abs(try #require(try device.record("a")).modifiedAt - madeAt) <= 30)
    device.isCutOff = false
    try stage.run(40_000)
    #expect(abs(try #require(try stage.relay.record("a")).modifiedAt - madeAt) <= 30)
  }

  @Test func aRelayWhoseClockWentBackIsFollowed() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    stage.relay.clockError = -60_000
    try device.edit(.note("a", "x"))
    try stage.run(10_000)
    let saved = try #require(try stage.relay.record("a"))
    #expect(saved.modifiedAt <= stage.relay.wall)
    #expect(stage.relay.saves.count == 2)
    #expect(stage.relay.saves[0].id != stage.relay.saves[1].id)
    #expect(device.status.state == .inSync)
  }

  @Test func theOwnerRingsFirstAndOnce() throws {
    let stage = try Stage()
    let owner = try stage.device(1)
    let other = try stage.device(2)
    try stage.run()
    let dueAt = stage.now + 10_000
    try owner.edit(wound(by: owner, dueAt: dueAt))
    try stage.run(9_900)
    #expect(try other.record("egg")?.value?["rings"] == nil)
    try stage.run(300)
    #expect(try owner.record("egg")?.value == ["rings": 1])
    #expect(try other.record("egg")?.value == ["rings": 1])
    try stage.run(10_000)
    #expect(stage.relay.saves.count == 2)
    #expect(try stage.relay.record("egg")?.device == owner.id)
  }

  @Test func whereTheOwnerIsAwayAnotherRingsAfterAWhile() throws {
    let stage = try Stage()
    let owner = try stage.device(1)
    let other = try stage.device(2)
    try stage.run()
    let dueAt = stage.now + 10_000
    try owner.edit(wound(by: owner, dueAt: dueAt))
    try stage.run(1_000)
    try owner.order { _ in .goOffline }
    try stage.run(10_000)
    // Without a connection, the owner rings at once; the other device waits for two seconds.
    #expect(try owner.record("egg")?.value == ["rings": 1])
    #expect(try other.record("egg")?.value?["rings"] == nil)
    try stage.run(2_000)
    #expect(try other.record("egg")?.value == ["rings": 1])
    try owner.order { _ in .goOnline }
    try stage.run(10_000)
    for device in [owner, other] {
      #expect(try device.record("egg")?.value == ["rings": 1])
      #expect(device.status.state == .inSync)
    }
    #expect(try stage.relay.record("egg")?.value == ["rings": 1])
  }

  @Test func aCountdownThatEndedWhileTheProcessWasOffRingsAtItsStart() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    let dueAt = stage.now + 10_000
    try device.edit(wound(by: device, dueAt: dueAt))
    try stage.run(1_000)
    device.crash()
    try stage.run(60_000)
    try device.restart()
    try stage.run(100)
    #expect(try device.record("egg")?.value == ["rings": 1])
  }

  /// The local state is old: the other devices rang long ago, and have continued.
  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func whoComesBackLooksWhatOthersDidBeforeItRings(_ transport: Transport) throws {
    let stage = try Stage()
    let owner = try stage.device(1)
    let other = try stage.device(2, transports: [transport])
    try stage.run()
    let dueAt = stage.now + 10_000
    try owner.edit(wound(by: owner, dueAt: dueAt))
    try stage.run(40_000)
    #expect(try other.record("egg")?.value == ["rings": 1])
    let next = stage.now + 100_000
    try owner.edit(wound(by: owner, dueAt: next))
    try stage.run(40_000)
    other.crash()
    try stage.run(70_000)
    try owner.edit(.fields("egg", TestApp.egg, ["rings": 7]))
    try stage.run(1_000)
    let saves = stage.relay.saves.count
    try other.restart()
    try stage.run(40_000)
    #expect(try other.record("egg")?.value == ["rings": 7])
    #expect(stage.relay.saves.count == saves)
  }

  /// The process is suspended over the end of a countdown; meanwhile the owner has continued.
  @Test(arguments: [Transport.webSocket, .events, .longPoll, .poll], [false, true])
  func whoWakesUpLooksWhatOthersDidBeforeItRings(
    _ transport: Transport, losesConnection: Bool
  ) throws {
    for readsFirst in [false, true] {
      let stage = try Stage()
      let owner = try stage.device(1)
      let other = try stage.device(2, transports: [transport])
      try stage.run()
      try owner.edit(wound(by: owner, dueAt: stage.now + 60_000))
      try stage.run(40_000)
      #expect(try other.record("egg")?.value?["rings"] == nil)
      other.suspend()
      if losesConnection { try other.cut() }
      try stage.run(10_000)
      try owner.edit(.fields("egg", TestApp.egg, ["rings": 7]))
      try stage.run(110_000)
      let saves = stage.relay.saves.count
      try other.resume(readsFirst: readsFirst)
      try stage.run(40_000)
      #expect(try other.record("egg")?.value == ["rings": 7])
      #expect(stage.relay.saves.count == saves)
      #expect(other.status.state == .inSync)
    }
  }

  /// It waits for a limited time if there is no answer or no network.
  @Test(arguments: [false, true])
  func whoWakesUpAloneRingsABitLater(isCutOff: Bool) throws {
    let stage = try Stage()
    let owner = try stage.device(1, transports: [.webSocket])
    try stage.run()
    try owner.edit(wound(by: owner, dueAt: stage.now + 60_000))
    try stage.run(1_000)
    owner.suspend()
    owner.isCutOff = isCutOff
    owner.isBlackHole = !isCutOff
    try owner.cut()
    try stage.run(120_000)
    try owner.resume()
    try stage.run(Limits.catchUpMilliseconds - 100)
    #expect(try owner.record("egg")?.value?["rings"] == nil)
    try stage.run(200)
    #expect(try owner.record("egg")?.value == ["rings": 1])
  }

  @Test(arguments: [Transport.webSocket, .longPoll])
  func aRelayWithAnImpossibleTimeIsLeftAndTriedAgain(_ transport: Transport) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [transport])
    stage.relay.clockError = (1 << 53) - 1 - stage.now - 100_000
    try stage.run(20_000)
    #expect(device.status.transport == nil)
    #expect(stage.relay.requests.count < 60)
    stage.relay.clockError = 0
    try device.edit(.note("a", "x"))
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "x")
  }

  @Test func anUnmeasuredClockEndsOnlyWhatIsItsOwn() throws {
    let stage = try Stage()
    let owner = try stage.device(1)
    let other = try stage.device(2, clockError: 0)
    try stage.run()
    let dueAt = JSONNumber(stage.now + 1_500_000)
    for device in [owner, other] {
      try device.edit(
        .fields(
          "egg \(device.id.text)", TestApp.egg,
          ["dueAt": .number(dueAt), "owner": .string(device.id.text)]))
    }
    try stage.run(1_000)
    other.isCutOff = true
    other.crash()
    other.clockError = 7_200_000
    try other.restart()
    try stage.run(1_000)
    #expect(try other.record("egg \(owner.id.text)")?.value?["rings"] == nil)
    #expect(try other.record("egg \(other.id.text)")?.value == ["rings": 1])
    // A user's edit makes no due edit either.
    try other.edit(.fields("egg \(owner.id.text)", TestApp.egg, ["text": "mine"]))
    #expect(try other.record("egg \(owner.id.text)")?.value == ["text": "mine"])
  }

  @Test func aStepOfTheWallClockBeforeTheFirstMeasurementMovesNoStamp() throws {
    let stage = try Stage()
    let device = try stage.device(1, clockError: 500_000)
    device.isCutOff = true
    try stage.run(1_000)
    try device.edit(.note("a", "x"))
    let madeAt = stage.now
    device.clockError = 0
    try stage.run(5_000)
    try device.edit(.note("b", "y"))
    device.isCutOff = false
    try stage.run(40_000)
    #expect(abs(try #require(try stage.relay.record("a")).modifiedAt - madeAt) <= 30)
    #expect(abs(try #require(try stage.relay.record("b")).modifiedAt - madeAt - 5_000) <= 30)
  }

  @Test func aRememberedOffsetIsToldAndItsChangeAlone() throws {
    let stage = try Stage()
    let device = try stage.device(1, clockError: 500_000)
    try stage.run(2_000)
    device.isCutOff = true
    try device.restart()
    try stage.run(1_000)
    #expect(abs(try #require(device.status.clockOffset) + 500_000) <= 30)
    device.isCutOff = false
    try stage.run(60_000)
    #expect(device.status.state == .inSync)
    device.forgetReports()
    device.clockError = 200_000
    try stage.run(30_000)
    let reported = device.reports.compactMap {
      if case .status(let status) = $0 { status.clockOffset } else { nil }
    }
    #expect(abs(try #require(reported.last) + 200_000) <= 30)
    #expect(reported.count == 1)
  }
}
