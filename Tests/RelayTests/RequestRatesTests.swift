import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// Handling of clients that send too many requests.
struct RequestRatesTests {
  private func relay(
    _ configure: @escaping (inout RelayLimits) -> Void
  ) -> TestRelay {
    TestRelay {
      $0.isOpen = true
      configure(&$0.limits)
    }
  }

  @Test func aDeviceThatAsksTooOftenIsToldWhenToComeBack() throws {
    let relay = relay {
      $0.requestsPerSecondPerDevice = 2
      $0.requestBurstPerDevice = 3
    }
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    for _ in 0..<3 {
      #expect(try client.call("GET", "/v1/devices", token: device.token).status == 200)
    }
    let reads = relay.readsDone
    let refused = try client.call("GET", "/v1/devices", token: device.token)
    #expect(refused.status == 429)
    #expect(refused.code == "tooManyRequests")
    #expect(refused.headers["Retry-After"] == "1")
    #expect(refused.keepsAlive)
    // The store was not asked for it, and the body of the next request is skipped.
    let body = saveBody("r", id: batch(1))
    #expect(
      try client.call("POST", "/v1/zones/z/records", token: device.token, body).status == 429)
    #expect(relay.readsDone == reads)
    relay.advance(500)
    #expect(
      try client.call("POST", "/v1/zones/z/records", token: device.token, body).status == 200)
    #expect(!client.isClosed)
  }

  /// A client that never waits is refused four times a second, and none of its requests is lost.
  @Test func a429ComesALittleLater() throws {
    let relay = relay {
      $0.requestsPerSecondPerAddress = 1
      $0.requestBurstPerAddress = 1
    }
    let client = HTTPClient(relay)
    for _ in 0..<6 { client.send("GET", "/v1/time") }
    relay.runUntilIdle()
    #expect(try client.next()?.status == 200)
    #expect(try client.next() == nil)
    relay.advance(Limits.rateLimitDelayMilliseconds - 1)
    #expect(try client.next() == nil)
    relay.advance(1)
    #expect(try client.next()?.status == 429)
    #expect(try client.next() == nil)
    // Other clients behind a proxy use its other connections meanwhile.
    #expect(try HTTPClient(relay, from: "192.0.2.99").call("GET", "/v1/time").status == 200)
    var statuses: [Int] = []
    for _ in 0..<20 {
      relay.advance(Limits.rateLimitDelayMilliseconds)
      while let answer = try client.next() { statuses.append(answer.status) }
    }
    #expect(statuses.count == 4)
    #expect(!client.isClosed)
    #expect(try client.call("GET", "/v1/time").status == 200, "a client that waited")
  }

  /// An account that opens sockets without end is welcomed at a limited rate; others are not
  /// delayed.
  @Test func anAccountsSocketsAreWelcomedAtAPace() throws {
    let relay = relay { _ in }
    let device = try relay.newAccount()
    let other = try relay.newAccount()
    for _ in 0..<Limits.welcomesAtOnce {
      let socket = try SocketClient(relay, as: device)
      relay.cut(socket.id)
    }
    let late = try SocketClient(relay)
    late.call(.hello(token: device.token, since: nil))
    #expect(try late.next() == nil)
    _ = try SocketClient(relay, as: other)
    relay.advance(1_000 / Int64(Limits.welcomesPerSecond) + 1)
    guard case .welcome? = try late.next() else {
      Issue.record("it is not welcomed")
      return
    }
  }

  @Test func connectionsOfADeviceShareItsRateAndOthersHaveTheirs() throws {
    let relay = relay {
      $0.requestsPerSecondPerDevice = 1
      $0.requestBurstPerDevice = 4
    }
    let device = try relay.newAccount()
    let other = try relay.newAccount()
    // Each request has a connection of its own, and is looked up first.
    let statuses = try (0..<6).map { _ in
      try HTTPClient(relay).call("GET", "/v1/devices", token: device.token).status
    }
    #expect(statuses == [200, 200, 200, 200, 429, 429])
    #expect(try HTTPClient(relay).call("GET", "/v1/devices", token: other.token).status == 200)
  }

  @Test func guessingTokensCostsTheAddress() throws {
    let relay = relay {
      $0.requestsPerSecondPerAddress = 1
      $0.requestBurstPerAddress = 10
    }
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let reads = relay.readsDone
    var statuses: [Int] = []
    for number in 0..<30 {
      statuses.append(try client.call("GET", "/v1/devices", token: "guess\(number)").status)
    }
    // Each refusal takes a quarter of a second, in which a quarter of a token is added.
    #expect(statuses.prefix(9).allSatisfy { $0 == 401 })
    #expect(statuses.suffix(20).count { $0 == 429 } >= 15)
    #expect(relay.readsDone - reads < 16)
    // Other addresses are not affected, not even for the device whose token was not guessed.
    let elsewhere = HTTPClient(relay, from: "192.0.2.99")
    for _ in 0..<50 {
      #expect(try elsewhere.call("GET", "/v1/devices", token: device.token).status == 200)
    }
    relay.advance(1_000)
    #expect(try client.call("GET", "/v1/devices", token: "guess").status == 401)
  }

  @Test func goodTokensCostTheAddressNothing() throws {
    let relay = relay {
      $0.requestsPerSecondPerAddress = 1
      $0.requestBurstPerAddress = 5
    }
    let device = try relay.newAccount()
    for _ in 0..<50 {
      #expect(try HTTPClient(relay).call("GET", "/v1/devices", token: device.token).status == 200)
    }
    for _ in 0..<20 { _ = try SocketClient(relay, as: device) }
  }

  @Test(arguments: ["/v1/time", "/v1/limits", "/nothing", "/v1/devices"])
  func whoHasNoTokenPaysForAnything(path: String) throws {
    let relay = relay {
      $0.requestsPerSecondPerAddress = 1
      $0.requestBurstPerAddress = 3
    }
    let client = HTTPClient(relay)
    let first = try (0..<3).map { _ in try client.call("GET", path).status }
    #expect(!first.contains(429))
    #expect(try client.call("GET", path).status == 429)
    #expect(try HTTPClient(relay, from: "2001:db8::1").call("GET", path).status != 429)
  }

  @Test func theOwnersDoorsAndTheExemptAreFree() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.limits.requestsPerSecondPerAddress = 1
      $0.limits.requestBurstPerAddress = 1
      $0.limits.accountsPerHourPerAddress = 1
      $0.exempt = IPNetwork("192.0.2.0/24").map { [$0] } ?? []
    }
    for listenerKind in [Opening.ListenerKind.public, .admin, .control] {
      let client = HTTPClient(relay, listenerKind: listenerKind, from: "192.0.2.1")
      for _ in 0..<5 { #expect(try client.call("GET", "/livez").status == 200) }
    }
    for _ in 0..<3 { _ = try relay.newAccount() }
  }

  @Test func anAddressMakesSoManyAccountsAnHourOnAllLoopsTogether() throws {
    let relay = TestRelay(nodes: 2) {
      $0.isOpen = true
      $0.limits.accountsPerHourPerAddress = 4
    }
    for number in 0..<4 {
      _ = try relay.newAccount(node: number % 2)
      relay.runUntilIdle()
    }
    for node in 0..<2 {
      let refused = try HTTPClient(relay, node: node).call(
        "POST", "/v1/accounts", #"{"deviceName":"A","platform":"test","appVersion":"1"}"#)
      #expect(refused.status == 429)
      #expect(refused.headers["Retry-After"] == "900")
    }
    #expect(
      try HTTPClient(relay, from: "192.0.2.2").call(
        "POST", "/v1/accounts", #"{"deviceName":"A","platform":"test","appVersion":"1"}"#
      ).status == 201)
    relay.advance(900_000)
    _ = try relay.newAccount(node: 1)
  }

  @Test func aSocketThatAsksTooOftenIsReadLaterAndLosesNothing() throws {
    let relay = relay {
      $0.requestsPerSecondPerDevice = 10
      $0.requestBurstPerDevice = 5
    }
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    for number in 1...40 { socket.sendMessage(.time(id: "t\(number)", t0: JSONNumber(1))) }
    relay.runUntilIdle()
    var answers = try socket.all()
    #expect(answers.count < 6)
    // One second, ten messages.
    for _ in 0..<10 {
      relay.advance(100)
      answers += try socket.all()
    }
    #expect((12...16).contains(answers.count), "\(answers.count)")
    for _ in 0..<40 {
      relay.advance(100)
      answers += try socket.all()
    }
    let ids = answers.compactMap { if case .time(let id, _, _, _) = $0 { id } else { nil } }
    #expect(ids == (1...40).map { "t\($0)" })
    #expect(!socket.isClosed)
    #expect(relay.entries[0].node.services.currentStatus.throttles > 20)
  }

  @Test func aFloodOfPingsIsHeldBackAndStaysBounded() throws {
    let relay = relay {
      $0.requestsPerSecondPerDevice = 10
      $0.requestBurstPerDevice = 5
    }
    let device = try relay.newAccount()
    let flooder = try SocketClient(relay, as: device)
    let other = try SocketClient(relay, as: try relay.newAccount())
    let pings = (0..<50_000).flatMap { _ in WebSocketFrame.ping(mask: 7) }
    relay.send(flooder.id, pings)
    #expect(relay.wire(flooder.id).incoming.count < 100)
    // The node has received a bounded part; the rest is not read from the peer.
    #expect(relay.wire(flooder.id).isPaused)
    #expect(
      relay.entries[0].node.services.currentStatus.bodyBytes <= Limits.pipelineBytes
        + Limits.receiveBytes)
    other.call(.time(id: "x", t0: JSONNumber(1)))
    #expect(try other.all().count == 1)
  }

  @Test func anAccountHasSoManyConnections() throws {
    let relay = relay { $0.connectionsPerAccount = 3 }
    let device = try relay.newAccount()
    let start = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
    let socket = try SocketClient(relay, as: device)
    let stream = EventsClient(relay, as: device)
    let poll = HTTPClient(relay)
    poll.send("GET", "/v1/changes?wait=50&since=\(start.text)", token: device.token)
    relay.runUntilIdle()
    // No further socket, stream or waiting poll is allowed.
    let second = try SocketClient(relay)
    second.call(.hello(token: device.token, since: nil))
    _ = try second.all()
    #expect(second.closeCode == 4429)
    let surplus = EventsClient(relay, as: device)
    relay.advance(Limits.rateLimitDelayMilliseconds)
    try surplus.take()
    #expect(surplus.head?.status == 429)
    let refused = try HTTPClient(relay).call(
      "GET", "/v1/changes?wait=50&since=\(start.text)", token: device.token)
    #expect(refused.status == 429)
    #expect(refused.headers["Retry-After"] == "30")
    // A single request is not such a connection, another account has its own limit, and a closed
    // connection makes room.
    #expect(
      try HTTPClient(relay).call("GET", "/v1/changes", token: device.token).status == 200)
    _ = try SocketClient(relay, as: try relay.newAccount())
    relay.cut(stream.id)
    _ = try SocketClient(relay, as: device)
    #expect(!socket.isClosed)
    #expect(!poll.isClosed)
  }

  @Test func aTrickleOfBytesIsCutAfterTheWholeTime() throws {
    let relay = relay { $0.requestMilliseconds = 10_000 }
    let device = try relay.newAccount()
    let head = HTTPClient(relay)
    head.expectAnswer(to: "GET")
    var cutAt = 0
    for (second, byte) in "GET /v1/time HTTP/1.1\r\nHost: r\r\n\r\n".utf8.enumerated() {
      relay.send(head.id, [byte])
      relay.advance(1_000)
      if head.isClosed {
        cutAt = second
        break
      }
    }
    #expect(try head.next()?.status == 408)
    #expect(cutAt == 9)
    let body = HTTPClient(relay)
    body.sendRaw(
      "POST /v1/pairings HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
        + "Content-Length: 100\r\n\r\n", to: "POST")
    relay.runUntilIdle()
    for _ in 0..<10 {
      #expect(!body.isClosed)
      relay.send(body.id, [0x20])
      relay.advance(1_000)
    }
    #expect(try body.next()?.status == 408)
    #expect(body.isClosed)
  }

  @Test func aWaitOfAMinuteIsAnsweredBeforeProxiesGiveItUp() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poll = HTTPClient(relay)
    let start = try ChangePage.decoded(
      body: poll.call("GET", "/v1/changes", token: device.token).body
    ).token
    poll.send("GET", "/v1/changes?wait=60&since=\(start.text)", token: device.token)
    relay.runUntilIdle()
    relay.advance(54_999)
    #expect(try poll.next() == nil)
    relay.advance(1)
    #expect(try poll.next()?.status == 200)
  }

  @Test func forwardedClientsHaveLimitsOfTheirOwn() throws {
    let relay = TestRelay {
      $0.limits.requestsPerSecondPerAddress = 1
      $0.limits.requestBurstPerAddress = 2
      $0.trustedProxies = IPNetwork("10.0.0.1").map { [$0] } ?? []
    }
    // One connection of the proxy carries the requests of many clients.
    let proxy = HTTPClient(relay, from: "10.0.0.1")
    for client in ["192.0.2.7", "192.0.2.8"] {
      let statuses = try (0..<3).map { _ in
        try proxy.call("GET", "/v1/time", headers: [("X-Forwarded-For", client)]).status
      }
      #expect(statuses == [200, 200, 429])
    }
    let stranger = HTTPClient(relay, from: "198.51.100.1")
    let statuses = try (0..<3).map { number in
      try stranger.call("GET", "/v1/time", headers: [("X-Forwarded-For", "192.0.2.\(number)")])
        .status
    }
    #expect(statuses == [200, 200, 429])
  }
}
