import LockstepModel
import Testing

@testable import LockstepClient

/// Complete scenarios of devices and their relay.
struct AgentTests {
  @Test func anEditIsDurableBeforeItIsTold() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    let result = try #require(try device.edit(.note("a", "hello")))
    #expect(try result.get().text == "hello")
    #expect(try device.store.outbox().count == 1)
    #expect(try device.text("a") == "hello")
    #expect(device.changes.map { $0.compactMap(\.text) } == [["hello"]])
  }

  @Test func anEditReachesTheOtherDevice() throws {
    let stage = try Stage()
    let first = try stage.device(1)
    let second = try stage.device(2)
    try stage.run()
    #expect(first.status.state == .inSync)
    try first.edit(.note("a", "hello"))
    #expect(first.status.state == .syncing)
    try stage.run()
    #expect(try second.text("a") == "hello")
    #expect(first.status.state == .inSync)
    #expect(second.status.state == .inSync)
    #expect(try first.record("a")?.tag == 1)
    #expect(try first.store.outbox().isEmpty)
    #expect(try first.store.cursor() == second.store.cursor())
    #expect(stage.relay.saves.count == 1)
  }

  @Test func aDeviceThatComesLaterGetsTheSnapshot() throws {
    let stage = try Stage()
    for index in 0..<2_500 {
      try stage.relay.save("n\(index)", TestApp.note, ["text": .string("t\(index)")])
    }
    let device = try stage.device(1)
    try stage.run()
    #expect(try device.store.allRecords().count == 2_500)
    #expect(device.status.state == .inSync)
    #expect(try device.store.cursor() == stage.relay.newestToken())
  }

  @Test func whatWasMissedComesWithTheGreeting() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    device.isCutOff = true
    try device.cut()
    try stage.run(5_000)
    try stage.relay.save("a", TestApp.note, ["text": "while away"])
    guard case .offline = device.status.state else {
      Issue.record("not offline: \(device.status.state)")
      return
    }
    device.isCutOff = false
    try stage.run(60_000)
    #expect(try device.text("a") == "while away")
    #expect(device.status.state == .inSync)
    #expect(!stage.relay.requests.contains("fetch since"))
  }

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func everyTransportCarriesBothWays(_ transport: Transport) throws {
    let stage = try Stage()
    let first = try stage.device(1, transports: [transport])
    let second = try stage.device(2, transports: [transport])
    try stage.run()
    #expect(first.status.transport == transport)
    try first.edit(.note("a", "one"))
    try second.edit(.note("b", "two"))
    try stage.run(transport == .poll ? 31_000 : 1_000)
    #expect(try second.text("a") == "one")
    #expect(try first.text("b") == "two")
    #expect(first.status.state == .inSync)
    #expect(second.status.state == .inSync)
  }
}
