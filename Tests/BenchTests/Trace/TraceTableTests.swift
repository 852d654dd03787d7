import LockstepClient
import LockstepModel
import Testing

@testable import LockstepBench

struct TraceTableTests {
  private func instant(_ microseconds: Int64) -> Instant {
    Instant(nanoseconds: microseconds * 1_000)
  }

  private func change(took microseconds: Int64, hasRelayTimes: Bool = true) -> TracedChange {
    var change = TracedChange(acted: instant(0))
    (change.stored, change.sent) = (instant(100), instant(100))
    (change.received, change.applied) = (instant(microseconds - 300), instant(microseconds))
    change.isAnswered = true
    if hasRelayTimes {
      change.relayTimes = RelayTimes(
        received: instant(400), durable: instant(1_300), pushed: instant(1_400),
        errorNanoseconds: 50_000)
    }
    return change
  }

  private func table(_ changes: [TracedChange], failures: [String] = []) -> TraceTable {
    var plan = TracePlan()
    plan.changes = changes.count + failures.count
    var result = TraceResult()
    result.changes = changes
    result.failures = failures
    return TraceTable(plan: plan, result: result)
  }

  @Test func theOneInTheMiddleIsDrawn() {
    let text = table([2_500, 2_300, 9_000].map { change(took: $0) }).text
    #expect(text.hasPrefix("3 changes by websocket"))
    #expect(text.contains("in 2.30 ms to 9.00 ms; shown: the change with the median time"))
    let rows = text.split(separator: "\n")
    #expect(rows.contains { $0 == "device A  acted          0.00 ms" })
    #expect(rows.contains { $0.hasPrefix("relay     received       0.40 ms     0.30 ms  ") })
    #expect(rows.contains { $0.hasPrefix("          committed      1.30 ms     0.90 ms  ") })
    #expect(rows.contains { $0.hasPrefix("device B  received       2.20 ms     0.80 ms  ") })
    #expect(rows.contains { $0.hasPrefix("          applied        2.50 ms     0.30 ms  ") })
    #expect(text.contains("The largest part is the relay's commit: 0.90 ms, 36 % of the whole."))
    #expect(text.contains("up to 0.05 ms earlier or later"))
  }

  @Test func barsLieOneBehindTheOther() {
    let rows = table([change(took: 2_500)]).text.split(separator: "\n")
    let bars = rows.filter { $0.contains("█") }
    // A step without duration has no bar, and the last bar ends at the end of the total.
    #expect(bars.count == 6)
    #expect(bars.map(\.count).max() == bars.last?.count)
    #expect(bars.last?.count == 78)
    let starts = bars.map { $0.prefix { $0 != "█" }.count }
    #expect(starts == starts.sorted())
  }

  @Test func oneChangeIsShownAsItWas() {
    #expect(table([change(took: 2_500)]).text.hasPrefix("one change by websocket\n"))
  }

  @Test func aRelayThatTellsNoTimesIsOneStep() {
    let text = table([change(took: 2_500, hasRelayTimes: false)]).text
    #expect(text.contains("This relay reports no times"))
    #expect(text.contains("The largest part is the relay, with the network in both directions"))
    #expect(!text.contains("committed"))
  }

  @Test func whatDidNotArriveIsSaid() {
    let failure = "change 1 did not come to device B within 10 s"
    #expect(table([], failures: [failure]).text == "Failed: " + failure)
    let json = table([], failures: [failure]).json
    #expect(json["arrived"]?.int64 == 0 && json["changes"]?.int64 == 1)
    #expect(json["medianMs"] == .null && json["largest"] == .null)
    #expect(json["failures"]?.array?.first?.string == failure)
  }

  @Test func aProgramGetsEveryChange() throws {
    let json = table([2_500, 2_300, 9_000].map { change(took: $0) }).json
    #expect(json["transport"]?.string == "websocket")
    #expect(json["medianMs"]?.text == "2.5" && json["mostMs"]?.text == "9")
    #expect(json["largest"]?["place"]?.string == "relay")
    #expect(json["largest"]?["milestone"]?.string == "committed")
    let runs = try #require(json["runs"]?.array)
    #expect(runs.map { $0["totalMs"]?.text } == ["2.5", "2.3", "9"])
    #expect(runs[0]["relayUncertaintyMs"]?.text == "0.05")
    let milestones = try #require(runs[0]["milestones"]?.array)
    #expect(
      milestones.map { "\($0["place"]?.string ?? "") \($0["milestone"]?.string ?? "")" } == [
        "deviceA acted", "deviceA stored", "deviceA sent", "relay received", "relay committed",
        "relay pushed", "deviceB received", "deviceB applied",
      ])
    #expect(milestones[4]["atMs"]?.text == "1.3" && milestones[4]["stepMs"]?.text == "0.9")
  }
}
