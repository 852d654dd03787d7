import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Connections that take few bytes: bounded memory, one hint, nothing stale, and then all changes.
struct SlowReaderTests {
  /// Returns a live socket, its device, and the token of its first page.
  private func live(_ relay: TestRelay) throws -> (SocketClient, TestDevice, ChangeToken) {
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .changes("f", let page)? = try socket.next() else {
      throw Refusal(.internalError, "no answer to the fetch")
    }
    return (socket, device, page.token)
  }

  private func save(_ relay: TestRelay, _ device: TestDevice, _ number: Int, size: Int = 10) throws
  {
    let text = String(repeating: "x", count: size)
    let body =
      #"{"id":"\#(batch(number).text)","records":[{"name":"r\#(number)","type":"t","#
      + #""fields":{"v":"\#(text)"},"modifiedAt":1}]}"#
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, body)
    try #require(response.status == 200)
  }

  @Test func aSlowSocketGetsHintsAndRecovers() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.sendQueueBytes = 1_000
    }
    let (socket, device, start) = try live(relay)
    relay.setTakesBytes(socket.id, false)
    for number in 1...50 {
      try save(relay, device, number)
      relay.advance(10)
    }
    #expect(relay.wire(socket.id).waiting.count < 2_000)
    relay.setTakesBytes(socket.id, true)
    let messages = try socket.all()
    var cursor = start
    for message in messages.dropLast(2) {
      guard case .changes(nil, let page) = message else {
        Issue.record("\(message) before the hints")
        return
      }
      #expect(page.since == cursor)
      cursor = page.token
    }
    guard case .changed(let hint)? = messages.last else {
      Issue.record("no hint came")
      return
    }
    #expect(hint.sequence == 50, "what was folded is told at the end")
    try save(relay, device, 51)
    guard case .changed(let next)? = try socket.next() else {
      Issue.record("a newer token was not told")
      return
    }
    #expect(next.sequence == 51)
    socket.call(.fetch(id: "g", FetchQuery(since: cursor)))
    guard case .changes("g", let page)? = try socket.next() else { return }
    #expect(page.token.sequence == 51)
    relay.advance(1)
    try save(relay, device, 52)
    guard case .changes(nil, let push)? = try socket.next() else {
      Issue.record("the push did not come back")
      return
    }
    #expect(push.since == page.token)
  }

  @Test func aLargeChangeIsAHint() throws {
    let relay = TestRelay()
    let (socket, device, start) = try live(relay)
    try save(relay, device, 1, size: Limits.pushBytes)
    guard case .changed(let token)? = try socket.next() else {
      Issue.record("no hint came")
      return
    }
    #expect(token.sequence == 1)
    socket.call(.fetch(id: "g", FetchQuery(since: start)))
    guard case .changes("g", let page)? = try socket.next() else { return }
    #expect(page.changes.count == 1)
  }

  @Test func aConnectionThatTakesNothingIsClosed() throws {
    let relay = TestRelay()
    let (socket, device, _) = try live(relay)
    relay.setTakesBytes(socket.id, false)
    try save(relay, device, 1)
    relay.advance(Limits.stalledMilliseconds - 1)
    #expect(!socket.isClosed)
    relay.advance(1)
    #expect(relay.wire(socket.id).closed == .now)
    let status = try HTTPClient(relay, listenerKind: .admin).call("GET", "/status").json
    #expect(status?["slow_consumers_total"]?.int64 == 1)
  }

  @Test func aConnectionThatTakesALittleStays() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    relay.setTakesBytes(client.id, false)
    client.send("GET", "/v1/limits")
    for _ in 0..<5 {
      relay.advance(Limits.stalledMilliseconds - 1_000)
      relay.deliver(0, .drained(client.id, unsent: 10))
      client.send("GET", "/v1/devices", token: device.token)
      relay.runUntilIdle()
    }
    #expect(!client.isClosed)
    relay.advance(Limits.stalledMilliseconds)
    #expect(client.isClosed)
  }

  @Test func pipelinedAnswersDoNotPileUp() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.sendQueueBytes = 2_000
      $0.limits.requestBurstPerAddress = 3_000
    }
    let client = HTTPClient(relay)
    relay.setTakesBytes(client.id, false)
    let request = HTTPClient.bytes("GET", "/v1/limits")
    for _ in 0..<2_000 {
      client.expectAnswer(to: "GET")
      relay.send(client.id, request)
    }
    #expect(relay.wire(client.id).waiting.count < 4_000)
    #expect(relay.wire(client.id).isPaused)
    relay.setTakesBytes(client.id, true)
    relay.advance(2_000)
    var count = 0
    while let response = try client.next() {
      count += 1
      #expect(response.status == 200)
    }
    #expect(count == 2_000)
  }

  @Test func oneReceiveIsNotAnsweredInOneMoment() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.sendQueueBytes = 2_000
    }
    let client = HTTPClient(relay)
    let request = HTTPClient.bytes("GET", "/v1/limits")
    for _ in 0..<500 { client.expectAnswer(to: "GET") }
    relay.send(client.id, Array((0..<500).map { _ in request }.joined()))
    #expect(relay.wire(client.id).incoming.count < 4_000)
    relay.advance(1_000)
    var count = 0
    while try client.next() != nil { count += 1 }
    #expect(count == 500)
  }

  @Test func pingsDoNotEndAConnectionThatDrainsSlowly() throws {
    let relay = TestRelay()
    let (socket, device, _) = try live(relay)
    relay.setTakesBytes(socket.id, false)
    try save(relay, device, 1)
    for step in 0..<10 {
      relay.advance(Limits.keepAliveMilliseconds)
      relay.deliver(0, .drained(socket.id, unsent: 100 - step))
    }
    #expect(!socket.isClosed)
    relay.setTakesBytes(socket.id, true)
    relay.advance(Limits.keepAliveMilliseconds)
    _ = try socket.all()
    #expect(socket.pings == 1)
  }

  @Test func pagesAreReadOnlyWhileThereIsRoomForThem() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.bodyBudgetBytes = 40_000
    }
    let device = try relay.newAccount()
    for number in 1...2 { try save(relay, device, number, size: 30_000) }
    let slow = HTTPClient(relay)
    relay.setTakesBytes(slow.id, false)
    slow.send("GET", "/v1/changes", token: device.token)
    relay.runUntilIdle()
    #expect(!slow.isClosed)
    let client = HTTPClient(relay)
    let refused = try client.call("GET", "/v1/changes", token: device.token)
    #expect(refused.code == "overloaded")
    let socket = try SocketClient(relay, as: device)
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .error("f", let refusal)? = try socket.next() else {
      Issue.record("the fetch was not refused")
      return
    }
    #expect(refusal.code == .overloaded)
    relay.setTakesBytes(slow.id, true)
    #expect(try slow.next()?.status == 200)
    #expect(try client.call("GET", "/v1/changes", token: device.token).status == 200)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }
}
