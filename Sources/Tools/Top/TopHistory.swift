import LockstepModel

/// The relay's figures over the last minutes, a sample each time it was asked, and what they tell
/// together: a counter says something only beside an earlier one.
package struct TopHistory: Sendable {
  package struct Sample: Sendable {
    package var at: Instant
    /// nil where the relay did not answer, or nobody asked it for long.
    package var figures: RelayFigures?
  }

  /// Oldest first.
  package private(set) var samples: [Sample] = []
  /// Samples that were ever added; they name the places of a line that moves.
  package private(set) var added = 0
  /// Over which rates are told: the loops of a relay tell one another theirs every 5 s.
  package let rateMilliseconds: Int64
  /// Over which times are told.
  package let timesMilliseconds: Int64
  /// Longer without a question, and nothing is known of what was in between.
  private let gapMilliseconds: Int64

  /// What lines show at the most: at a sample a second, the last three minutes.
  package static let shownMax = 181
  /// Older ones are kept as far as the rate of the oldest that is shown needs them.
  private static let samplesMax = shownMax + 20

  /// `everyMilliseconds`: how often the relay is asked.
  package init(everyMilliseconds: Int64) {
    // What is told of a while needs some samples in it.
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

  /// The samples of the last while up to one of them, the newest if not told otherwise, without a
  /// gap. Empty where that one was not answered.
  package func window(_ milliseconds: Int64, upTo place: Int? = nil) -> ArraySlice<Sample> {
    let end = place ?? samples.count - 1
    guard samples.indices.contains(end), samples[end].figures != nil else { return [] }
    var first = end
    while first > 0, samples[first - 1].figures != nil,
      samples[end].at.milliseconds(since: samples[first - 1].at) <= milliseconds
    { first -= 1 }
    return samples[first...end]
  }

  /// How long that really is, in milliseconds: less than was asked for where the view is younger,
  /// or the relay was silent in between.
  package func span(of milliseconds: Int64, upTo place: Int? = nil) -> Int64 {
    let window = window(milliseconds, upTo: place)
    guard let first = window.first, let last = window.last else { return 0 }
    // A little less only as the relay is not asked at the window's very beginning.
    let isWhole = window.startIndex > 0 && samples[window.startIndex - 1].figures != nil
    return isWhole ? milliseconds : last.at.milliseconds(since: first.at)
  }

  /// How much a counter grew in the last while; nil where that is not known yet.
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
      increase += isAnew(before, after) || new < old ? new : new - old
    }
    return increase
  }

  /// The same a second.
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

  /// What came into a histogram in the last while; nil where that is not known yet. Buckets of an
  /// older version are left out.
  package func histogram(_ histogram: RelayFigures.Histogram) -> MetricHistogram? {
    let window = window(timesMilliseconds)
    guard window.count > 1, let newest = window.last?.figures?[histogram] else { return nil }
    var sum = newest.growth(since: newest)
    for (before, after) in zip(window, window.dropFirst()) {
      guard let before = before.figures, let after = after.figures, let old = before[histogram],
        let new = after[histogram]
      else { return nil }
      guard new.bounds == newest.bounds else { continue }
      sum.add(isAnew(before, after) ? new : new.growth(since: old))
    }
    return sum
  }

  /// Whether the relay was started again, so that its counters began at 0.
  private func isAnew(_ before: RelayFigures, _ after: RelayFigures) -> Bool {
    before[.startedAt] != after[.startedAt]
  }

  /// A figure over the time that lines show, oldest first; nil where it is not known.
  package func track(_ read: (Int) -> Double?) -> [Double?] {
    samples.indices.suffix(TopHistory.shownMax).map(read)
  }
}
