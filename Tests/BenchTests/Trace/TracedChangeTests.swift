import LockstepClient
import LockstepModel
import Testing

@testable import LockstepBench

struct TracedChangeTests {
  private func instant(_ microseconds: Int64) -> Instant {
    Instant(nanoseconds: 5_000_000_000 + microseconds * 1_000)
  }

  /// Returns a change acted at 0, stored and sent at 100, and on device B from 2,000 to 2,300 µs.
  private func change(_ relayTimes: RelayTimes?) -> TracedChange {
    var change = TracedChange(acted: instant(0))
    (change.stored, change.sent) = (instant(100), instant(100))
    (change.received, change.applied) = (instant(2_000), instant(2_300))
    change.isAnswered = true
    change.relayTimes = relayTimes
    return change
  }

  /// Returns the times of a batch that is at the relay for 1,000 µs, 900 of them for the commit.
  private func relayTimes(from microseconds: Int64, error: Int64) -> RelayTimes {
    RelayTimes(
      received: instant(microseconds), durable: instant(microseconds + 900),
      pushed: instant(microseconds + 1_000), errorNanoseconds: error * 1_000)
  }

  private func times(_ change: TracedChange) throws -> [Int64] {
    try #require(change.timeline).steps.map { $0.at / 1_000 }
  }

  @Test func aTimelineIsThereOnceAllIsKnown() {
    var change = TracedChange(acted: instant(0))
    #expect(change.timeline == nil)
    change = self.change(nil)
    for missing in [\TracedChange.stored, \.sent, \.received, \.applied] {
      var partial = change
      partial[keyPath: missing] = nil
      #expect(partial.timeline == nil)
    }
    change.isAnswered = false
    #expect(change.timeline == nil)
  }

  @Test func stepsAddUpToTheWhole() throws {
    let line = try #require(change(relayTimes(from: 400, error: 100)).timeline)
    #expect(line.steps.map(\.milestone) == TraceTimeline.Milestone.allCases)
    #expect(line.steps.reduce(0) { $0 + $1.duration } == line.total)
    #expect(line.total == 2_300_000)
    #expect(line.largest?.milestone == .committed)
    #expect(line.largest?.duration == 900_000)
  }

  @Test func aGoodClockIsBelieved() throws {
    let change = change(relayTimes(from: 400, error: 100))
    #expect(try times(change) == [0, 100, 100, 400, 1_300, 1_400, 2_000, 2_300])
    #expect(change.timeline?.uncertainty == 100_000)
  }

  @Test(arguments: [-500, 300, 4_000] as [Int64])
  func aPoorClockIsHeldByWhatMustComeFirst(_ start: Int64) throws {
    // The relay must have received it between 100 and 1,000 to have notified device B by 2,000.
    let change = change(relayTimes(from: start, error: 5_000))
    #expect(try times(change) == [0, 100, 100, 550, 1_450, 1_550, 2_000, 2_300])
    #expect(change.timeline?.uncertainty == 450_000)
  }

  @Test func whatBothLeaveOpenIsNarrower() throws {
    // By the clock from -100 to 300, and not before 100.
    let change = change(relayTimes(from: 100, error: 200))
    #expect(try times(change)[3] == 200)
    #expect(change.timeline?.uncertainty == 100_000)
  }

  @Test func aClockThatCannotBeRightIsNotBelieved() throws {
    let change = change(relayTimes(from: 90_000, error: 100))
    #expect(try times(change)[3] == 550)
    #expect(change.timeline?.uncertainty == 450_000)
  }

  /// Another event loop of the relay notified device B before the loop that answers notified its
  /// own devices.
  @Test func noMilestoneComesBeforeTheOneBefore() throws {
    var change = change(relayTimes(from: 400, error: 100))
    (change.received, change.applied) = (instant(600), instant(900))
    #expect(try times(change) == [0, 100, 100, 100, 600, 600, 600, 900])
  }

  @Test func withoutTheRelaysTimesItIsOneStep() throws {
    let line = try #require(change(nil).timeline)
    #expect(line.steps.map(\.milestone) == [.acted, .stored, .sent, .received, .applied])
    #expect(!line.hasRelayTimes && line.uncertainty == nil)
    #expect(line.largest?.milestone == .received && line.largest?.duration == 1_900_000)
  }
}
