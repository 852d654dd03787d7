import LockstepModel
import Testing

@testable import LockstepBench

/// Conversion of each bench's table to a run.
struct TableRunTests {
  private func result(_ milliseconds: [Int64], missing: Int = 0) -> BenchResult {
    var result = BenchResult()
    for (index, value) in milliseconds.enumerated() {
      result.latency.record(nanoseconds: value * 1_000_000)
      result.timeline.record(nanoseconds: value * 1_000_000, dueInSecond: index)
    }
    (result.sent, result.delivered, result.missing) = (9, 8, missing)
    return result
  }

  private func text(_ label: String, in run: BenchRun) -> String? {
    run.figures.first { $0.label == label }.map { $0.text + " | " + $0.judgement }
  }

  @Test func aLatencyBenchHasOneDistributionWithItsTimeline() throws {
    var table = BenchTable(
      plan: BenchPlan(), result: result([1, 2]), commits: LatencyHistogram(),
      relayProcessorMicroseconds: nil, seamInstructions: nil)
    table.result.failures = (0..<9).map { "device \($0): broke" }
    let run = table.run(from: SampleRun.origin(), isOwnRelay: true)
    #expect(run.kind == .latency && run.series.map(\.seconds.count) == [2])
    #expect(run.plan.contains(RunFact("relay", "its own, on a temporary store")))
    #expect(run.plan.contains(RunFact("transport", "websocket")))
    #expect(text("change to screen, max", in: run) == "2.00 ms | ")
    #expect(text("missing", in: run) == "0 | 0 met")
    #expect(run.notes.count == 5)
    #expect(try BenchRun(json: run.json) == run)
    #expect(
      table.run(from: SampleRun.origin(), isOwnRelay: false).plan
        .contains(RunFact("relay", "one that runs elsewhere")))
  }

  @Test func aCrowdBenchJoinsItsRuns() throws {
    let table = ConnectionLoadTable(
      plan: ConnectionLoadPlan(),
      pairs: [
        ConnectionLoadPair(quiet: result([1, 2]), loaded: result([2, 4])),
        ConnectionLoadPair(quiet: result([1, 2]), loaded: result([9, 9], missing: 1)),
      ])
    let run = table.run(from: SampleRun.origin())
    #expect(run.series.map(\.name) == ["quiet", "beside the crowd"])
    #expect(run.series.map(\.latency.count) == [4, 4])
    #expect(run.series[1].seconds.map { $0?.greatest } == [9_000_000, 9_000_000])
    #expect(run.series[1].seconds[0]?.count == 2)
    #expect(text("p99 beside the crowd to quiet", in: run) == "2.00 × | ≤ 2 met")
    #expect(text("missing", in: run) == "1 | 0 MISSED")
    #expect(text("changes sent", in: run) == "36 | ")
    #expect(try BenchRun(json: run.json) == run)
  }

  @Test(arguments: InterferencePlan.Load.allCases)
  func aPaceBenchHasItsWindowsWithoutATimeline(_ load: InterferencePlan.Load) throws {
    var plan = InterferencePlan()
    plan.load = load
    let pair = InterferencePair(
      quiet: result([1]).latency, busy: result([3]).latency, records: 1_000,
      nanoseconds: 500_000_000)
    let run = InterferenceTable(plan: plan, pairs: [pair, pair]).run(from: SampleRun.origin())
    #expect(run.kind == .firstSync && run.plan.first == RunFact("load", load.rawValue))
    #expect(run.series.map(\.latency.count) == [2, 2])
    #expect(run.series.allSatisfy { $0.seconds.isEmpty })
    #expect(text("p50 under load to quiet", in: run) == "3.00 × | ≤ 2 MISSED")
    #expect(text("records a second", in: run) == "2000 | ")
    #expect((text("reads put off", in: run) != nil) == (load == .backlog))
    #expect(try BenchRun(json: run.json) == run)
  }
}
