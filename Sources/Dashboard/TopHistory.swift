import LockstepModel

/// The relay's figures over the last minutes, one sample per request, and values derived from
/// several samples, such as rates of counters.
package struct TopHistory: Sendable {
  package struct Sample: Sendable {
    package var at: Instant
    /// nil if the relay did not answer, or was not asked for a long time.
    package var figures: RelayFigures?
  }

  /// Oldest first.
  package private(set) var samples: [Sample] = []
  /// Number of samples ever added; it fixes the grouping of a moving line.
  package private(set) var added = 0
  /// Window of the rates: the loops of a relay exchange their counters every 5 s.
  package let rateMilliseconds: Int64
  /// Window of the times.
  package let timesMilliseconds: Int64
  /// Interval between requests above which the time in between counts as unknown.
  private let gapMilliseconds: Int64

  /// Maximum number of samples in a line: at a sample per second, the last three minutes.
  package static let shownMax = 181
  /// Older samples are kept as needed for the rate of the oldest one shown.
  private static let samplesMax = shownMax + 20

  /// `everyMilliseconds`: interval of the requests.
  package init(everyMilliseconds: Int64) {
    // A window needs several samples.
    rateMilliseconds = max(10_000, 3 * everyMilliseconds)
    timesMilliseconds = max(60_000, 3 * everyMilliseconds)
    gapMilliseconds = max(6_000, 3 * everyMilliseconds)
  }

  package var newest: RelayFigures? { samples.last?.figures }

  package mutating func add(_ figures: RelayFigures?, at instant: Instant) {
    if let last = samples.last, instant.milliseconds(since: last.at) > gapMilliseconds {
      append(Sample(at: instant, figures: nil))
    }
    append(Sample(at: instant, figures: figures))
  }

  private mutating func append(_ sample: Sample) {
    samples.append(sample)
    added += 1
    if samples.count > TopHistory.samplesMax { samples.removeFirst() }
  }

  /// Returns the samples of a window that ends with one sample (default: the newest), without gaps.
  /// Empty if that sample has no answer.
  package func window(_ milliseconds: Int64, upTo place: Int? = nil) -> ArraySlice<Sample> {
    let end = place ?? samples.count - 1
    guard samples.indices.contains(end), samples[end].figures != nil else { return [] }
    var first = end
    while first > 0, samples[first - 1].figures != nil,
      samples[end].at.milliseconds(since: samples[first - 1].at) <= milliseconds
    { first -= 1 }
    return samples[first...end]
  }

  /// Returns the actual length of the window, in milliseconds: less than requested if the history
  /// is shorter, or the relay did not answer in between.
  package func span(of milliseconds: Int64, upTo place: Int? = nil) -> Int64 {
    let window = window(milliseconds, upTo: place)
    guard let first = window.first, let last = window.last else { return 0 }
    // The window is complete; it is slightly shorter only because no request was made exactly at
    // its start.
    let isWhole = window.startIndex > 0 && samples[window.startIndex - 1].figures != nil
    return isWhole ? milliseconds : last.at.milliseconds(since: first.at)
  }

  /// Returns the increase of a counter in the window; nil if not known yet.
  package func increase(
    _ milliseconds: Int64, upTo place: Int? = nil, _ read: (RelayFigures) -> Double?
  ) -> Double? {
    let window = window(milliseconds, upTo: place)
    guard window.count > 1 else { return nil }
    var increase = 0.0
    for (before, after) in zip(window, window.dropFirst()) {
      guard let before = before.figures, let after = after.figures, let old = read(before),
        let new = read(after)
      else { return nil }
      increase += isRestart(before, after) || new < old ? new : new - old
    }
    return increase
  }

  /// Returns the increase per second.
  package func rate(
    upTo place: Int? = nil, _ read: (RelayFigures) -> Double?
  ) -> Double? {
    let window = window(rateMilliseconds, upTo: place)
    guard let first = window.first, let last = window.last,
      let grown = increase(rateMilliseconds, upTo: place, read)
    else { return nil }
    let passed = last.at.milliseconds(since: first.at)
    return passed > 0 ? grown * 1_000 / Double(passed) : nil
  }

  package func rate(_ counter: RelayFigures.Counter, upTo place: Int? = nil) -> Double? {
    rate(upTo: place) { $0[counter] }
  }

  /// Returns the values added to a histogram in the window; nil if not known yet. Buckets of an
  /// older version are ignored.
  package func histogram(_ histogram: RelayFigures.Histogram) -> MetricHistogram? {
    let window = window(timesMilliseconds)
    guard window.count > 1, let newest = window.last?.figures?[histogram] else { return nil }
    var sum = newest.growth(since: newest)
    for (before, after) in zip(window, window.dropFirst()) {
      guard let before = before.figures, let after = after.figures, let old = before[histogram],
        let new = after[histogram]
      else { return nil }
      guard new.bounds == newest.bounds else { continue }
      sum.add(isRestart(before, after) ? new : new.growth(since: old))
    }
    return sum
  }

  /// True if the relay was restarted, so that its counters began at 0.
  private func isRestart(_ before: RelayFigures, _ after: RelayFigures) -> Bool {
    before[.startedAt] != after[.startedAt]
  }

  /// Returns a figure over the time that lines show, oldest first; nil if unknown.
  package func track(_ read: (Int) -> Double?) -> [Double?] {
    samples.indices.suffix(TopHistory.shownMax).map(read)
  }
}
