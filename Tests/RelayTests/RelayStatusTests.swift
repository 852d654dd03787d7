import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

struct RelayStatusTests {
  @Test func nodesAddUp() {
    var left = RelayStatus()
    left.commits = 3
    left.count(.badToken)
    var right = RelayStatus()
    right.commits = 4
    right.sockets = 1
    right.count(.badToken)
    right.count(.overloaded)
    let sum = left.adding(right)
    #expect(sum.commits == 7)
    #expect(sum.sockets == 1)
    #expect(sum.refusals.reduce(0, +) == 3)
    #expect(sum == right.adding(left))
  }

  @Test func whoWasTurnedAwayIsToldByTheReason() {
    var left = RelayStatus()
    left.count(.handshakeFailed)
    var right = RelayStatus()
    right.count(.handshakeFailed)
    right.count(.handshakeTimedOut)
    let text = left.adding(right).prometheusText
    #expect(text.contains("lockstep_rejected_total{reason=\"handshakeFailed\"} 2\n"))
    #expect(text.contains("lockstep_rejected_total{reason=\"handshakeTimedOut\"} 1\n"))
    #expect(text.contains("lockstep_rejected_total{reason=\"handshakesAtOnce\"} 0\n"))
  }

  @Test func howDevicesCaughtUpIsCounted() throws {
    let relay = TestRelay()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let record = #"{"name":"r","type":"t","fields":{},"modifiedAt":1}"#
    let body = #"{"id":"\#(batch(1).text)","records":[\#(record)]}"#
    let all = try client.call("GET", "/v1/changes", token: device.token)
    let start = try ChangePage.decoded(body: all.body).token
    _ = try client.call("POST", "/v1/zones/z/records", token: device.token, body)
    for since in [start.text, start.text, "ffffffff.7"] {
      _ = try client.call("GET", "/v1/changes?since=\(since)", token: device.token)
    }
    let metrics = try HTTPClient(relay, listenerKind: .admin).call("GET", "/metrics")
    let text = String(decoding: metrics.body, as: UTF8.self)
    #expect(text.contains("\nlockstep_recover_total{result=\"delta\"} 2\n"))
    #expect(text.contains("\nlockstep_recover_total{result=\"snapshot\"} 1\n"))
    #expect(text.contains("\nlockstep_recover_total{result=\"reset\"} 1\n"))
  }

  @Test func noReasonIsToldTwice() {
    let lines = RelayStatus().prometheusText.split(separator: "\n")
    let reasons = lines.filter { $0.hasPrefix("lockstep_rejected_total{") }
    #expect(reasons.count == RefusalCode.allCases.count + ConnectionRejection.allCases.count)
    #expect(Set(reasons).count == reasons.count)
  }

  @Test func openConnectionsAreToldByTransportAlone() {
    var status = RelayStatus()
    status.connections = 3
    #expect(!status.prometheusText.contains("lockstep_connections "))
  }

  @Test func eachMetricHasItsHelpAndType() {
    let lines = RelayStatus().prometheusText.split(separator: "\n")
    let names = lines.filter { !$0.hasPrefix("#") }.map { $0.prefix { $0 != " " && $0 != "{" } }
    for name in names {
      #expect(lines.contains { $0.hasPrefix("# HELP \(name) ") })
      #expect(
        lines.contains("# TYPE \(name) counter") || lines.contains("# TYPE \(name) gauge"))
      #expect(lines.contains("# TYPE \(name) counter") == name.hasSuffix("_total"))
    }
  }
}
