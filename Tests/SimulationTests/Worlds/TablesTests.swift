import Simulator
import Testing

/// Users of a table with all merge rules, on devices that are offline, crash and are suspended.
struct TablesTests {
  @Test(arguments: 0..<4)
  func eachFieldEndsAsTheWholeHistoryDemands(shard: Int) throws {
    var conflicts = 0
    for seed in stride(from: UInt64(shard) + 1, through: 8, by: 4) {
      let verdict = try play(seed, .tables)
      if !verdict.faults.isEmpty { return }
      #expect(verdict.judged == verdict.conflicts && verdict.asDemanded == verdict.conflicts)
      conflicts += verdict.conflicts
    }
    #expect(conflicts > 0)
  }
}
