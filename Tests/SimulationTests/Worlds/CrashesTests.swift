import Simulator
import Testing

/// Relay and devices crash in the middle of their work, and their stores fail.
struct CrashesTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func nothingThatWasAcknowledgedOrShownIsLost(seed: UInt64) throws {
    try play(seed, .crashes)
  }
}
