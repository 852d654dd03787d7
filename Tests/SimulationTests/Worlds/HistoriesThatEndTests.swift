import Simulator
import Testing

/// Simulations in which what a device has read is no longer what the relay has: tombstones are
/// dropped, a backup is restored, a plan expires, a snapshot takes long.
struct HistoriesThatEndTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func devicesThatWereAwayForLongLoseNothing(seed: UInt64) throws {
    try play(seed, .forgetful)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func whatABackupDidNotHaveComesBack(seed: UInt64) throws {
    try play(seed, .restored)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func aPlanThatRunsOutCostsNoEdit(seed: UInt64) throws {
    try play(seed, .plans)
  }

  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func aLongFirstSyncIsWholeWhileOthersWrite(seed: UInt64) throws {
    try play(seed, .large)
  }

  @Test(arguments: 0..<8)
  func allOfItAtOnce(shard: Int) throws {
    for seed in stride(from: UInt64(shard) + 1, through: 16, by: 8) {
      if try !play(seed, .whole).faults.isEmpty { return }
    }
    if shard < 1 { try play(UInt64(shard) + 1, .wholeAndLarge) }
  }

  @Test(arguments: 0..<8)
  func allOfItAtOnceOnARelayThatIsNeverPutBack(shard: Int) throws {
    for seed in stride(from: UInt64(shard) + 1, through: 16, by: 8) {
      if try !play(seed, .unrestored).faults.isEmpty { return }
    }
  }
}
