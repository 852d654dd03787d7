import Testing

@testable import LockstepBench

struct RunComparisonTests {
  @Test func aFigureStandsBesideTheOneOfTheSameName() {
    let run = SampleRun.run([3])
    let rows = RunComparison(run: run, earlier: SampleRun.run([2])).rows
    #expect(rows.map(\.figure) == run.figures)
    #expect(rows[0].earlier?.text == "2.00 ms")
    #expect(rows[0].ratioThousandths == 1_500)
  }

  @Test func whereThereIsNothingToCompareThereIsNoRatio() {
    let run = SampleRun.run([3])
    #expect(RunComparison(run: run, earlier: nil).rows.allSatisfy { $0.ratioThousandths == nil })
    var earlier = SampleRun.run([2])
    earlier.figures[0].unit = .times
    let rows = RunComparison(run: run, earlier: earlier).rows
    // Another unit; unknown; nothing missing in the earlier run.
    #expect(rows.map(\.ratioThousandths) == [nil, nil, nil])
    earlier.figures = []
    #expect(RunComparison(run: run, earlier: earlier).rows[0].earlier == nil)
  }

  @Test func runsOfAnotherPlanOrMachineAreSaidToBeSo() {
    let run = SampleRun.run()
    #expect(RunComparison(run: run, earlier: run).differences.isEmpty)
    #expect(RunComparison(run: run, earlier: nil).differences.isEmpty)
    var earlier = SampleRun.run(processor: "Another")
    earlier.plan = [RunFact("accounts", "7"), RunFact("rate", "9")]
    earlier.origin.version = "0.0.1"
    #expect(
      RunComparison(run: run, earlier: earlier).differences == [
        "plan, accounts: 2 here, 7 in the earlier run",
        "plan, rate: – here, 9 in the earlier run",
        "machine, processor: A processor here, Another in the earlier run",
      ])
  }
}
