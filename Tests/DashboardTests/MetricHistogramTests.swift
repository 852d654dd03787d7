import Testing

@testable import LockstepDashboard

struct MetricHistogramTests {
  private func histogram(_ cumulative: Double...) throws -> MetricHistogram {
    try #require(MetricHistogram(bounds: [1, 2, 4, .infinity], cumulative: cumulative))
  }

  @Test func aQuantileLiesWithinItsBucketAsPrometheusReckonsIt() throws {
    // promtool test rules, with the same buckets: histogram_quantile(0.5, …) = 1.5.
    #expect(try histogram(2, 6, 8, 8).quantile(0.5) == 1.5)
    #expect(try histogram(2, 6, 8, 8).quantile(1) == 4)
    #expect(try histogram(4, 4, 4, 4).quantile(0.5) == 0.5)
  }

  @Test func aboveTheLastBoundNoMoreIsClaimedThanTheBound() throws {
    #expect(try histogram(0, 0, 0, 7).quantile(0.99) == 4)
    let only = try #require(MetricHistogram(bounds: [.infinity], cumulative: [3]))
    #expect(only.quantile(0.5) == nil)
  }

  @Test func withoutValuesThereIsNoQuantile() throws {
    #expect(try histogram(0, 0, 0, 0).quantile(0.5) == nil)
  }

  @Test func whatCameInIsTheDifference() throws {
    let growth = try histogram(1, 3, 4, 5).growth(since: histogram(1, 1, 1, 1))
    #expect(growth.cumulative == [0, 2, 3, 4])
    #expect(growth.buckets == [0, 2, 1, 1])
  }

  @Test func oneThatBeganAnewCountsFromNothing() throws {
    let after = try histogram(0, 1, 1, 2)
    #expect(try after.growth(since: histogram(6, 6, 6, 10)) == after)
    // More in total than before, but fewer in one bucket: a difference is impossible.
    let more = try histogram(0, 0, 0, 11)
    #expect(try more.growth(since: histogram(6, 6, 6, 10)) == more)
  }

  private static let broken: [([Double], [Double])] = [
    ([], []), ([1], [1]), ([1, .infinity], [1]), ([2, 1, .infinity], [0, 0, 0]),
    ([1, 1, .infinity], [0, 0, 0]), ([1, .infinity], [2, 1]), ([1, .infinity], [-1, 1]),
    ([1, .infinity], [.nan, 1]), ([1, .infinity], [1, .infinity]), ([.nan, .infinity], [1, 1]),
    ([-1, .infinity], [1, 1]), ([1, .nan], [1, 1]),
  ]

  @Test(arguments: broken)
  func whatDoesNotRiseIsNone(_ bounds: [Double], _ cumulative: [Double]) {
    #expect(MetricHistogram(bounds: bounds, cumulative: cumulative) == nil)
  }

  @Test func bucketsHaveABound() {
    let bounds = (1...MetricHistogram.boundsMax).map(Double.init) + [.infinity]
    #expect(MetricHistogram(bounds: bounds, cumulative: bounds.map { _ in 0 }) == nil)
  }
}
