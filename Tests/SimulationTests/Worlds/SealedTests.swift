import Simulator
import Testing

/// Simulations in which the zone of the notes is sealed.
struct SealedTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func sealedNotesEndAsTheHistoryDemands(seed: UInt64) throws {
    let verdict = try play(seed, .sealed)
    #expect(verdict.edits > 0)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func noVersionIsLostToARestoredRelay(seed: UInt64) throws {
    try play(seed, .sealedAndRestored)
  }

  /// The relay repeats and changes what devices have sealed, and makes up records of its own.
  @Test(arguments: 0..<4)
  func aRelayWithoutTheKeyChangesNothing(shard: Int) throws {
    var forged = 0
    for seed in stride(from: UInt64(shard) + 1, through: 16, by: 4) {
      let verdict = try play(seed, .hostile)
      if !verdict.faults.isEmpty { return }
      forged += verdict.tally[.forge]
    }
    #expect(forged > 0)
  }
}
