import Simulator
import Testing

/// Injected bugs must be detected, each by the checker that is responsible: a checker that cannot
/// fail is worth nothing.
struct BrokenWorldsTests {
  @Test(arguments: Breakage.allCases)
  func whatIsBrokenIsFoundOut(breakage: Breakage) throws {
    var others: [String] = []
    for seed in 1...60 as ClosedRange<UInt64> {
      let verdict = try World(seed: seed, profile: breakage.profile, breakage: breakage).run()
      for fault in verdict.faults where breakage.words.contains(where: fault.contains) {
        // The same profile and seed must pass without the bug.
        try play(seed, breakage.profile)
        return
      }
      others += verdict.faults
    }
    Issue.record("nobody sees that \(breakage.what); but: \(others.prefix(3))")
  }

  @Test func everyBreakageSaysWhatItIs() {
    #expect(Set(Breakage.allCases.map(\.what)).count == Breakage.allCases.count)
  }
}
