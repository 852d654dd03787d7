import Simulator
import Testing

/// People switch zones off and on again while things go wrong.
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
