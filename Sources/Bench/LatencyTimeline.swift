import LockstepModel

/// Latencies by the second of a run, to locate a stall in time. Only non-empty buckets are stored:
/// an hour takes a few megabytes.
package struct LatencyTimeline: Hashable, Sendable {
  /// Maximum length of a bench; later values are counted in the last second.
  package static let secondsMost = 3_600

  private struct Entry: Hashable {
    var buckets: [LatencyHistogram.Bucket] = []
    var least = Int64.max
    var greatest: Int64 = 0

    mutating func add(_ bucket: LatencyHistogram.Bucket) {
      let place = buckets.lowerBound { $0.upTo < bucket.upTo }
      if place < buckets.count, buckets[place].upTo == bucket.upTo {
        buckets[place].count += bucket.count
      } else {
        buckets.insert(bucket, at: place)
      }
    }
  }

  private var entries: [Entry] = []

  package init() {}

  /// `second`: the second, from 0, in which the measured change was due.
  package mutating func record(nanoseconds: Int64, dueInSecond second: Int) {
    let value = max(0, nanoseconds)
    let index = min(max(0, second), Self.secondsMost - 1)
    extend(to: index + 1)
    var bucket = LatencyHistogram.Bucket(of: value)
    bucket.count = 1
    entries[index].add(bucket)
    entries[index].least = min(entries[index].least, value)
    entries[index].greatest = max(entries[index].greatest, value)
  }

  /// Adds another run of the same length, second by second.
  package mutating func merge(_ other: LatencyTimeline) {
    extend(to: other.entries.count)
    for (index, entry) in other.entries.enumerated() {
      for bucket in entry.buckets { entries[index].add(bucket) }
      entries[index].least = min(entries[index].least, entry.least)
      entries[index].greatest = max(entries[index].greatest, entry.greatest)
    }
  }

  private mutating func extend(to count: Int) {
    while entries.count < count { entries.append(Entry()) }
  }

  /// From the first second to the last one with values; nil for a second without arrivals.
  package var seconds: [TimelineSecond?] {
    entries.map { entry in
      guard
        let histogram = LatencyHistogram(
          buckets: entry.buckets, least: entry.least, greatest: entry.greatest),
        let median = histogram.quantile(0.5), let high = histogram.quantile(0.99)
      else { return nil }
      return TimelineSecond(
        count: histogram.count, median: median, p99: high, greatest: entry.greatest)
    }
  }
}

/// Results of one second of a run; latencies in nanoseconds.
package struct TimelineSecond: Hashable, Sendable {
  package var count: UInt64
  package var median: Int64
  package var p99: Int64
  package var greatest: Int64
}
