import LockstepModel
import Testing

@testable import LockstepCommandLine

struct WatchdogKeeperTests {
  /// Returns the steps with an interval of one second, at times in milliseconds since the start.
  private func steps(_ looks: [(Int64, Bool)]) -> [[WatchdogKeeper.Step]] {
    var keeper = WatchdogKeeper(microseconds: 1_000_000, at: Instant(nanoseconds: 0))
    return looks.map { milliseconds, allAnswered in
      keeper.steps(
        allAnswered: allAnswered, at: Instant(nanoseconds: milliseconds * 1_000_000))
    }
  }

  @Test func aWordGoesOutOnceAllHaveAnswered() {
    #expect(
      steps([(0, true), (374, true), (375, true), (376, false), (400, true), (401, true)])
        == [[], [], [.ping], [], [.notify], []])
  }

  @Test func theNextQuestionComesHalfAnIntervalAfterTheLastWord() {
    #expect(
      steps([(375, true), (400, true), (774, true), (775, true), (776, true)])
        == [[.ping], [.notify], [], [.ping], [.notify]])
  }

  @Test func noWordGoesOutWhileAThreadIsStuck() {
    #expect(
      steps([(375, true), (500, false), (874, false), (875, false), (999, false), (5_000, false)])
        == [[.ping], [], [], [.reportUnresponsive], [], []], "the silence is told once")
    #expect(
      steps([(375, true), (900, false), (950, true)])
        == [[.ping], [.reportUnresponsive], [.notify]])
  }

  @Test func itIsLookedAtInTime() {
    var keeper = WatchdogKeeper(microseconds: 1_000_000, at: Instant(nanoseconds: 0))
    #expect(keeper.nextCheck(at: Instant(nanoseconds: 0)).nanoseconds == 375_000_000)
    let asked = Instant(nanoseconds: 375_000_000)
    _ = keeper.steps(allAnswered: true, at: asked)
    #expect(keeper.nextCheck(at: asked).milliseconds(since: asked) == 50)
  }
}
