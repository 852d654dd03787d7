/// How many values a histogram has counted up to each of its bounds, since it began or in a while.
package struct MetricHistogram: Hashable, Sendable {
  /// They rise, and the last is infinite.
  package private(set) var bounds: [Double]
  /// Values up to each bound; they do not fall.
  package private(set) var cumulative: [Double]

  /// A relay's have some 20.
  package static let boundsMax = 200

  /// nil where there is none such: bounds or counts that do not rise, or no last bucket.
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

  /// Values of each bucket alone.
  package var buckets: [Double] {
    cumulative.indices.map { cumulative[$0] - ($0 == 0 ? 0 : cumulative[$0 - 1]) }
  }

  /// What came in between an earlier state and this one. A histogram that has fewer values than
  /// before, in any bucket, began anew, and so did one with other bounds.
  package func growth(since before: MetricHistogram) -> MetricHistogram {
    let isAnew =
      before.bounds != bounds
      || zip(buckets, before.buckets).contains { $0 < $1 }
    if isAnew { return self }
    var growth = self
    for index in cumulative.indices { growth.cumulative[index] -= before.cumulative[index] }
    return growth
  }

  /// The values of both, which must have the same bounds.
  package mutating func add(_ other: MetricHistogram) {
    precondition(bounds == other.bounds, "only like buckets can be added")
    for index in cumulative.indices { cumulative[index] += other.cumulative[index] }
  }

  /// The value that a share of all, from 0 to 1, stays below, as Prometheus' histogram_quantile
  /// reckons: values spread evenly within their bucket, and nothing is known above the last bound.
  /// nil where there are no values.
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
