import Simulator
import Testing

/// A checker that cannot fail is worth nothing: worlds broken on purpose must be found out.
struct BrokenWorldsTests {
  /// What the checkers say of a few seeds; one of them must see it.
  private func faults(_ breakage: Breakage, _ profile: WorldProfile) throws -> [String] {
    for seed in 1...60 as ClosedRange<UInt64> {
      let verdict = try World(seed: seed, profile: profile, breakage: breakage).run()
      if !verdict.faults.isEmpty { return verdict.faults }
    }
    return []
  }

  @Test func answersBeforeTheCommitAreFound() throws {
    var profile = WorldProfile.crashes
    profile.kinds = [.crashRelay]
    let faults = try faults(.answersBeforeCommit, profile)
    #expect(faults.contains { $0.contains("lost") })
  }

  @Test func aLostOutboxIsFound() throws {
    var profile = WorldProfile.crashes
    profile.kinds = [.crashDevice, .unplug]
    #expect(try !faults(.losesOutbox, profile).isEmpty)
  }

  @Test func aWakeThatNobodyHearsIsFound() throws {
    let faults = try faults(.missesWakes, .forgetful)
    #expect(faults.contains { $0.contains("not in step") }, "\(faults)")
  }

  @Test func aDeletionThatIsNotToldIsFound() throws {
    var profile = WorldProfile.forgetful
    profile.hasListeners = false
    let faults = try faults(.hidesTombstones, profile)
    #expect(faults.contains { $0.contains("not in step") }, "\(faults)")
  }

  @Test func aLossThatADeviceForgetsIsFound() throws {
    let faults = try faults(.forgetsLosses, .restored)
    #expect(faults.contains { $0.contains("not in step") }, "\(faults)")
  }

  @Test func aRuleThatTakesRemoteIsFound() throws {
    let faults = try faults(.takesRemote, .partitions)
    #expect(faults.contains { $0.contains("the timer is") || $0.contains("pomodoros") })
  }
}
