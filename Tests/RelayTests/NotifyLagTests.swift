import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Time from the moment a change is durable until it is sent to its receivers.
struct NotifyLagTests {
  @Test func eachReceiverOfAChangeCounts() throws {
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let sockets = try (0..<3).map { number in
      let socket = try SocketClient(relay, node: number % 2, as: device)
      socket.call(.fetch(id: "f", FetchQuery()))
      _ = try socket.next()
      return socket
    }
    let record = #"{"name":"r","type":"t","fields":{},"modifiedAt":1}"#
    HTTPClient(relay).send(
      "POST", "/v1/zones/z/records", token: device.token,
      Array(#"{"id":"\#(batch(1).text)","records":[\#(record)]}"#.utf8))
    while relay.commits.isEmpty { try #require(relay.step(), "the save reaches the store") }
    relay.runCommits(1)
    relay.advance(3)
    relay.runUntilIdle()
    // The nodes send each other their counters.
    relay.advance(Limits.statusMilliseconds)
    let metrics = try HTTPClient(relay, listenerKind: .admin).call("GET", "/metrics")
    let text = String(decoding: metrics.body, as: UTF8.self)
    #expect(text.contains("\nlockstep_notify_lag_seconds_bucket{le=\"0.0025\"} 0\n"))
    #expect(text.contains("\nlockstep_notify_lag_seconds_bucket{le=\"0.005\"} 3\n"))
    #expect(text.contains("\nlockstep_notify_lag_seconds_sum 0.009\n"))
    withExtendedLifetime(sockets) {}
  }
}
