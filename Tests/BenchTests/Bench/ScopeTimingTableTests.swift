import LockstepModel
import Testing

@testable import LockstepBench

struct ScopeTimingTableTests {
  /// Makes a run in which all questions have these medians, in nanoseconds.
  private func run(_ there: Int64, _ missing: Int64, _ control: Int64) -> ScopeTimings {
    var run = ScopeTimings()
    for question in ScopeQuestion.allCases {
      for (subject, median) in [
        (ScopeSubject.there, there), (.missing, missing), (.control, control),
      ] {
        let probe = ScopeProbe(question: question, subject: subject)
        run.nanoseconds[probe] = [1, median, 9_000_000]
      }
    }
    return run
  }

  @Test func theMedianOfTheRunsRatiosDecides() {
    let table = ScopeTimingTable(
      runs: [run(50_000, 50_000, 50_000), run(51_000, 50_000, 50_000), run(70_000, 50_000, 50_000)])
    #expect(table.isMet && !table.text.contains("MISSED"))
    #expect(table.text.contains("51.0 (50.0–70.0)") && table.text.contains("1.020 (1.000–1.400)"))
    #expect(table.json["isMet"]?.bool == true)
    let ratios = table.json["questions"]?.array?.map { $0["ratio"]?.text }
    #expect(ratios == ["1.02", "1.02", "1.02"])
  }

  @Test func aDifferenceThatEqualRequestsDoNotHaveIsMissed() {
    let slower = ScopeTimingTable(runs: [run(51_100, 50_000, 50_500)])
    #expect(!slower.isMet && slower.text.contains("MISSED"))
    let faster = ScopeTimingTable(runs: [run(48_000, 50_000, 50_000)])
    #expect(!faster.isMet, "a shorter time shows as much")
    // On a machine where equal requests differ as much, it shows nothing.
    #expect(ScopeTimingTable(runs: [run(51_100, 50_000, 48_000)]).isMet)
  }

  @Test func whatWasNotMeasuredIsNotMet() {
    #expect(!ScopeTimingTable(runs: []).isMet)
    var part = run(50_000, 50_000, 50_000)
    part.nanoseconds[ScopeProbe(question: .chunk, subject: .there)] = nil
    #expect(!ScopeTimingTable(runs: [part]).isMet)
  }
}
