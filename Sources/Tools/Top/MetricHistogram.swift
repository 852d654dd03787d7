/// Cumulative histogram: the number of values up to each bound, in total or in a time window.
package struct MetricHistogram: Hashable, Sendable {
  /// Bounds, ascending; the last one is infinite.
  package private(set) var bounds: [Double]
  /// Number of values up to each bound; never decreasing.
  package private(set) var cumulative: [Double]

  /// Maximum number of bounds; a relay's histograms have some 20.
  package static let boundsMax = 200

  /// Returns nil if the values are not a histogram: bounds or counts that do not rise, or no
  /// infinite bound.
  package init?(bounds: [Double], cumulative: [Double]) {
    guard bounds.count == cumulative.count, bounds.count <= MetricHistogram.boundsMax,
      bounds.last == .infinity, let first = cumulative.first, first >= 0,
      cumulative.allSatisfy(\.isFinite), bounds[0] > 0,
      zip(bounds, bounds.dropFirst()).allSatisfy(<),
      zip(cumulative, cumulative.dropFirst()).allSatisfy(<=)
    else { return nil }
    self.bounds = bounds
    self.cumulative = cumulative
  }

  package var count: Double { cumulative.last ?? 0 }

  /// Number of values in each bucket alone.
  package var buckets: [Double] {
    cumulative.indices.map { cumulative[$0] - ($0 == 0 ? 0 : cumulative[$0 - 1]) }
  }

  /// Returns the values added since an earlier state. If any bucket has fewer values than before,
  /// or the bounds differ, the histogram has restarted.
  package func growth(since before: MetricHistogram) -> MetricHistogram {
    let isAnew =
      before.bounds != bounds
      || zip(buckets, before.buckets).contains { $0 < $1 }
    if isAnew { return self }
    var growth = self
    for index in cumulative.indices { growth.cumulative[index] -= before.cumulative[index] }
    return growth
  }

  /// Adds the values of another histogram, which must have the same bounds.
  package mutating func add(_ other: MetricHistogram) {
    precondition(bounds == other.bounds, "only like buckets can be added")
    for index in cumulative.indices { cumulative[index] += other.cumulative[index] }
  }

  /// Returns the value below which this share (0 to 1) of all values is, computed like Prometheus'
  /// histogram_quantile: values are evenly spread within their bucket, and above the last bound
  /// nothing is known. nil if there are no values.
  package func quantile(_ share: Double) -> Double? {
    let rank = share * count
    guard count > 0, let index = cumulative.firstIndex(where: { $0 >= rank }) else { return nil }
    guard bounds[index] < .infinity else { return index > 0 ? bounds[index - 1] : nil }
    let lower = index > 0 ? bounds[index - 1] : 0
    let below = index > 0 ? cumulative[index - 1] : 0
    let within = cumulative[index] - below
    return within > 0 ? lower + (bounds[index] - lower) * ((rank - below) / within) : bounds[index]
  }
}
