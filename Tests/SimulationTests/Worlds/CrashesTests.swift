import Simulator
import Testing

/// Relay and devices die in the middle of what they do, and their stores fail.
struct CrashesTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func nothingThatWasAcknowledgedOrShownIsLost(seed: UInt64) throws {
    try play(seed, .crashes)
  }
}
