import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// An expired plan: nothing is lost, there are no repeated requests, and the user sees the next
/// step.
struct AgentPlanTests {
  private let elsewhere = Name(trusted: "Elsewhere")

  @Test(arguments: [Transport.webSocket, .longPoll, .poll])
  func aZoneThatThePlanDoesNotIncludeWaitsAndTheOthersGoOn(_ transport: Transport) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [transport])
    try stage.run()
    let refusals = stage.relay.refuseSaves(
      into: elsewhere, Refusal(.planRequired, "not in the plan"))
    try device.edit(.text("waits", in: elsewhere))
    try device.edit(.note("b", "goes"))
    try stage.run(60_000)
    #expect(refusals.count == 1)
    #expect(try stage.relay.record("b")?.text == "goes")
    #expect(device.status.state == .needsPerson)
    #expect(device.status.blockedZones == [elsewhere])
    #expect(device.status.waiting == 1)
    // Neither further edits nor time cause repeated requests.
    for index in 0..<10 {
      try device.edit(.text("\(index)", in: elsewhere))
      try device.edit(.note("b", "\(index)"))
      try stage.run(120_000)
    }
    #expect(try stage.relay.record("b")?.text == "9")
    #expect(refusals.count == 1)
    refusals.isRefusing = false
    try device.order { .syncNow($0) }
    try stage.run(5_000)
    #expect(device.status.state == .inSync)
    #expect(device.status.blockedZones.isEmpty)
  }

  @Test func aBlockedZoneHealsByItselfInAWhile() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var refused = 0
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, refused < 2 else { return nil }
      refused += 1
      return .reply([.error(id: request.id.text, Refusal(.planRequired, "not in the plan"))])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(Limits.planRetryMilliseconds + 60_000)
    #expect(refused == 2)
    #expect(device.status.state == .needsPerson)
    try stage.run(Limits.planRetryMilliseconds)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.state == .inSync)
  }

  /// Stage of the connection at which the plan without zones is reported.
  enum Place: CaseIterable {
    case handshake, hello, save, poll
  }

  @Test(arguments: Place.allCases)
  func aPlanWithoutAnyZoneEndsAllUntilAPersonActs(_ place: Place) throws {
    let stage = try Stage()
    let device = try stage.device(1)
    try stage.run()
    var hasPlan = false
    stage.relay.onMessage = { message in
      switch message {
      case .hello where place == .hello && !hasPlan: .close(code: 4502)
      case .save where place == .save && !hasPlan: .close(code: 4502)
      default: nil
      }
    }
    stage.relay.onRequest = { head in
      guard !hasPlan, head.target.path != ["v1", "time"] else { return nil }
      let isSocket = head.target.path == ["v1", "socket"]
      switch place {
      case .handshake: return .refuse(Refusal(.planRequired, "no plan"))
      case .poll:
        return isSocket
          ? .respond(status: 404, headers: [:], body: [])
          : .refuse(Refusal(.planRequired, "no plan"))
      case .hello, .save: return nil
      }
    }
    if place != .save { try device.cut() }
    try stage.run(30_000)
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    guard case .failed(let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason.contains("plan"))
    #expect(device.status.waiting == 1)
    let asked = stage.relay.requests.count
    try device.edit(.note("b", "mine"))
    try stage.run(24 * 3_600_000)
    #expect(stage.relay.requests.count == asked)
    hasPlan = true
    try device.order { .syncNow($0) }
    try stage.run(5_000)
    #expect(device.status.state == .inSync)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(try stage.relay.record("b")?.text == "mine")
  }
}
