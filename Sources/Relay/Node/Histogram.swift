/// Number of values up to each of some bounds, and their sum: a histogram in Prometheus' sense. The
/// owner defines the unit of the values.
public struct Histogram: Sendable, Hashable {
  /// Ascending; one bucket each, and one more for values above the last.
  public let bounds: [Int64]
  /// Number of values of each bucket alone.
  private(set) var counts: [Int]
  public private(set) var sum: Int64 = 0

  public init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Adds the value `times` times.
  public mutating func observe(_ value: Int64, times: Int = 1) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += times
    sum += value * Int64(times)
  }

  /// Adds the values of another histogram with the same bounds.
  mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "two histograms of different things")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }

  public var count: Int { counts.reduce(0, +) }

  /// Number of values up to each bound, and then of all values.
  var cumulative: [Int] {
    var total = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}
