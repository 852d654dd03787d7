import LockstepModel
import Testing

@testable import LockstepBench

@Suite struct LatencyHistogramTests {
  @Test func everyQuantileIsWithinAThirtySecondOfTheTruth() throws {
    var random = SeededRandom(seed: 7)
    var histogram = LatencyHistogram()
    var values: [Int64] = []
    for _ in 0..<20_000 {
      let value = Int64.random(
        in: 0..<(1 << Int64.random(in: 1...40, using: &random)), using: &random)
      values.append(value)
      histogram.record(nanoseconds: value)
    }
    values.sort()
    for share in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
      let truth = values[max(0, Int((share * 20_000).rounded(.up)) - 1)]
      let read = try #require(histogram.quantile(share))
      #expect(read >= truth)
      #expect(Double(read) <= Double(truth) * 33 / 32 + 1)
    }
  }

  @Test func nothingRecordedGivesNoFigure() {
    #expect(LatencyHistogram().quantile(0.5) == nil)
    #expect(LatencyHistogram().doublings().isEmpty)
  }

  @Test func extremesAreExact() {
    var histogram = LatencyHistogram()
    histogram.record(nanoseconds: 1_234_567)
    histogram.record(nanoseconds: .max)
    histogram.record(nanoseconds: -5)
    #expect(histogram.greatestNanoseconds == .max)
    #expect(histogram.leastNanoseconds == 0)
    #expect(histogram.quantile(1) == .max)
    #expect(histogram.quantile(0) == 0)
  }

  @Test func mergedIsTheSameAsRecordedTogether() {
    var one = LatencyHistogram()
    var other = LatencyHistogram()
    var both = LatencyHistogram()
    for value in stride(from: Int64(1), to: 5_000_000, by: 7_919) {
      if value % 2 == 0 { one.record(nanoseconds: value) } else { other.record(nanoseconds: value) }
      both.record(nanoseconds: value)
    }
    one.merge(other)
    #expect(one.count == both.count)
    #expect(one.quantile(0.5) == both.quantile(0.5))
    #expect(one.greatestNanoseconds == both.greatestNanoseconds)
  }

  @Test func doublingsCountEachValueOnce() {
    var histogram = LatencyHistogram()
    for value in [10, 70_000, 200_000, 200_001, 9_000_000] as [Int64] {
      histogram.record(nanoseconds: value)
    }
    let rows = histogram.doublings()
    #expect(rows.map(\.count).reduce(0, +) == 5)
    #expect(rows.first?.count == 1)
    #expect(rows.last?.count == 1)
  }

  @Test func itsBucketsMakeItAgain() throws {
    var histogram = LatencyHistogram()
    for value in [0, 31, 32, 1_000, 1_001, 70_000, .max] as [Int64] {
      histogram.record(nanoseconds: value)
    }
    let buckets = histogram.buckets
    #expect(buckets.map(\.count).reduce(0, +) == 7)
    #expect(buckets.allSatisfy { $0.from <= $0.upTo })
    #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.upTo < $1.from })
    #expect(LatencyHistogram(buckets: buckets, least: 0, greatest: .max) == histogram)
    #expect(LatencyHistogram(buckets: [], least: .max, greatest: 0) == LatencyHistogram())
  }

  @Test func bucketsThatCannotBeMakeNone() {
    typealias Bucket = LatencyHistogram.Bucket
    let good = [Bucket(upTo: 5, count: 1), Bucket(upTo: 9, count: 2)]
    #expect(LatencyHistogram(buckets: good, least: 5, greatest: 9) != nil)
    #expect(LatencyHistogram(buckets: good.reversed(), least: 5, greatest: 9) == nil)
    #expect(LatencyHistogram(buckets: good, least: 4, greatest: 9) == nil)
    #expect(LatencyHistogram(buckets: good, least: 5, greatest: 8) == nil)
    #expect(LatencyHistogram(buckets: good, least: 5, greatest: -1) == nil)
    for bucket in [Bucket(upTo: -1, count: 1), Bucket(upTo: 5, count: 0)] {
      #expect(LatencyHistogram(buckets: [bucket], least: 5, greatest: 5) == nil)
    }
    let many = [Bucket(upTo: 5, count: .max)]
    #expect(LatencyHistogram(buckets: many, least: 5, greatest: 5) == nil)
  }
}
