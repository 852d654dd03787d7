import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// Every refusal code of the relay, and the device's reaction.
struct AgentRefusalTests {
  /// Result for a change whose batch is refused once.
  private enum Fate {
    case savedAnyway
    case parked
    case failed
    case blocked
    case outOfScope
  }

  private static func fate(_ code: RefusalCode) -> Fate {
    switch code {
    case .badToken, .registrationClosed, .badPairingCode: .failed
    case .planRequired: .blocked
    case .outOfScope: .outOfScope
    case .badName, .chunksMissing, .recordTooLarge, .badRequest, .badJSON, .badMessage,
      .bodyTooLarge, .tooManyRecords:
      .parked
    default: code.advice == .askPerson ? .failed : .savedAnyway
    }
  }

  @Test(arguments: RefusalCode.allCases)
  func aRefusedBatchOnTheSocket(_ code: RefusalCode) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var refused = false
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, !refused else { return nil }
      refused = true
      return .reply([.error(id: request.id.text, Refusal(code, "because"))])
    }
    try check(code, device, stage)
  }

  @Test(arguments: RefusalCode.allCases)
  func aRefusedBatchByHTTP(_ code: RefusalCode) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var refused = false
    stage.relay.onRequest = { head in
      guard head.method == "POST", !refused else { return nil }
      refused = true
      return .refuse(Refusal(code, "because"))
    }
    // A failed atomic batch has 409 and its results; a bare 409 is not a valid answer of a relay.
    try check(code, device, stage)
  }

  private func check(_ code: RefusalCode, _ device: TestDevice, _ stage: Stage) throws {
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    let state = device.status.state
    switch AgentRefusalTests.fate(code) {
    case .savedAnyway:
      #expect(try stage.relay.record("a")?.text == "mine", "\(code)")
      #expect(state == .inSync, "\(code)")
    case .parked:
      #expect(device.status.parked.map(\.key) == [.desk("a")], "\(code)")
      #expect(state == .needsPerson)
      try device.edit(.note("b", "goes on"))
      try stage.run(5_000)
      #expect(try stage.relay.record("b")?.text == "goes on", "\(code)")
    case .failed:
      guard case .failed = state else {
        Issue.record("\(code): \(state)")
        return
      }
      #expect(try device.store.outbox().count == 1)
      let asked = stage.relay.requests.count
      try stage.run(600_000)
      #expect(stage.relay.requests.count == asked, "\(code)")
    case .blocked, .outOfScope:
      let isBlocked = AgentRefusalTests.fate(code) == .blocked
      #expect(state == .needsPerson)
      #expect(device.status.blockedZones == (isBlocked ? [TestApp.zone] : []))
      #expect(device.status.zonesOutOfScope == (isBlocked ? [] : [TestApp.zone]))
      #expect(device.status.waiting == 1)
      // A user's sync order retries it.
      try device.order { .syncNow($0) }
      try stage.run(5_000)
      #expect(try stage.relay.record("a")?.text == "mine")
    }
    #expect(try device.text("a") == "mine")
  }

  @Test(arguments: RefusalCode.allCases)
  func aRefusedRecord(_ code: RefusalCode) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var refused = false
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, !refused else { return nil }
      refused = true
      let token = ChangeToken(generation: 1, sequence: 0)
      let results = request.mutations.map {
        MutationResult.refused(name: $0.name, Refusal(code, "because"))
      }
      return .reply([
        .saved(id: request.id, SaveAnswer(since: token, token: token, results: results))
      ])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    switch code.advice {
    case .retry, .fetchFirst, .stampAnew, .followRelay:
      #expect(try stage.relay.record("a")?.text == "mine", "\(code)")
      #expect(stage.relay.saves.count == 1)
    case .askPerson, .park, .fixRequest:
      #expect(device.status.parked.map(\.refusal.code) == [code])
    }
  }

  @Test(arguments: RefusalCode.allCases)
  func aRefusedFetch(_ code: RefusalCode) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.poll])
    try stage.run()
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try device.edit(.note("b", "mine"))
    try stage.run()
    var refused = false
    stage.relay.onRequest = { head in
      guard head.target.path == ["v1", "changes"], !refused else { return nil }
      refused = true
      return .refuse(Refusal(code, "because"))
    }
    try stage.run(90_000)
    #expect(refused)
    if code.advice == .askPerson {
      guard case .failed = device.status.state else {
        Issue.record("\(code): \(device.status.state)")
        return
      }
    } else {
      #expect(try device.text("a") == "theirs", "\(code)")
      #expect(device.status.state == .inSync, "\(code)")
    }
    #expect(try device.text("b") == "mine")
  }

  @Test(arguments: [
    UInt16(1001), 1009, 1011, 1012, 1013, 4400, 4408, 4429, 4499, 4500, 4501, 4502, 4999,
  ])
  func aCloseCode(_ code: UInt16) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var closed = false
    stage.relay.onMessage = { message in
      guard case .save = message, !closed else { return nil }
      closed = true
      return .close(code: code)
    }
    try device.edit(.note("a", "mine"))
    try stage.run(60_000)
    switch code {
    case 4500..<5000:
      guard case .failed = device.status.state else {
        Issue.record("\(code): \(device.status.state)")
        return
      }
      #expect(try device.store.outbox().count == 1)
    case 1009, 4400:
      #expect(device.status.parkedCount == 1)
    default:
      #expect(try stage.relay.record("a")?.text == "mine")
      #expect(device.status.state == .inSync)
    }
  }

  @Test func aHelloWithACursorThatIsGoneEndsInASnapshot() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    try stage.relay.save("a", TestApp.note, ["text": "theirs"])
    try stage.run()
    try device.store.write([
      .setCursor(ChangeToken(generation: 99, sequence: 5)),
      .putRecord(
        Record(
          zone: TestApp.zone, name: Name(trusted: "stale"), type: TestApp.note, fields: [123, 125],
          modifiedAt: 1, device: device.id, tag: 3)),
    ])
    try device.restart()
    try stage.run(5_000)
    #expect(device.status.state == .inSync)
    // The batch belongs to a history that the relay has lost, and so do the changes that the device
    // read.
    #expect(try stage.relay.record("stale")?.isDeleted == false)
    #expect(try device.text("a") == "theirs")
  }

  @Test func retryAfterIsObeyed() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var refusedAt: Int64?
    stage.relay.onRequest = { [relay = stage.relay] head in
      guard head.method == "POST", refusedAt == nil else { return nil }
      refusedAt = relay.now
      return .respond(status: 429, headers: ["Retry-After": "20"], body: [])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(19_000)
    #expect(try stage.relay.record("a") == nil)
    guard case .offline = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    try stage.run(10_000)
    #expect(try stage.relay.record("a")?.text == "mine")
  }

  @Test(arguments: [
    200, 400, 401, 402, 403, 404, 405, 407, 410, 411, 413, 451, 500, 502, 511,
  ])
  func aStrangersRefusalPasses(_ status: Int) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var isBlocked = true
    stage.relay.onRequest = { _ in
      isBlocked
        ? .respond(status: status, headers: [:], body: Array("<html>Log in".utf8)) : nil
    }
    try device.edit(.note("a", "mine"))
    try device.edit(.note("b", "mine too"))
    try stage.run(60_000)
    #expect(device.status.parkedCount == 0)
    isBlocked = false
    try stage.run(60_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(try stage.relay.record("b")?.text == "mine too")
    #expect(device.status.state == .inSync)
  }

  /// A portal passes all reads, and no saves.
  @Test(arguments: [200, 403, 404, 410, 413])
  func aStrangerWhoAnswersForTheSavesAloneIsWaitedOut(_ status: Int) throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var isBlocked = true
    stage.relay.onRequest = { head in
      guard isBlocked, head.method == "POST" else { return nil }
      return .respond(
        status: status, headers: ["Content-Type": "application/json"],
        body: Array(#"{"code":"badRequest","detail":"log in"}"#.utf8))
    }
    try device.edit(.note("a", "mine"))
    try stage.relay.save("b", TestApp.note, ["text": "theirs"])
    try stage.run(60_000)
    #expect(try device.text("b") == "theirs")
    #expect(device.status.parkedCount == 0)
    guard case .offline(_, let reason) = device.status.state else {
      Issue.record("it says \(device.status.state)")
      return
    }
    #expect(reason.contains("something between this device and the relay"), "\(reason)")
    isBlocked = false
    try stage.run(35_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.state == .inSync)
  }

  @Test func whatIsTooLargeForTheWayIsSetAsideAndTheRestGoesInSmallerBatches() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var most = 30_000
    var refusals = 0
    stage.relay.onReceive = { connection in
      guard connection.body.count > most else { return nil }
      refusals += 1
      return .respond(status: 413, headers: [:], body: Array("<html>Too large".utf8))
    }
    try device.edit(.note("large", String(repeating: "x", count: 100_000)))
    for index in 0..<200 {
      try device.edit(.note("n\(index)", String(repeating: "y", count: 1_000)))
    }
    try stage.run(30_000)
    for index in 0..<200 { #expect(try stage.relay.record("n\(index)") != nil, "\(index)") }
    #expect(refusals < 12, "\(refusals)")
    #expect(device.status.setAsideCount == 1)
    #expect(device.status.waiting == 1)
    #expect(device.status.parkedCount == 0)
    #expect(device.status.state == .needsPerson)
    // It blocks neither other changes nor later edits of this device.
    try device.edit(.note("later", "small"))
    try stage.run(5_000)
    #expect(try stage.relay.record("later")?.text == "small")
    most = .max
    try device.order { .syncNow($0) }
    try stage.run(5_000)
    #expect(try stage.relay.record("large")?.text?.count == 100_000)
    #expect(device.status.state == .inSync)
    #expect(device.status.setAsideCount == 0)
  }

  @Test func whatWasTooLargeForTheWayGoesByItselfAfterAnHour() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.longPoll])
    try stage.run()
    var isNarrow = true
    stage.relay.onReceive = { connection in
      guard isNarrow, connection.body.count > 30_000 else { return nil }
      return .respond(status: 413, headers: [:], body: [])
    }
    try device.edit(.note("large", String(repeating: "x", count: 100_000)))
    try stage.run(60_000)
    #expect(device.status.setAsideCount == 1)
    isNarrow = false
    try stage.run(Limits.planRetryMilliseconds)
    #expect(try stage.relay.record("large") != nil)
    #expect(device.status.state == .inSync)
  }

  @Test func aPersonsSyncTriesAgainWhatTheRelayRefused() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var refuses = true
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, refuses else { return nil }
      return .reply([.error(id: request.id.text, Refusal(.recordTooLarge, "because"))])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(5_000)
    #expect(device.status.parkedCount == 1)
    let asked = stage.relay.requests.count
    try device.order { .syncNow($0) }
    try stage.run(5_000)
    #expect(device.status.parkedCount == 1)
    #expect(stage.relay.requests.count > asked)
    refuses = false
    try device.order { .syncNow($0) }
    try stage.run(5_000)
    #expect(device.status.state == .inSync)
    #expect(try stage.relay.record("a")?.text == "mine")
  }

  @Test func whatAnEarlierVersionParkedForAStrangersAnswerGoesAgain() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var refuses = true
    stage.relay.onMessage = { message in
      guard case .save(let request) = message, refuses else { return nil }
      let refusal = Refusal(
        .bodyTooLarge, "The answer has status 413 and no problem of ours.")
      return .reply([.error(id: request.id.text, refusal)])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(5_000)
    #expect(device.status.parkedCount == 1)
    refuses = false
    try device.restart()
    try stage.run(5_000)
    #expect(try stage.relay.record("a")?.text == "mine")
    #expect(device.status.state == .inSync)
  }

  @Test func aRecordThatStaysInTheFutureIsTriedMoreAndMoreSeldom() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    var saves = 0
    stage.relay.onMessage = { message in
      guard case .save(let request) = message else { return nil }
      saves += 1
      let token = ChangeToken(generation: 1, sequence: 0)
      let results = request.mutations.map {
        MutationResult.refused(name: $0.name, Refusal(.clockAhead, "ahead"))
      }
      return .reply([
        .saved(id: request.id, SaveAnswer(since: token, token: token, results: results))
      ])
    }
    try device.edit(.note("a", "mine"))
    try stage.run(300_000)
    #expect(saves > 3)
    #expect(saves < 60, "\(saves)")
  }

  @Test func aQuietSocketInSyncEndsTheBackoff() throws {
    let stage = try Stage()
    let device = try stage.device(1, transports: [.webSocket])
    try stage.run()
    device.isCutOff = true
    try device.cut()
    try stage.run(120_000)
    #expect(device.agent.backoff.failures > 3)
    device.isCutOff = false
    try stage.run(40_000)
    #expect(device.status.state == .inSync)
    #expect(device.agent.backoff.failures == 0)
  }
}
