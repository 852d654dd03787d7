import LockstepModel
import Testing

@testable import LockstepBench

struct LatencyTimelineTests {
  @Test func everySecondHasFiguresOfItsOwn() throws {
    var timeline = LatencyTimeline()
    for value in 1...100 as ClosedRange<Int64> {
      timeline.record(nanoseconds: value, dueInSecond: 0)
      timeline.record(nanoseconds: value * 1_000_000, dueInSecond: 2)
    }
    #expect(timeline.seconds.count == 3 && timeline.seconds[1] == nil)
    let calm = try #require(timeline.seconds[0])
    #expect((calm.count, calm.greatest) == (100, 100))
    let slow = try #require(timeline.seconds[2])
    #expect(slow.greatest == 100_000_000)
    #expect((50_000_000...52_000_000).contains(slow.median))
    #expect((99_000_000...100_000_000).contains(slow.p99))
  }

  @Test func itSaysTheSameAsAHistogramOfThatSecond() {
    var random = SeededRandom(seed: 11)
    var timeline = LatencyTimeline()
    var histogram = LatencyHistogram()
    for _ in 0..<2_000 {
      let value = Int64.random(in: -3...50_000_000, using: &random)
      timeline.record(nanoseconds: value, dueInSecond: 0)
      histogram.record(nanoseconds: value)
    }
    #expect(timeline.seconds[0]?.median == histogram.quantile(0.5))
    #expect(timeline.seconds[0]?.p99 == histogram.quantile(0.99))
    #expect(timeline.seconds[0]?.greatest == histogram.greatestNanoseconds)
  }

  @Test func runsAreJoinedSecondForSecond() {
    var (one, other, both) = (LatencyTimeline(), LatencyTimeline(), LatencyTimeline())
    for value in 0..<90 as Range<Int64> {
      let second = Int(value % 5)
      one.record(nanoseconds: value * 1_000, dueInSecond: second)
      other.record(nanoseconds: value * 7_000, dueInSecond: second + 1)
      both.record(nanoseconds: value * 1_000, dueInSecond: second)
      both.record(nanoseconds: value * 7_000, dueInSecond: second + 1)
    }
    one.merge(other)
    #expect(one == both && one.seconds.count == 6)
  }

  @Test func itEndsWithTheLongestBench() {
    var timeline = LatencyTimeline()
    timeline.record(nanoseconds: 1, dueInSecond: 1 << 40)
    timeline.record(nanoseconds: 1, dueInSecond: -1)
    #expect(timeline.seconds.count == LatencyTimeline.secondsMost)
    #expect(timeline.seconds.compactMap { $0 }.count == 2)
  }
}
