import LockstepModel
import Simulator
import Testing

/// A few seeds of the default profile of `scripts/simulate`: all faults, with busy users.
struct TrialTests {
  private static let shards = 8

  @Test(arguments: 0..<shards)
  func allPromisesHoldAndEachSeedHasEnough(shard: Int) throws {
    for seed in stride(from: UInt64(shard) + 1, through: 8, by: TrialTests.shards) {
      let verdict = try play(seed, .trial)
      #expect(verdict.shortfalls.isEmpty, "seed \(seed): \(verdict.shortfalls)")
      #expect(verdict.devices >= 3)
      if !verdict.faults.isEmpty { return }
    }
  }

  /// Several relays on one store, which notify each other late or never, and crash one by one.
  @Test(arguments: 0..<4)
  func relaysThatShareAStoreKeepThemToo(shard: Int) throws {
    for seed in stride(from: UInt64(shard) + 1, through: 8, by: 4) {
      try play(seed, .sharedTrial)
    }
  }

  /// Seeds that failed once.
  @Test(arguments: [2_087, 5_370, 6_595, 17_733] as [UInt64])
  func seedsThatOnceFailed(seed: UInt64) throws {
    try play(seed, .trial)
  }

  /// An injected bug that cannot take effect breaks nothing else.
  @Test func whatIsBrokenInOneWayIsWholeInAllOthers() throws {
    let verdict = try World(seed: 768, profile: .trial, breakage: .leaksAccounts).run()
    #expect(verdict.faults.isEmpty)
  }

  @Test func everyKindOfFaultStrikes() throws {
    var tally = Tally()
    for seed in 201...215 as ClosedRange<UInt64> { tally.add(try play(seed, .trial).tally) }
    for kind in WorldProfile.trial.kinds {
      #expect(tally[kind] > 0, "\(kind) never struck")
    }
  }

  /// Weeks pass, and the relay has dropped the history that a device needs after its absence.
  @Test func whoWasPutAwayForWeeksReadsAnew() throws {
    var profile = WorldProfile.trial
    profile.kinds = [.putAway, .unplug]
    var expired = 0
    for seed in 1...30 as ClosedRange<UInt64> where expired == 0 {
      let verdict = try play(seed, profile)
      #expect(verdict.virtualMilliseconds > 40 * 86_400_000 || verdict.tally[.putAway] == 0)
      expired += verdict.tally[.cursorExpired]
    }
    #expect(expired > 0)
  }

  /// An excerpt changes nothing of the rest: the same devices, the same users.
  @Test func lessOfASeedIsPlayedAsAsked() throws {
    let none = try World(
      seed: 4, profile: .trial, excerpt: Excerpt(faults: [], acts: [])
    ).run()
    #expect(none.faults.isEmpty, "\(none.faults)")
    #expect(none.tally.faultCount == 0 && none.tally[.edit] == 0)
    let whole = try World(seed: 4, profile: .trial)
    let some = try World(seed: 4, profile: .trial, excerpt: Excerpt(faults: [1], acts: [2, 5]))
    #expect(some.plan.faults == [whole.plan.faults[1]])
    #expect(some.people[0].acts == [whole.people[0].acts[2], whole.people[0].acts[5]])
  }
}
