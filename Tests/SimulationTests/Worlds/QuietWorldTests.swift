import Simulator
import Testing

/// No faults: only the order of events varies.
struct QuietWorldTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func devicesStayInStep(seed: UInt64) throws {
    let verdict = try play(seed, .quiet)
    #expect(verdict.edits > 0)
    // A device that polls learns of the last change at its next poll.
    #expect(verdict.settledAfterMilliseconds < 35_000)
  }

  @Test func peoplesEditsMeetInConflict() throws {
    let verdicts = try (100..<110 as Range<UInt64>).map { try play($0, .quiet) }
    #expect(verdicts.contains { $0.conflicts > 0 })
  }
}
