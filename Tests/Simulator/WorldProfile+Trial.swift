/// Profiles of large runs.
extension WorldProfile {
  /// All faults, on three devices whose users are busy with all five apps. Each seed must have at
  /// least 200 edits and five faults that took effect.
  package static let trial = WorldProfile(
    name: "trial", kinds: FaultPlan.Kind.ofHonestRelays, faults: 10...16, accounts: 1...1,
    devicesPerAccount: 3...3, actsPerAccount: 260...290, leastEdits: 200, leastStrikes: 5,
    span: 40_000...90_000, idleSeconds: 600, clockOffset: -60_000...60_000,
    apps: PlayedApp.ofProgram, hasShortBreaks: true, notes: 8, hasListeners: true,
    hasSleepers: true)

  /// Like `trial`, on several relays that share the store.
  package static let sharedTrial: WorldProfile = {
    var profile = trial
    profile.name = "shared trial"
    profile.hasSeveralRelays = true
    return profile
  }()

  /// Like `trial`, with more devices and a clipboard that is nearly full.
  package static let wideTrial: WorldProfile = {
    var profile = trial
    profile.name = "wide trial"
    profile.devicesPerAccount = 3...4
    profile.clipboardItems = 97
    return profile
  }()
}
