import LockstepModel
import Testing

@testable import LockstepBench

struct BenchTableTests {
  private func table(missing: Int = 0, latency: [Int64] = [1_500_000, 2_500_000]) -> BenchTable {
    var plan = BenchPlan()
    (plan.accounts, plan.devices, plan.rate, plan.seconds) = (1, 2, 1, 2)
    var result = BenchResult()
    for value in latency { result.latency.record(nanoseconds: value) }
    result.sent = 2
    result.delivered = 2 - missing
    result.missing = missing
    var commits = LatencyHistogram()
    commits.record(nanoseconds: 750_000)
    return BenchTable(
      plan: plan, result: result, commits: commits, relayProcessorMicroseconds: 300,
      seamInstructions: nil)
  }

  @Test func theFiguresHaveTheirNames() throws {
    let json = table().json
    let names = try #require(json.members).map(\.name)
    #expect(
      names.starts(with: [
        "p50Ms", "p90Ms", "p99Ms", "p999Ms", "maxMs", "commitP50Ms", "sent", "delivered",
        "missing", "duplicated", "relayCpuUsPerDelivery", "seamInstructionsPerDelivery",
      ]))
    #expect(json["maxMs"]?.text == "2.5")
    #expect(json["commitP50Ms"]?.text == "0.75")
    #expect(json["sent"]?.int64 == 2 && json["delivered"]?.int64 == 2)
    #expect(json["missing"]?.int64 == 0 && json["duplicated"]?.int64 == 0)
    #expect(json["relayCpuUsPerDelivery"]?.int64 == 150)
    #expect(json["transport"]?.string == "websocket")
  }

  @Test func whatIsNotKnownIsNull() {
    var table = table(missing: 2, latency: [])
    table.relayProcessorMicroseconds = nil
    table.commits = LatencyHistogram()
    for name in ["p50Ms", "maxMs", "commitP50Ms", "relayCpuUsPerDelivery"] {
      #expect(table.json[name] == .null, "\(name)")
    }
    #expect(table.text.contains("unknown"))
  }

  @Test func targetsStandBesideTheFigures() {
    let good = table().text
    #expect(good.contains("2.50 ms   < 5 s met"))
    #expect(!good.contains("MISSED"))
    #expect(table(missing: 1).text.contains("0 MISSED"))
    #expect(table(latency: [6_000_000_000]).text.contains("< 5 s MISSED"))
  }

  @Test func theSeamsCostIsShownWhereItIsKnown() {
    var table = table()
    #expect(!table.text.contains("seam"))
    table.seamInstructions = 640
    #expect(table.text.contains("640 instr.   ≤ 700 met"))
    #expect(table.json["seamInstructionsPerDelivery"]?.int64 == 640)
    table.seamInstructions = 701
    #expect(table.text.contains("701 instr.   ≤ 700 MISSED"))
  }

  @Test func aPollHasATargetOfItsOwn() {
    var table = table(latency: [30_000_000_000])
    table.plan.transport = .poll
    #expect(table.text.contains("< 31 s met"))
  }

  @Test func theChartCountsEveryDelivery() {
    let text = table(latency: [100_000, 200_000, 200_000, 9_000_000]).text
    let counts = text.split(separator: "\n").filter { $0.contains("█") }
      .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(counts.reduce(0, +) == 4)
  }

  @Test func onlyTheFirstFailuresAreTold() {
    var table = table()
    table.result.failures = (0..<9).map { "device \($0): broke" }
    #expect(table.text.components(of: "Failed: ") == 5)
  }
}

extension String {
  /// Returns the number of occurrences of `part`.
  fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
