/// How many values were at most each of some bounds, and their sum: what Prometheus calls a
/// histogram. The unit of the values is the owner's.
public struct Histogram: Sendable, Hashable {
  /// Rising; a bucket each, and one more for what is above the last.
  public let bounds: [Int64]
  /// Values of each bucket alone.
  private(set) var counts: [Int]
  public private(set) var sum: Int64 = 0

  public init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// `times`: as often as that.
  public mutating func observe(_ value: Int64, times: Int = 1) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += times
    sum += value * Int64(times)
  }

  /// Takes in what another of the same bounds has.
  mutating func add(_ other: Histogram) {
    precondition(bounds == other.bounds, "two histograms of different things")
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }

  public var count: Int { counts.reduce(0, +) }

  /// Values up to each bound, and then all of them.
  var cumulative: [Int] {
    var total = 0
    return counts.map { count in
      total += count
      return total
    }
  }
}
