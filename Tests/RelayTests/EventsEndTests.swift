import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Event streams that stay open for long, are slow, and end.
struct EventsEndTests {
  let relay = TestRelay {
    $0.isOpen = true
    $0.limits.sendQueueBytes = 2_000
  }

  private func save(_ device: TestDevice, _ number: Int, size: Int = 100) throws {
    let text = String(repeating: "x", count: size)
    let body =
      #"{"id":"\#(batch(number).text)","records":[{"name":"r\#(number)","type":"t","#
      + #""fields":{"v":"\#(text)"},"modifiedAt":1}]}"#
    let response = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, body)
    try #require(response.status == 200)
  }

  private func open(_ device: TestDevice, node: Int = 0) throws -> (EventsClient, ChangeToken) {
    let stream = EventsClient(relay, node: node, as: device)
    guard case .changes(let page)? = try stream.next() else {
      throw Refusal(.internalError, "the stream did not begin")
    }
    return (stream, page.token)
  }

  private func lastProblem(_ stream: EventsClient) throws -> Refusal? {
    guard case .error(let refusal)? = try stream.all().last else { return nil }
    return refusal
  }

  // MARK: slow streams

  @Test func aSlowStreamGetsItsBacklogWhenItTakesBytesAgain() throws {
    let device = try relay.newAccount()
    let (stream, start) = try open(device)
    relay.setTakesBytes(stream.id, false)
    for number in 1...200 {
      try save(device, number)
      relay.advance(10)
    }
    #expect(relay.wire(stream.id).waiting.count < 3_000)
    relay.setTakesBytes(stream.id, true)
    relay.runUntilIdle()
    var cursor = start
    var names: [String] = []
    for event in try stream.all() {
      guard case .changes(let page) = event else {
        Issue.record("\(event) on a stream that was only slow")
        return
      }
      #expect(page.since == cursor)
      cursor = page.token
      names += page.changes.map(\.name.text)
    }
    #expect(names == (1...200).map { "r\($0)" })
    relay.advance(1)
    try save(device, 201)
    guard case .changes(let push)? = try stream.next() else {
      Issue.record("the push did not come back")
      return
    }
    #expect(push.since == cursor)
  }

  @Test func aStreamThatTakesNothingIsClosed() throws {
    let device = try relay.newAccount()
    let (stream, _) = try open(device)
    relay.setTakesBytes(stream.id, false)
    try save(device, 1)
    relay.advance(Limits.stalledMilliseconds - 1)
    #expect(!stream.isClosed)
    relay.advance(1)
    #expect(relay.wire(stream.id).closed == .now)
    #expect(relay.entries[0].node.services.currentStatus.streams == 0)
  }

  @Test func whatIsSaidOnAStreamIsThrownAwayAndBounded() throws {
    let device = try relay.newAccount()
    let (stream, _) = try open(device)
    let request = HTTPClient.bytes("GET", "/v1/time")
    let rounds = Limits.pipelineBytes / request.count + 1
    for round in 1...rounds {
      #expect(!relay.wire(stream.id).isPaused, "after \(round)")
      relay.send(stream.id, request)
    }
    #expect(relay.wire(stream.id).isPaused)
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
    try save(device, 1)
    #expect(try stream.all().count == 1)
    #expect(!stream.isWhole)
  }

  @Test func requestsBehindTheOneForAStreamAreThrownAway() throws {
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let head = HTTPClient.bytes("GET", "/v1/events", token: device.token)
    relay.send(client.id, head + HTTPClient.bytes("GET", "/v1/time"))
    relay.runUntilIdle()
    relay.advance(Limits.keepAliveMilliseconds)
    let text = String(decoding: relay.wire(client.id).incoming, as: UTF8.self)
    #expect(text.split(separator: "HTTP/1.1 ").count == 1)
    #expect(text.contains("event: changes\n"))
  }

  // MARK: silence

  @Test func aSilentStreamSaysNothingAtLeastEveryKeepAlive() throws {
    let device = try relay.newAccount()
    let streams = try (0..<20).map { _ in try open(device).0 }
    var firsts: [Int64] = []
    for stream in streams { try stream.take() }
    let counts = streams.map(\.bytes)
    for step in 1...5 {
      relay.advance(Limits.keepAliveMilliseconds / 5)
      for (index, stream) in streams.enumerated() {
        let before = stream.bytes
        #expect(try stream.all().isEmpty)
        if stream.bytes > before, before == counts[index] { firsts.append(Int64(step)) }
      }
    }
    #expect(firsts.count == streams.count, "each within the first keepAlive")
    #expect(Set(firsts).count > 1, "and not all at once")
    for stream in streams {
      let before = stream.bytes
      relay.advance(Limits.keepAliveMilliseconds)
      try stream.take()
      #expect(stream.bytes > before)
      #expect(!stream.isClosed)
    }
  }

  // MARK: end

  @Test func aStreamEndsWithTheRelay() throws {
    let device = try relay.newAccount()
    let (stream, _) = try open(device)
    relay.deliver(0, .stopping)
    let problem = try lastProblem(stream)
    #expect(problem?.code == .stopping)
    #expect(stream.isWhole && stream.isClosed)
    let retry = try #require(stream.retryMilliseconds)
    #expect((1_000...2_000).contains(retry))
    relay.runUntilIdle()
    #expect(relay.reports.last == .stopped)
  }

  @Test func aStreamThatIsBeginningIsRefusedByARelayThatStops() throws {
    let device = try relay.newAccount()
    let stream = EventsClient(relay, as: device, settles: false)
    relay.deliver(0, .stopping)
    relay.runUntilIdle()
    #expect(try stream.all().isEmpty)
    #expect(stream.head?.status == 503)
    #expect(stream.code == "stopping")
    #expect(stream.isClosed)
    #expect(relay.reports.last == .stopped)
  }

  @Test func aStreamEndsWithItsDevice() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let ended = (0...1).map { EventsClient(relay, node: $0, as: second) }
    let other = EventsClient(relay, node: 1, as: first)
    for stream in ended + [other] { #expect(try stream.all().count == 1) }
    let path = "/v1/devices/\(second.credentials.device.text)"
    #expect(try HTTPClient(relay).call("DELETE", path, token: first.token).status == 204)
    for stream in ended {
      #expect(try lastProblem(stream)?.code == .badToken)
      #expect(stream.isWhole && stream.isClosed)
    }
    #expect(try other.all().isEmpty)
    #expect(!other.isClosed)
    let again = EventsClient(relay, as: second)
    #expect(try again.all().isEmpty)
    #expect(again.head?.status == 401)
  }

  @Test func aStreamDiesWithItsConnection() throws {
    let device = try relay.newAccount()
    let (stream, _) = try open(device)
    let half = EventsClient(relay, as: device, settles: false)
    #expect(relay.entries[0].node.services.currentStatus.connections == 3)
    relay.cut(stream.id)
    relay.cut(half.id)
    relay.runUntilIdle()
    #expect(relay.entries[0].node.services.currentStatus.streams == 0)
    try save(device, 1)
    relay.advance(Limits.keepAliveMilliseconds * 2)
    #expect(relay.entries[0].node.services.status.pushes == 0)
    #expect(relay.wire(stream.id).incoming.isEmpty)
  }
}
