import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Effects of news about a device on its connections, on each node.
struct StandingTests {
  private func deliver(_ relay: TestRelay, _ news: RelayNews) {
    for node in relay.entries.indices { relay.deliver(node, .news(news)) }
    relay.runUntilIdle()
  }

  private func begin(_ relay: TestRelay, _ device: TestDevice) throws -> ChangeToken {
    try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
  }

  private func park(
    _ relay: TestRelay, node: Int, _ device: TestDevice, since: ChangeToken
  ) -> HTTPClient {
    let client = HTTPClient(relay, node: node)
    client.send("GET", "/v1/changes?wait=60&since=\(since.text)", token: device.token)
    relay.runUntilIdle()
    return client
  }

  // MARK: plans

  @Test func aZoneThatIsNotIncludedTakesNothing() throws {
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: device)
    deliver(relay, .planChanged(device.credentials.account, Plan(zones: [Name(trusted: "in")])))
    for (zone, status) in [("in", 200), ("out", 402)] {
      let client = HTTPClient(relay)
      // The first request signs in and reads the plan from the store, so the news are sent again.
      _ = try client.call("GET", "/v1/devices", token: device.token)
      deliver(relay, .planChanged(device.credentials.account, Plan(zones: [Name(trusted: "in")])))
      let answer = try client.call(
        "POST", "/v1/zones/\(zone)/records", token: device.token, saveBody("r", id: batch(status)))
      #expect(answer.status == status)
      #expect(answer.code == (status == 402 ? "planRequired" : nil))
    }
    socket.call(.save(save("r", zone: "out", id: batch(3))))
    guard case .error(batch(3).text, let refusal)? = try socket.all().last else {
      Issue.record("no error came")
      return
    }
    #expect(refusal.code == .planRequired)
    // Existing records may be read.
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .changes("f", let page)? = try socket.all().last else {
      Issue.record("no page came")
      return
    }
    #expect(page.changes.map(\.zone.text) == ["in"])
    #expect(!socket.isClosed)
  }

  @Test func withoutAnyZoneEveryWaitEnds() throws {
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let other = try relay.newAccount()
    let since = try begin(relay, device)
    let sockets = try (0...1).map { try SocketClient(relay, node: $0, as: device) }
    let greeting = try SocketClient(relay, node: 1, token: device.token)
    let polls = (0...1).map { park(relay, node: $0, device, since: since) }
    let bystander = try SocketClient(relay, node: 1, as: other)
    deliver(relay, .planChanged(device.credentials.account, Plan(zones: [])))
    for socket in sockets + [greeting] {
      #expect(try socket.all().isEmpty)
      #expect(socket.closeCode == 4502)
      #expect(socket.isClosed)
    }
    for poll in polls {
      let answer = try poll.next()
      #expect(answer?.status == 402)
      #expect(answer?.code == "planRequired")
      #expect(!poll.isClosed)
      let (paths, method) = (["/v1/changes", "/v1/zones/z/records/r"], "GET")
      for path in paths {
        #expect(try poll.call(method, path, token: device.token).status == 402)
      }
      for path in ["/v1/devices", "/v1/time", "/v1/limits"] {
        #expect(try poll.call(method, path, token: device.token).status == 200)
      }
      #expect(try poll.call("POST", "/v1/pairings", token: device.token).status == 201)
    }
    #expect(!bystander.isClosed)
  }

  @Test func aPollThatIsBeingReadIsRefusedTooAndASaveUnderWayIsAnswered() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let since = try begin(relay, device)
    let poll = park(relay, node: 0, device, since: since)
    let saver = HTTPClient(relay)
    _ = try saver.call("GET", "/v1/devices", token: device.token)
    saver.send(
      "POST", "/v1/zones/z/records", token: device.token, Array(saveBody("r", id: batch(1)).utf8))
    relay.runCommits(1)
    // The poll hears of the save, and the store is read for it.
    #expect(relay.deliverCommitEvent(0))
    relay.deliver(0, .news(.planChanged(device.credentials.account, Plan(zones: []))))
    relay.runUntilIdle()
    #expect(try saver.next()?.status == 200)
    let answer = try poll.next()
    #expect(answer?.status == 200 || answer?.status == 402)
    #expect(try saver.call("GET", "/v1/changes", token: device.token).status == 402)
  }

  @Test func aBodyIsRefusedByThePlanThatRulesAtItsEnd() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    let body = Array(saveBody("r", id: batch(1)).utf8)
    let bytes = HTTPClient.bytes("POST", "/v1/zones/z/records", token: device.token, body)
    client.expectAnswer(to: "POST")
    relay.send(client.id, Array(bytes.dropLast(5)))
    deliver(relay, .planChanged(device.credentials.account, Plan(zones: [Name(trusted: "y")])))
    #expect(try client.next() == nil)
    relay.send(client.id, Array(bytes.suffix(5)))
    relay.runUntilIdle()
    #expect(try client.next()?.status == 402)
  }

  @Test(arguments: [Plan(zones: []), Plan(zones: [Name(trusted: "y")])])
  func aBatchThatWasSavedBeforeThePlanRanOutIsAnsweredAsItWas(plan: Plan) throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let body = saveBody("r", id: batch(1))
    let path = "/v1/zones/z/records"
    let first = try client.call("POST", path, token: device.token, body)
    #expect(first.status == 200)
    deliver(relay, .planChanged(device.credentials.account, plan))
    let again = try client.call("POST", path, token: device.token, body)
    #expect(again.status == 200)
    #expect(
      try SaveAnswer.decoded(body: again.body).results
        == SaveAnswer.decoded(body: first.body).results)
    let other = try client.call("POST", path, token: device.token, saveBody("r", id: batch(2)))
    #expect(other.code == "planRequired")
  }

  @Test func anUploadUnderWayIsRefusedAndItsRestPassedOver() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    for method in ["PUT", "GET"] { client.expectAnswer(to: method) }
    let request = try Chunk(count: 300_000).upload(device.token)
    relay.send(client.id, Array(request.prefix(200_000)))
    relay.runUntilIdle()
    #expect(relay.files.counts == (0, 1))
    deliver(relay, .planChanged(device.credentials.account, Plan(zones: [])))
    #expect(relay.files.counts == (0, 0))
    #expect(relay.entries[0].node.services.transfers.uploads == 0)
    relay.send(client.id, Array(request.dropFirst(200_000)) + HTTPClient.bytes("GET", "/v1/time"))
    relay.runUntilIdle()
    #expect(try client.next()?.code == "planRequired")
    #expect(try client.next()?.status == 200)
  }

  // MARK: revocation

  @Test func aRevokedDevicesRequestsAreAnsweredAndItsConnectionsClosed() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let since = try begin(relay, second)
    let polls = (0...1).map { park(relay, node: $0, second, since: since) }
    // Requests after a poll, and an incomplete body.
    polls[0].send("GET", "/v1/time")
    let half = HTTPClient(relay, node: 1)
    let body = Array(saveBody("r", id: batch(1)).utf8)
    half.expectAnswer(to: "POST")
    relay.send(
      half.id,
      Array(HTTPClient.bytes("POST", "/v1/zones/z/records", token: second.token, body).dropLast(3)))
    relay.runUntilIdle()
    let idle = HTTPClient(relay, node: 1)
    _ = try idle.call("GET", "/v1/devices", token: second.token)
    let greeting = try SocketClient(relay, node: 1, token: second.token)
    let asking = HTTPClient(relay)
    _ = try asking.call("GET", "/v1/devices", token: second.token)
    let path = "/v1/devices/\(second.credentials.device.text)"
    HTTPClient(relay).send("DELETE", path, token: first.token)
    #expect(relay.runRead(0))
    #expect(relay.deliverRead(0))
    asking.send("POST", "/v1/zones/z/records", token: second.token, body)
    relay.runUntilIdle()
    for client in polls + [half, asking] {
      let answer = try client.next()
      #expect(answer?.status == 401)
      #expect(answer?.code == "badToken")
      #expect(answer?.keepsAlive == false)
      #expect(client.isClosed)
      #expect(try client.next() == nil)
    }
    #expect(idle.isClosed)
    #expect(try greeting.all().isEmpty)
    #expect(greeting.closeCode == 4501)
    guard
      case .page(let page) = try relay.store.read(
        .changes(first.credentials.account, since: nil, zones: .all, limit: 9))
    else { return }
    #expect(page.changes.isEmpty)
  }

  @Test func requestsBehindOnesOwnRevocationFindNobody() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let path = "/v1/devices/\(device.credentials.device.text)"
    client.send("DELETE", path, token: device.token)
    client.send("GET", "/v1/devices", token: device.token)
    client.send("GET", "/v1/time")
    relay.runUntilIdle()
    #expect(try client.next()?.status == 204)
    #expect(try client.next()?.status == 401)
    #expect(try client.next()?.status == 200)
  }

  @Test func whatAnyoneMayAskOutlivesTheDevice() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: first.token)
    let body = #"{"deviceName":"N","platform":"p","appVersion":"1"}"#
    client.send("POST", "/v1/accounts", Array(body.utf8))
    deliver(relay, .accountRemoved(first.credentials.account))
    #expect(try client.next()?.status == 201)
    #expect(!client.isClosed)
  }

  // MARK: accounts

  @Test func aRemovedAccountHasNoConnections() throws {
    let relay = TestRelay(nodes: 3)
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let other = try relay.newAccount()
    let since = try begin(relay, second)
    let sockets = try (0...2).map { try SocketClient(relay, node: $0, as: first) }
    let poll = park(relay, node: 2, second, since: since)
    let bystander = try SocketClient(relay, node: 2, as: other)
    deliver(relay, .accountRemoved(first.credentials.account))
    for socket in sockets {
      #expect(try socket.all().isEmpty)
      #expect(socket.closeCode == 4501)
    }
    #expect(try poll.next()?.status == 401)
    #expect(poll.isClosed)
    #expect(!bystander.isClosed)
    for place in relay.entries {
      #expect(place.node.services.hub.watchers(of: first.credentials.account) == nil)
    }
  }

  // MARK: sign-ins that news overtake

  @Test func anyChangeOfStandingOvertakesASignIn() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let account = device.credentials.account
    let news: [RelayNews] = [
      .planChanged(account, Plan(zones: [])), .subscribed(account, device.credentials.device, []),
      .accountRemoved(account),
      .revoked(account, device.credentials.device, by: CommitOrigin(node: 0, connection: nil)),
    ]
    for one in news {
      let late = HTTPClient(relay)
      late.send("GET", "/v1/devices", token: device.token)
      #expect(relay.runRead(0))
      let answer = relay.entries[0].readEvents.removeFirst()
      relay.deliver(0, .news(one))
      relay.deliver(0, answer)
      // The store is asked again, and does not have the change that the news reported.
      #expect(relay.entries[0].reads.count == 1)
      relay.runUntilIdle()
      #expect(try late.next()?.status == 200)
    }
  }
}
