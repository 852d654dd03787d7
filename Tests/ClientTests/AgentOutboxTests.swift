import LockstepJSON
import LockstepStorage
import Testing

@testable import LockstepClient

/// No unsent change is ever lost, and none is applied twice.
struct AgentOutboxTests {
  @Test func aLostAnswerIsAskedForAgainUnderTheSameID() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var isLost = false
    stage.relay.onMessage = { message in
      guard case .save = message, !isLost else { return nil }
      isLost = true
      return .loseAnswer
    }
    try device.edit(.count("a"))
    try stage.run(5_000)
    #expect(stage.relay.saves.map(\.id).count == 2)
    #expect(stage.relay.saves[0] == stage.relay.saves[1])
    #expect(try stage.relay.record("a")?.tag == 1)
    #expect(try device.store.outbox().isEmpty)
    #expect(device.status.state == .inSync)
  }

  @Test func afterAReconnectTheFrozenBatchGoesBeforeAnythingIsFetched() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    let other = try stage.device(2, transports: [.webSocket])
    try stage.run()
    var isLost = false
    stage.relay.onReceive = { connection in
      guard connection.device == device.id, !isLost, connection.isSocket else { return nil }
      isLost = true
      return .loseAnswer
    }
    try device.edit(.count("a"))
    try stage.run(12)
    device.isCutOff = true
    // The other device has received it, and changes it further.
    try stage.run(2_000)
    try other.edit(.count("a"))
    try stage.run(2_000)
    let asked = stage.relay.requests.count
    device.isCutOff = false
    try stage.run(60_000)
    let words = stage.relay.requests.dropFirst(asked).filter { $0 != "time" }
    #expect(Array(words.prefix(4)) == ["GET /v1/socket", "hello", "save a", "fetch since"])
    #expect(try device.record("a")?.value == stage.relay.record("a")?.value)
    #expect(try device.record("a")?.value?.members?.count == 2)
    // There was no conflict: the changes followed one another.
    #expect(device.status.traffic.conflicts + other.status.traffic.conflicts == 0)
  }

  @Test func concurrentEditsMeetAndBothDevicesShowTheSame() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    try first.edit(.count("a"))
    try second.edit(.count("a"))
    try stage.run(5_000)
    let expected: JSONValue = [first.id.text: 1, second.id.text: 1]
    #expect(try first.record("a")?.value == expected)
    #expect(try second.record("a")?.value == expected)
    #expect(first.status.traffic.conflicts + second.status.traffic.conflicts == 1)
    #expect(try first.record("a")?.tag == second.record("a")?.tag)
  }

  @Test func aLostVersionIsKeptAsACopyOnEveryDevice() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    try first.edit(.fields("a", TestApp.draft, ["text": "first"]))
    try stage.run(2)
    try second.edit(.fields("a", TestApp.draft, ["text": "second"]))
    try stage.run(5_000)
    for device in [first, second] {
      let texts = try device.store.allRecords().map(\.text)
      #expect(texts == ["second", "first"])
      #expect(device.status.state == .inSync)
    }
  }

  @Test func aQuestionIsAnsweredOnceForAll() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    try first.edit(.fields("a", TestApp.choice, ["v": 1]))
    try second.edit(.fields("a", TestApp.choice, ["v": 2]))
    try stage.run(5_000)
    let asking = try #require([first, second].first { $0.status.askingCount == 1 })
    let other = asking === first ? second : first
    #expect(asking.status.state == .needsPerson)
    #expect(asking.status.asking == [.desk("a")])
    #expect(other.status.state == .inSync)
    let mine = try asking.record("a")?.value
    try asking.edit(.note("b", "goes on"))
    try stage.run()
    #expect(try other.text("b") == "goes on")
    try asking.order { .decide($0, .desk("a"), keepLocal: true) }
    try stage.run()
    #expect(try other.record("a")?.value == mine)
    #expect(asking.status.state == .inSync)
  }

  @Test func editsWhileOfflineGoInOneBatch() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    try device.order { _ in .goOffline }
    for index in 0..<30 { try device.edit(.note("n\(index % 10)", "\(index)")) }
    try stage.run(60_000)
    guard case .offline = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(device.status.waiting == 10)
    #expect(stage.relay.saves.isEmpty)
    try device.order { _ in .goOnline }
    try stage.run()
    #expect(stage.relay.saves.count == 1)
    #expect(device.status.state == .inSync)
  }

  /// The process dies at any moment between an edit and its acknowledgement.
  @Test(arguments: [Transport.webSocket, .longPoll])
  func aCrashAtAnyMomentLosesNothing(_ transport: Transport) throws {
    for crashAt in Int64(0)...90 {
      let stage = try Stage()
      let device = try stage.device(1, transports: [transport])
      let other = try stage.device(2, transports: [.webSocket])
      if crashAt > 45 { try stage.run() }
      try device.edit(.count("a"))
      try other.edit(.count("a"))
      try stage.run(crashAt % 46)
      try device.edit(.count("a"))
      device.crash()
      try stage.run(3_000)
      try device.restart()
      #expect(try device.record("a")?.value?[device.id.text]?.int64 == 2)
      try stage.run(120_000)
      let expected: JSONValue = [device.id.text: 2, other.id.text: 1]
      #expect(try device.record("a")?.value == expected, "crash at \(crashAt)")
      #expect(try other.record("a")?.value == expected, "crash at \(crashAt)")
      #expect(device.status.state == .inSync, "crash at \(crashAt)")
    }
  }

  @Test func aDeviceResumesFromItsStore() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try device.edit(.note("a", "one"))
    try stage.run()
    let cursor = try device.store.cursor()
    try device.restart()
    try stage.run()
    #expect(stage.relay.hellos.last == .some(cursor))
    guard case .ready(let status)? = device.reports.first else {
      Issue.record("not reported that it is ready")
      return
    }
    #expect(status.lastSync != nil)
    #expect(device.status.state == .inSync)
    // Records already in the store are not reported as changes.
    #expect(device.changes.isEmpty)
  }

  @Test func aChangeIsToldOnce() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    try first.edit(.note("a", "one"))
    try stage.run()
    #expect(first.changes.count == 1)
    #expect(second.changes.count == 1)
    try second.cut()
    try stage.run(5_000)
    #expect(second.changes.count == 1)
  }
}
