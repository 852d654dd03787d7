import Simulator
import Testing

/// Users of all apps, on devices that are offline, crash, and have wrong clocks.
struct AppsTests {
  @Test(arguments: 0..<2)
  func allEndsAsTheRulesDemand(shard: Int) throws {
    var conflicts = 0
    for seed in stride(from: UInt64(shard) + 1, through: 4, by: 2) {
      let verdict = try play(seed, .apps)
      if !verdict.faults.isEmpty { return }
      #expect(verdict.judged == verdict.conflicts && verdict.asDemanded == verdict.conflicts)
      conflicts += verdict.conflicts
    }
    #expect(conflicts > 0)
  }

  /// Seed 10,086: two devices had deleted an item, and an edit by a third, made in between, brought
  /// it back.
  @Test(arguments: [10_086] as [UInt64])
  func seedsThatOnceFailed(seed: UInt64) throws {
    try play(seed, .apps)
  }

  @Test func aSeedIsTheSameWorldTwice() throws {
    let digests = try [7, 7].map { try play($0, .apps).digest }
    #expect(digests[0] == digests[1])
  }
}
