import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// The period over which devices reconnect if all of them lose the relay at once.
struct ReconnectSpreadTests {
  @Test func theSpanGrowsWithTheConnections() {
    let spans = [0, 3, 20, 100, 300, 10_000, 40_000, 1_000_000].map {
      ReconnectSpread.milliseconds(connections: $0)
    }
    #expect(spans == [0, 150, 1_000, 5_000, 15_000, 15_000, 40_000, 60_000])
    #expect(ReconnectSpread.milliseconds(connections: .max) == Limits.reconnectMilliseconds)
    #expect(ReconnectSpread.milliseconds(connections: -1) == 0)
  }

  private func sockets(_ relay: TestRelay, _ count: Int) throws -> [SocketClient] {
    let device = try relay.newAccount()
    return try (0..<count).map { _ in try SocketClient(relay, as: device) }
  }

  /// Returns the last period that it received; nil if there was none.
  private func told(_ socket: SocketClient) throws -> Int64? {
    _ = try socket.all()
    return socket.reconnectWithin
  }

  @Test func aHouseholdIsToldNothing() throws {
    let relay = TestRelay()
    let sockets = try sockets(relay, 3)
    relay.advance(3 * Limits.keepAliveMilliseconds)
    for socket in sockets { #expect(try told(socket) == nil) }
    let answer = try HTTPClient(relay).call("GET", "/v1/time")
    #expect(answer.headers["Lockstep-Reconnect-Within"] == nil)
  }

  @Test func whoCameFirstIsToldOfTheCrowdThatFollowed() throws {
    let relay = TestRelay()
    let sockets = try sockets(relay, 100)
    #expect(try told(sockets[0]) == nil)
    #expect(try #require(try told(sockets[99])) >= 5_000)
    for _ in 0..<5 {
      relay.advance(Limits.keepAliveMilliseconds / 4)
      for socket in sockets { _ = try socket.all() }
    }
    #expect(try #require(try told(sockets[0])) >= 5_000)
    let answer = try HTTPClient(relay).call("GET", "/v1/time")
    #expect(answer.headers["Lockstep-Reconnect-Within"].flatMap { Int64($0) } ?? 0 >= 5_000)
  }

  @Test func aRelayThatStopsGivesEachAMomentOfItsOwn() throws {
    let relay = TestRelay()
    let sockets = try sockets(relay, 400)
    for socket in sockets { _ = try socket.all() }
    relay.deliver(0, .stopping)
    var moments: [Int64] = []
    for socket in sockets {
      guard case .error(nil, let refusal)? = try socket.all().last else {
        Issue.record("nothing was said before the close")
        return
      }
      #expect(refusal.code == .stopping)
      moments.append(refusal.retryAfterMilliseconds ?? 0)
      #expect(socket.closeCode == 1012)
    }
    for second in Set(moments) { #expect(moments.count { $0 == second } <= 80) }
    #expect(moments.allSatisfy { $0 <= 21_000 })
  }

  @Test func aWaitingPollIsToldWithItsAnswer() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let poller = HTTPClient(relay)
    let start = try ChangePage.decoded(
      body: poller.call("GET", "/v1/changes", token: device.token).body)
    poller.send("GET", "/v1/changes?wait=50&since=\(start.token.text)", token: device.token)
    relay.runUntilIdle()
    let crowd = try sockets(relay, 40)
    #expect(crowd.count == 40)
    relay.advance(50_000)
    let answer = try #require(try poller.next())
    #expect(answer.headers["Lockstep-Reconnect-Within"].flatMap { Int64($0) } ?? 0 >= 2_000)
  }
}
