import Changes
import Link
import Testing

@testable import Relay

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

  @Test func noReasonIsToldTwice() {
    let lines = RelayStatus().prometheusText.split(separator: "\n")
    let reasons = lines.filter { $0.hasPrefix("lockstep_rejected_total{") }
    #expect(reasons.count == RefusalCode.allCases.count + TurnedAway.allCases.count)
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
