import Simulator
import Testing

/// Users switch zones off and on again while faults happen.
struct ZonesOffTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func whatWasMadeMeanwhileMeets(seed: UInt64) throws {
    try play(seed, .zonesOff)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func nothingIsLostToARelayThatComesBackMeanwhile(seed: UInt64) throws {
    try play(seed, .zonesOffAndRestored)
  }
}
