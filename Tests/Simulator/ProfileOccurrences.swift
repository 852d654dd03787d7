/// Events that a profile must often cause in these seeds, or its worlds prove nothing.
package struct ProfileOccurrences: Sendable {
  package let profile: WorldProfile
  package let seeds: ClosedRange<UInt64>
  /// Least number of each event in all of the seeds together.
  package let least: [Tally.Occurrence: Int]

  private init(
    _ profile: WorldProfile, seeds: ClosedRange<UInt64> = 201...215,
    _ least: [Tally.Occurrence: Int]
  ) {
    self.profile = profile
    self.seeds = seeds
    self.least = least
  }

  package static let all = [
    ProfileOccurrences(
      .forgetful, [.cursorExpired: 3, .deletionForgotten: 1, .snapshot: 40, .listenerWoken: 20]),
    ProfileOccurrences(
      .restored,
      [
        .restore: 5, .saveLost: 15, .cursorLost: 10, .cursorKept: 5, .recordMissed: 1,
        .recordBroughtBack: 10,
      ]),
    ProfileOccurrences(.plans, [.zoneBlocked: 2, .planGone: 5]),
    ProfileOccurrences(.sharedTrial, seeds: 201...204, [.relayCutOff: 40]),
    ProfileOccurrences(.moved, [.accountMoved: 15, .deviceFollowed: 30]),
    ProfileOccurrences(
      .rotated, [.keysSaved: 15, .keysOvertaken: 1, .keysTaken: 20, .keysPaired: 1]),
    ProfileOccurrences(
      .large, seeds: 201...204, [.snapshotPage: 6, .snapshotPageUnderWrites: 2]),
    ProfileOccurrences(
      .whole, seeds: 201...230,
      [
        .restore: 5, .saveLost: 20, .cursorLost: 5, .cursorExpired: 1, .recordBroughtBack: 5,
        .zoneBlocked: 1, .planGone: 1, .listenerWoken: 20,
      ]),
    ProfileOccurrences(
      .wholeAndLarge, seeds: 201...206, [.restore: 1, .snapshotPageUnderWrites: 1]),
  ]

  /// Plays the seeds. Returns what is missing and the faults of the worlds, one a line; empty if
  /// all is well.
  package func play() throws -> [String] {
    var sum = Tally()
    var findings: [String] = []
    for seed in seeds {
      let verdict = try World(seed: seed, profile: profile).run()
      sum.add(verdict.tally)
      findings += verdict.faults.map { "seed \(seed) of \(profile.name): \($0)" }
    }
    for (event, count) in least.sorted(by: { $0.key < $1.key }) where sum[event] < count {
      findings.append("\(event) \(sum[event]) times, not \(count), in \(profile.name): \(sum)")
    }
    return findings
  }
}
