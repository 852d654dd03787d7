import Foundation
import Simulator
import Testing

/// Many seeds with all usual faults, every fourth in the profile `crowded`. `LOCKSTEP_SEED_FIRST`
/// and `LOCKSTEP_SEED_COUNT` choose others; `LOCKSTEP_SEED_PRINT=1` prints the digest of each, to
/// compare two processes. `LOCKSTEP_SEED_PROFILE` names another profile.
struct SeedSweepTests {
  private static let shards = 8

  private static func number(_ name: String, default usual: UInt64) -> UInt64 {
    ProcessInfo.processInfo.environment[name].flatMap(UInt64.init) ?? usual
  }

  static let first = number("LOCKSTEP_SEED_FIRST", default: 1)
  static let count = number("LOCKSTEP_SEED_COUNT", default: 40)
  static let profile: WorldProfile? = {
    let name = ProcessInfo.processInfo.environment["LOCKSTEP_SEED_PROFILE"]
    return WorldProfile.all.first { $0.name == name }
  }()
  static let isPrinting = number("LOCKSTEP_SEED_PRINT", default: 0) == 1

  @Test(arguments: 0..<shards)
  func allPromisesHold(shard: Int) throws {
    for offset in stride(from: UInt64(shard), to: SeedSweepTests.count, by: SeedSweepTests.shards) {
      let seed = SeedSweepTests.first + offset
      let usual: WorldProfile = seed % 4 == 0 ? .crowded : .everything
      let verdict = try play(seed, SeedSweepTests.profile ?? usual)
      if SeedSweepTests.isPrinting {
        print(
          "seed \(verdict.seed) digest \(String(verdict.digest, radix: 16)) \(verdict.tally)")
      }
      // One story is enough to work on.
      if !verdict.faults.isEmpty { return }
    }
  }

  /// Seeds that failed once.
  @Test(arguments: [1_469, 100_223] as [UInt64])
  func seedsThatOnceFailed(seed: UInt64) throws {
    try play(seed, .everything)
  }

  @Test(arguments: [21, 127, 214, 220, 244, 1_530] as [UInt64])
  func seedsThatOnceFailedWithAllAtOnce(seed: UInt64) throws {
    try play(seed, .whole)
  }

  @Test func aSeedIsTheSameWorldInAnyOrder() throws {
    let seeds: [UInt64] = [3, 14, 159, 2_653, 58_979]
    let forwards = try seeds.map { try play($0, .everything).digest }
    let backwards = try seeds.reversed().map { try play($0, .everything).digest }
    #expect(forwards == backwards.reversed())
    #expect(Set(forwards).count == seeds.count)
  }
}
