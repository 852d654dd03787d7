import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

/// One node as a whole: listeners, pipelining, input in parts, deadlines.
struct RelayNodeTests {
  @Test func aChangeReachesTheOtherDevice() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let socket = try SocketClient(relay, as: second)
    socket.call(.fetch(id: "f", FetchQuery()))
    guard case .changes(let id, let snapshot)? = try socket.next() else {
      Issue.record("no answer to the fetch")
      return
    }
    #expect(id == "f")
    #expect(snapshot.changes.isEmpty)

    let client = HTTPClient(relay)
    let saved = try client.call(
      "POST", "/v1/zones/z/records", token: first.token, saveBody("r", id: batch(1)))
    #expect(saved.status == 200)
    let answer = try SaveAnswer.decoded(body: saved.body)
    guard case .changes(nil, let push)? = try socket.next() else {
      Issue.record("nothing was pushed")
      return
    }
    #expect(push.since == snapshot.token)
    #expect(push.token == answer.token)
    #expect(push.changes.map(\.name.text) == ["r"])
    #expect(push.changes.map(\.device) == [first.credentials.device])
  }

  @Test func pipelinedRequestsAreAnsweredInOrder() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let requests = [
      HTTPClient.bytes(
        "POST", "/v1/zones/z/records", token: device.token,
        Array(saveBody("a", id: batch(1)).utf8)),
      HTTPClient.bytes("GET", "/v1/time"),
      HTTPClient.bytes("GET", "/v1/zones/z/records/a", token: device.token),
      HTTPClient.bytes("GET", "/nothing"),
      HTTPClient.bytes("GET", "/v1/changes", token: device.token),
    ]
    for _ in requests { client.expectAnswer(to: "GET") }
    relay.send(client.id, requests.flatMap { $0 })
    relay.runUntilIdle()
    var statuses: [Int] = []
    while let response = try client.next() { statuses.append(response.status) }
    #expect(statuses == [200, 200, 200, 404, 200])
    #expect(!client.isClosed)
  }

  @Test func inputMayComeByteByByte() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    client.expectAnswer(to: "POST")
    let bytes = HTTPClient.bytes(
      "POST", "/v1/zones/z/records", token: device.token, Array(saveBody("a", id: batch(1)).utf8))
    for byte in bytes {
      relay.send(client.id, [byte])
      relay.runUntilIdle()
    }
    #expect(try client.next()?.status == 200)
  }

  @Test func aConnectionThatIsGoneLeavesNothing() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let poll = HTTPClient(relay)
    poll.send("GET", "/v1/changes?wait=60", token: device.token)
    poll.sendRaw("GET /v1/ti")
    relay.runUntilIdle()
    for (id, wire) in relay.wires where wire.closed == nil { relay.cut(id) }
    #expect(socket.isClosed)
    let node = relay.entries[0]
    let timers: TimerWheel<TimerID> = node.node.services.timers
    // The device's sighting is still to be written, and the collection of files goes on.
    #expect(timers.count == 2)
    #expect(node.node.services.hub.accountCount == 0)
    #expect(node.node.connections.count == 0)
    #expect(node.node.services.currentStatus.bodyBytes == 0)
    relay.advance(3 * Limits.sightingMilliseconds)
    #expect(node.node.services.timers.count == 1)
  }

  @Test func aConnectionMayChangeItsDevice() throws {
    let relay = TestRelay()
    let (first, second) = (try relay.newAccount(), try relay.newAccount())
    let client = HTTPClient(relay)
    for (number, device) in [first, second, first].enumerated() {
      let saved = try client.call(
        "POST", "/v1/zones/z/records", token: device.token,
        saveBody("r", id: batch(number)))
      #expect(saved.status == 200)
    }
    let page = try ChangePage.decoded(
      body: client.call("GET", "/v1/changes", token: second.token).body)
    #expect(page.changes.map(\.tag) == [1])
    #expect(page.changes.map(\.device) == [second.credentials.device])
  }

  @Test func theSameTokenIsAskedAboutOnce() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    client.send("GET", "/v1/devices", token: device.token)
    #expect(relay.entries[0].reads.map(\.1) == [.read(.devices(device.credentials.account))])
  }
}
