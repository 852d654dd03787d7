import Simulator
import Testing

/// Accounts move between two cells while people write, and movers, relays and devices die.
struct MovedTests {
  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func nothingIsLostOnTheWay(seed: UInt64) throws {
    try play(seed, .moved)
  }
}
