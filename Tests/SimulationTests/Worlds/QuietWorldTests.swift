import Simulator
import Testing

/// Nothing goes wrong but the order of things.
struct QuietWorldTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func devicesStayInStep(seed: UInt64) throws {
    let verdict = try play(seed, .quiet)
    #expect(verdict.edits > 0)
    // Whoever polls hears of the last change at the next poll.
    #expect(verdict.settledAfterMilliseconds < 35_000)
  }

  @Test func peoplesEditsMeetInConflict() throws {
    let verdicts = try (100..<110 as Range<UInt64>).map { try play($0, .quiet) }
    #expect(verdicts.contains { $0.conflicts > 0 })
  }
}
