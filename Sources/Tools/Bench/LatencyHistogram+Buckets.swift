extension LatencyHistogram {
  /// Count of one bucket. The bucket is identified by its greatest value, in nanoseconds.
  public struct Bucket: Hashable, Sendable {
    public var upTo: Int64
    public var count: UInt64

    public init(upTo: Int64, count: UInt64) {
      self.upTo = upTo
      self.count = count
    }

    /// Creates the empty bucket that contains `value`.
    init(of value: Int64) {
      upTo = LatencyHistogram.upperEnd(ofBucket: LatencyHistogram.bucket(of: max(0, value)))
      count = 0
    }

    /// Least value of the bucket.
    var from: Int64 {
      let index = LatencyHistogram.bucket(of: upTo)
      return index == 0 ? 0 : LatencyHistogram.upperEnd(ofBucket: index - 1) + 1
    }
  }

  /// More values than any bench records; sums of this many per bucket cannot overflow.
  static let bucketCountMost: UInt64 = 1 << 48

  /// Returns nil if the buckets are not those of a histogram: out of order, empty, or inconsistent
  /// with the least and the greatest value.
  init?(buckets: [Bucket], least: Int64, greatest: Int64) {
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
