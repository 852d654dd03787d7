import Simulator
import Testing

/// A profile must often cause the events that it is named for, or its seeds prove nothing.
struct OccurrencesTests {
  private func tally(_ profile: WorldProfile, seeds: ClosedRange<UInt64>) throws -> Tally {
    var sum = Tally()
    for seed in seeds { sum.add(try play(seed, profile).tally) }
    return sum
  }

  private func expect(
    _ least: [Tally.Occurrence: Int], in profile: WorldProfile,
    seeds: ClosedRange<UInt64> = 201...215
  ) throws {
    let tally = try tally(profile, seeds: seeds)
    for (happening, count) in least.sorted(by: { $0.key < $1.key }) {
      #expect(tally[happening] >= count, "\(happening) in worlds of \(profile.name): \(tally)")
    }
  }

  @Test func historiesAreForgotten() throws {
    try expect(
      [.cursorExpired: 3, .deletionForgotten: 1, .snapshot: 40, .listenerWoken: 20],
      in: .forgetful)
  }

  @Test func backupsArePutBack() throws {
    try expect(
      [
        .restore: 5, .saveLost: 15, .cursorLost: 10, .cursorKept: 5, .recordMissed: 1,
        .recordBroughtBack: 10,
      ], in: .restored)
  }

  @Test func plansRunOut() throws {
    try expect([.zoneBlocked: 2, .planGone: 5], in: .plans)
  }

  @Test func keysAreReplaced() throws {
    try expect(
      [.keysSaved: 15, .keysOvertaken: 1, .keysTaken: 20, .keysPaired: 1], in: .rotated)
  }

  @Test func snapshotsTakeSeveralPagesWhileOthersWrite() throws {
    try expect([.snapshotPage: 6, .snapshotPageUnderWrites: 2], in: .large, seeds: 201...204)
  }

  @Test func allOfItHappensAtOnce() throws {
    try expect(
      [
        .restore: 5, .saveLost: 20, .cursorLost: 5, .cursorExpired: 1, .recordBroughtBack: 5,
        .zoneBlocked: 1, .planGone: 1, .listenerWoken: 20,
      ], in: .whole, seeds: 201...230)
    try expect([.restore: 1, .snapshotPageUnderWrites: 1], in: .wholeAndLarge, seeds: 201...206)
  }
}
