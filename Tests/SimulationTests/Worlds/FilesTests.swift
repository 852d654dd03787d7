import Simulator
import Testing

/// Simulations in which notes name chunks of files.
struct FilesTests {
  @Test(arguments: 0..<3)
  func whatARecordNamesTheRelayHas(shard: Int) throws {
    var named = 0
    for seed in stride(from: UInt64(shard) + 1, through: 6, by: 3) {
      let verdict = try play(seed, .files)
      if !verdict.faults.isEmpty { return }
      named += verdict.tally[.chunkNamed]
    }
    #expect(named > 0)
  }

  /// Changes by devices with the key arrive all the same.
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func nobodyWithoutTheKeyWritesIntoASealedFile(seed: UInt64) throws {
    try play(seed, .strangers)
  }

  @Test func aSeedIsTheSameWorldTwice() throws {
    let digests = try [7, 7].map { try play($0, .files).digest }
    #expect(digests[0] == digests[1])
  }
}
