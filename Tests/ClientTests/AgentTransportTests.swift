import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// The selection of the transport, the deadlines, and the network traffic.
struct AgentTransportTests {
  @Test func whereWebSocketsDoNotPassItLongPollsAndClimbsBack() throws {
    let stage = try Stage()
    var isBlocked = true
    stage.relay.onRequest = { head in
      guard head.target.path == ["v1", "socket"], isBlocked else { return nil }
      return .respond(status: 403, headers: [:], body: [])
    }
    let device = try stage.device(1)
    try stage.run(5_000)
    #expect(device.status.transport == .longPoll)
    #expect(device.status.state == .inSync)
    // The socket is tried in parallel, without success at first.
    try stage.run(70_000)
    #expect(device.status.transport == .longPoll)
    isBlocked = false
    try stage.run(200_000)
    #expect(device.status.transport == .webSocket)
    #expect(device.status.state == .inSync)
    try device.edit(.note("a", "up again"))
    try stage.run()
    #expect(try stage.relay.record("a")?.text == "up again")
  }

  @Test func whereNothingIsHeldItPolls() throws {
    let stage = try Stage()
    stage.relay.onRequest = { head in
      if head.target.path == ["v1", "socket"] { return .ignore }
      return head.target["wait"] == nil ? nil : .cut
    }
    let device = try stage.device(1)
    try stage.run(60_000)
    #expect(device.status.transport == .poll)
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try stage.run(31_000)
    #expect(try device.text("a") == "theirs")
  }

  enum Cut: CaseIterable {
    case answer504, reset, silence

    var reaction: TestReaction {
      switch self {
      case .answer504: .respond(status: 504, headers: [:], body: Array("<html>".utf8))
      case .reset: .cut
      case .silence: .ignore
      }
    }
  }

  @Test(arguments: [5_000, 10_000, 30_000], Cut.allCases)
  func whereLongPollsAreCutTheStatusStaysAndTheWayIsFound(_ after: Int64, _ cut: Cut) throws {
    let stage = try Stage()
    stage.relay.cutsLongPolls = (after, cut.reaction)
    stage.relay.onRequest = { head in
      head.target.path == ["v1", "socket"]
        ? .respond(status: 403, headers: [:], body: []) : nil
    }
    let device = try stage.device(1)
    try stage.run(5_000)
    #expect(device.status.state == .inSync)
    device.forgetReports()
    try stage.run(200_000)
    #expect(device.states.allSatisfy { $0 == .inSync }, "\(device.states)")
    // Five seconds are too short to be useful; ten allow a wait of six.
    #expect(device.status.transport == (after == 5_000 ? .poll : .longPoll))
    let requests = device.status.traffic.requests
    try stage.run(600_000)
    #expect(device.status.traffic.requests - requests < 130)
    #expect(device.states.allSatisfy { $0 == .inSync })
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try stage.run(after == 5_000 ? 31_000 : 1_000)
    #expect(try device.text("a") == "theirs")
    // The network recovers, and the best transport is found again.
    stage.relay.cutsLongPolls = nil
    stage.relay.onRequest = nil
    try stage.run(Limits.probeMilliseconds + 1_000)
    #expect(device.status.transport == .webSocket)
    #expect(device.status.state == .inSync)
  }

  @Test func whereOnlyTheLongPollsHealTheyAreHeldForLongerAgain() throws {
    let stage = try Stage()
    stage.relay.cutsLongPolls = (5_000, .cut)
    stage.relay.onRequest = { head in
      head.target.path == ["v1", "socket"]
        ? .respond(status: 403, headers: [:], body: []) : nil
    }
    let device = try stage.device(1)
    try stage.run(100_000)
    #expect(device.status.transport == .poll)
    stage.relay.cutsLongPolls = nil
    try stage.run(Limits.probeMilliseconds)
    #expect(device.status.transport == .longPoll)
    #expect(device.agent.transportSelector.waitMilliseconds == Limits.agentLongPollMilliseconds)
  }

  @Test func aPersonsSyncLooksForABetterWayAtOnce() throws {
    let stage = try Stage()
    stage.relay.onRequest = { head in
      head.target.path == ["v1", "socket"]
        ? .respond(status: 403, headers: [:], body: []) : nil
    }
    let device = try stage.device(1)
    // The next automatic try is far in the future by now.
    try stage.run(3_600_000)
    #expect(device.status.transport == .longPoll)
    stage.relay.onRequest = nil
    try device.order { .syncNow($0) }
    try stage.run(2_000)
    #expect(device.status.transport == .webSocket)
    #expect(device.status.state == .inSync)
  }

