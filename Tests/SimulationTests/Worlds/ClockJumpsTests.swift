import Simulator
import Testing

/// Clocks are off by a day, drift, and are set forwards and back.
struct ClockJumpsTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func wrongClocksDoNotChangeWhoWins(seed: UInt64) throws {
    try play(seed, .clockJumps)
  }
}
