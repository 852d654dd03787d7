import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Stopping of a node.
struct StoppingTests {
  @Test func anIdleNodeStopsAtOnce() throws {
    let relay = TestRelay()
    relay.deliver(0, .stopping)
    #expect(relay.reports == [.stopped])
  }

  @Test func whatWasBegunIsAnswered() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let saver = try SocketClient(relay, as: device)
    let token = try ChangePage.decoded(
      body: HTTPClient(relay).call("GET", "/v1/changes", token: device.token).body
    ).token
    let poll = HTTPClient(relay)
    poll.send("GET", "/v1/changes?wait=60&since=\(token.text)", token: device.token)
    relay.runUntilIdle()
    let idle = HTTPClient(relay)
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    saver.sendMessage(.save(save("r", id: batch(1))))
    client.send(
      "POST", "/v1/zones/z/records", token: device.token,
      Array(saveBody("s", id: batch(2)).utf8))
    #expect(relay.commits.count == 2)

    relay.deliver(0, .stopping)
    #expect(try socket.all().isEmpty)
    #expect(socket.closeCode == 1012)
    let answer = try #require(try poll.next())
    #expect(answer.status == 200)
    #expect(!answer.keepsAlive)
    #expect(try ChangePage.decoded(body: answer.body).changes.isEmpty)
    #expect(!relay.reports.contains(.stopped))

    let late = HTTPClient(relay)
    let refused = try late.callWithoutSettling("GET", "/v1/devices", token: device.token)
    #expect(refused.status == 503)
    #expect(refused.code == "stopping")
    let ready = try HTTPClient(relay).callWithoutSettling("GET", "/readyz")
    #expect(ready.status == 503)
    #expect(ready.headers["Retry-After"] != nil)
    #expect(try HTTPClient(relay).callWithoutSettling("GET", "/livez").status == 200)

    relay.runUntilIdle()
    guard case .saved? = try saver.next() else {
      Issue.record("a commit under way was not answered")
      return
    }
    #expect(try saver.next() == nil)
    #expect(saver.closeCode == 1012)
    #expect(try client.next()?.status == 200)
    #expect(client.isClosed && idle.isClosed)
    #expect(relay.reports.last == .stopped)
  }

  @Test func aRequestThatNeverEndsIsNotWaitedForLong() throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    client.sendRaw("GET /v1/time HTTP/1.1\r\n")
    relay.deliver(0, .stopping)
    relay.advance(Limits.drainMilliseconds - 1)
    #expect(!relay.reports.contains(.stopped))
    relay.advance(1)
    #expect(relay.reports == [.stopped])
    #expect(client.isClosed)
    // No new connection is accepted.
    #expect(HTTPClient(relay).isClosed)
  }

  @Test func sightingsAreWrittenAtTheEnd() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    relay.advance(30_000)
    let seen = relay.moment.wall
    relay.deliver(0, .stopping)
    relay.runUntilIdle()
    #expect(socket.isClosed)
    guard case .devices(let devices) = try relay.store.read(.devices(device.credentials.account))
    else { return }
    #expect(devices.map(\.lastSeen) == [seen])
    #expect(relay.reports.last == .stopped)
  }
}

extension HTTPClient {
  fileprivate func callWithoutSettling(
    _ method: String, _ path: String, token: String? = nil
  ) throws -> Response {
    send(method, path, token: token)
    return try #require(try next())
  }
}