  @Test func aRelayThatCannotBeReachedIsNoReasonToStepDown() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isCutOff = true
    try stage.run(120_000)
    guard case .offline(_, let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason == "connection refused")
    device.isCutOff = false
    try stage.run(35_000)
    #expect(device.status.transport == .webSocket)
  }

  @Test func aConnectionThatIsNeverMadeIsGivenUp() throws {
    let stage = try Stage()
    let device = try stage.device(1)
    device.isBlackHole = true
    try stage.run(Limits.connectMilliseconds + 6_000)
    guard case .offline = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    device.isBlackHole = false
    try stage.run(60_000)
    #expect(device.status.state == .inSync)
  }

  @Test func anAnswerThatNeverComesEndsTheSocket() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var ignored = false
    stage.relay.onMessage = { message in
      guard case .save = message, !ignored else { return nil }
      ignored = true
      return .ignore
    }
    try device.edit(.note("a", "mine"))
    try stage.run(Limits.answerMilliseconds + 2_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.state == .inSync)
  }

  @Test func aHelloThatIsNotAnsweredIsGivenUp() throws {
    let stage = try Stage()
    var hellos = 0
    stage.relay.onMessage = { message in
      guard case .hello = message else { return nil }
      hellos += 1
      return hellos == 1 ? .ignore : nil
    }
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run(10_000)
    #expect(device.status.state == .inSync)
  }

  @Test func silenceEndsTheSocket() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    stage.relay.isSilent = true
    let hellos = stage.relay.hellos.count
    try stage.run(2 * Limits.keepAliveMilliseconds - 2_000)
    #expect(stage.relay.hellos.count == hellos)
    try stage.run(6_000)
    #expect(stage.relay.hellos.count == hellos + 1)
    #expect(device.status.state == .inSync)
  }

  @Test func anIdleSocketCostsAlmostNothing() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    let before = device.status.traffic
    try stage.run(3_600_000)
    let after = device.status.traffic
    #expect(after.requests - before.requests == 0)
    #expect(after.messages - before.messages <= 4)
    #expect(after.bytesSent + after.bytesReceived - before.bytesSent - before.bytesReceived < 4_000)
  }

  @Test(arguments: [Transport.longPoll, .poll])
  func requestsAnHourStayWithinTheBudget(_ transport: Transport) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [transport])
    try stage.run()
    let before = device.status.traffic.requests
    try stage.run(3_600_000)
    let asked = device.status.traffic.requests - before
    #expect(transport == .poll ? asked <= 125 : asked < 100, "\(asked)")
  }

  @Test func aHintIsFetched() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    stage.relay.pushesHints = true
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try stage.run()
    #expect(try device.text("a") == "theirs")
    #expect(device.status.state == .inSync)
  }

  @Test func aLostPushCostsAFetchAndNoData() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    try stage.relay.save("a", TestApp.note, ["text": "lost"])
    device.socketConnection?.outgoing = []
    try stage.relay.save("b", TestApp.note, ["text": "not lost"])
    try stage.run()
    #expect(try device.text("a") == "lost")
    #expect(try device.text("b") == "not lost")
    #expect(stage.relay.requests.contains("fetch since"))
  }

  @Test func anotherAccountsRelayGetsNothing() throws {
    let stage = try Stage()
    stage.relay.onMessage = { message in
      guard case .hello = message else { return nil }
      return .reply([
        .welcome(
          account: AccountID(rawValue: 8), device: DeviceID(rawValue: 1),
          token: ChangeToken(generation: 5, sequence: 1), time: 5, keepAliveMilliseconds: 25_000)
      ])
    }
    let device = try stage.device(1, transports: [.webSocket])
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    #expect(stage.relay.saves.isEmpty)
    guard case .failed = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
  }

  @Test func nonsenseFromTheRelayEndsTheConnectionAndNothingElse() throws {
    var random = SeededRandom(seed: 5)
    for _ in 0..<40 {
      let stage = try Stage()
      let device = try stage.device(1, transports: [.webSocket])
      try stage.run()
      try device.edit(.note("a", "mine"))
      let noise = (0..<Int.random(in: 1...300, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      device.socketConnection?.outgoing += noise
      try stage.run(200_000)
      #expect(try stage.relay.record("a")?.text == "mine")
      #expect(device.status.state == .inSync)
    }
  }
}
