import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Metrics of ended sockets, and of records that were not saved.
struct CloseTallyTests {
  private func metrics(_ relay: TestRelay) throws -> String {
    let answer = try HTTPClient(relay, listenerKind: .admin).call("GET", "/metrics")
    return String(decoding: answer.body, as: UTF8.self)
  }

  @Test func codesStandInTheirOrderAndAddUp() {
    var left = CloseCounts()
    for code: UInt16 in [4400, 1006, 4400] { left.add(code) }
    var right = CloseCounts()
    right.add(1002)
    right.add(4400)
    left.add(right)
    #expect(left.rows.map(\.code) == [1002, 1006, 4400])
    #expect(left.rows.map(\.count) == [1, 1, 3])
  }

  @Test func aSocketCountsOnceByHowItEnded() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let cut = try SocketClient(relay, as: device)
    relay.cut(cut.id)
    let wrong = try SocketClient(relay, as: device)
    wrong.sendText(Array("no JSON".utf8))
    relay.runUntilIdle()
    let text = try metrics(relay)
    #expect(text.contains("\nlockstep_connections_closed_total{code=\"1006\"} 1\n"))
    #expect(text.contains("\nlockstep_connections_closed_total{code=\"4400\"} 1\n"))
    #expect(!text.contains("{code=\"1000\"}"))
  }

  @Test func aConnectionThatIsNoSocketHasNoCode() throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/time")
    relay.cut(client.id)
    #expect(!(try metrics(relay)).contains("\nlockstep_connections_closed_total{"))
  }

  @Test func recordsThatHadMovedOnAreCounted() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    for number in 1...3 {
      let record = #"{"name":"r","type":"t","fields":{"n":\#(number)},"modifiedAt":1,"baseTag":0}"#
      let body = #"{"id":"\#(batch(number).text)","records":[\#(record)]}"#
      _ = try HTTPClient(relay).call("POST", "/v1/zones/z/records", token: device.token, body)
    }
    #expect(try metrics(relay).contains("\nlockstep_conflicts_total 2\n"))
  }
}
