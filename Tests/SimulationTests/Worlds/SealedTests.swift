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

  /// Devices make new keys at once, die in the middle of it, are away, and are removed.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func devicesThatStayEndWithTheSameKeys(seed: UInt64) throws {
    try play(seed, .rotated)
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

  /// Seed 21: a change was lost to a later deletion of the version before the one that it was made
  /// on. Seed 45: a deletion was undone by a device that saved the deleted version again.
  @Test(arguments: [21, 45] as [UInt64])
  func seedsThatOnceFailed(seed: UInt64) throws {
    try play(seed, .hostile)
  }
}
