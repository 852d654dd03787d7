/// Latency histogram with buckets whose width grows with the value. Values from a microsecond to a
/// minute fit into a few kilobytes, and every figure is within 1/32 of the true value.
///
///     value in nanoseconds   1xxxxx yyyyyyyyy   bucket = exponent × 32 + the five bits x
package struct LatencyHistogram: Sendable, Hashable {
  private static let mantissaBits = 5
  private static let bucketsPerDoubling = 1 << mantissaBits

  private var counts: [UInt64]
  package private(set) var count: UInt64 = 0
  package private(set) var greatestNanoseconds: Int64 = 0
  package private(set) var leastNanoseconds: Int64 = .max

  package init() {
    counts = Array(repeating: 0, count: Self.bucket(of: .max) + 1)
  }

  /// Records a latency. A negative one (two clocks that disagree) counts as 0.
  package mutating func record(nanoseconds: Int64) {
    let value = max(0, nanoseconds)
    counts[Self.bucket(of: value)] += 1
    count += 1
    greatestNanoseconds = max(greatestNanoseconds, value)
    leastNanoseconds = min(leastNanoseconds, value)
  }

  package mutating func merge(_ other: LatencyHistogram) {
    for index in counts.indices { counts[index] += other.counts[index] }
    count += other.count
    greatestNanoseconds = max(greatestNanoseconds, other.greatestNanoseconds)
    leastNanoseconds = min(leastNanoseconds, other.leastNanoseconds)
  }

  /// Returns the latency that `share` (0…1) of all values did not exceed, in nanoseconds; nil if
  /// nothing was recorded. Rounded up to the end of its bucket, but never above the greatest
  /// recorded value.
  package func quantile(_ share: Double) -> Int64? {
    guard count > 0 else { return nil }
    let exact = share * Double(count)
    let rank = max(1, UInt64(exact) + (Double(UInt64(exact)) < exact ? 1 : 0))
    var seen: UInt64 = 0
    for index in counts.indices {
      seen += counts[index]
      if seen >= rank { return min(Self.upperEnd(ofBucket: index), greatestNanoseconds) }
    }
    return greatestNanoseconds
  }

  /// Buckets that are not empty, in ascending order.
  package var buckets: [Bucket] {
    counts.indices.filter { counts[$0] > 0 }.map {
      Bucket(upTo: Self.upperEnd(ofBucket: $0), count: counts[$0])
    }
  }

  package mutating func add(_ more: UInt64, toBucket index: Int) {
    counts[index] += more
    count += more
  }

  mutating func setBounds(least: Int64, greatest: Int64) {
    leastNanoseconds = least
    greatestNanoseconds = greatest
  }

  /// Counts per doubling from `first` nanoseconds, for a small chart. Empty rows at both ends are
  /// omitted.
  package func doublings(from first: Int64 = 1 << 16) -> [(upTo: Int64, count: UInt64)] {
    var rows: [(upTo: Int64, count: UInt64)] = []
    var upTo = first
    var index = 0
    while index < counts.count {
      var inside: UInt64 = 0
      while index < counts.count, Self.upperEnd(ofBucket: index) <= upTo {
        inside += counts[index]
        index += 1
      }
      rows.append((upTo, inside))
      guard upTo < .max / 2 else { break }
      upTo *= 2
    }
    guard let lowest = rows.firstIndex(where: { $0.count > 0 }),
      let highest = rows.lastIndex(where: { $0.count > 0 })
    else { return [] }
    return Array(rows[lowest...highest])
  }

  package static func bucket(of value: Int64) -> Int {
    guard value >= Int64(bucketsPerDoubling) else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount - mantissaBits
    return (exponent + 1) * bucketsPerDoubling + Int(value >> Int64(exponent))
      - bucketsPerDoubling
  }

  static func upperEnd(ofBucket index: Int) -> Int64 {
    guard index >= bucketsPerDoubling else { return Int64(index) }
    let exponent = index / bucketsPerDoubling - 1
    let mantissa = Int64(index % bucketsPerDoubling + bucketsPerDoubling)
    let (end, overflow) = (mantissa + 1).multipliedReportingOverflow(by: Int64(1) << exponent)
    return overflow ? .max : end - 1
  }
}

extension LatencyHistogram {
  /// Count of one bucket. The bucket is identified by its greatest value, in nanoseconds.
  package struct Bucket: Hashable, Sendable {
    package var upTo: Int64
    package var count: UInt64

    package init(upTo: Int64, count: UInt64) {
      self.upTo = upTo
      self.count = count
    }

    /// Creates the empty bucket that contains `value`.
    package init(of value: Int64) {
      upTo = LatencyHistogram.upperEnd(ofBucket: LatencyHistogram.bucket(of: max(0, value)))
      count = 0
    }

    /// Least value of the bucket.
    package var from: Int64 {
      let index = LatencyHistogram.bucket(of: upTo)
      return index == 0 ? 0 : LatencyHistogram.upperEnd(ofBucket: index - 1) + 1
    }
  }

  /// More values than any bench records; sums of this many per bucket cannot overflow.
  static let bucketCountMost: UInt64 = 1 << 48

  /// Returns nil if the buckets are not those of a histogram: out of order, empty, or inconsistent
  /// with the least and the greatest value.
  package init?(buckets: [Bucket], least: Int64, greatest: Int64) {
    self.init()
    guard !buckets.isEmpty else { return }
    var last = -1
    for bucket in buckets {
      guard bucket.upTo >= 0, 1...Self.bucketCountMost ~= bucket.count else { return nil }
      let index = Self.bucket(of: bucket.upTo)
      guard index > last else { return nil }
      last = index
      add(bucket.count, toBucket: index)
    }
    guard 0 <= least, least <= greatest, Self.bucket(of: least) == Self.bucket(of: buckets[0].upTo),
      Self.bucket(of: greatest) == last
    else { return nil }
    setBounds(least: least, greatest: greatest)
  }
}
