import Changes

/// Which transport to use. A rung that is reached but does not carry, twice in a row, is left for
/// the next; from there the better one is tried again, at growing intervals.
struct Ladder {
  private let rungs: [Transport]
  private var index = 0
  /// Failures in a row that speak against this rung.
  private var failures = 0
  private(set) var probeAt: Instant?
  private var probeMilliseconds = Limits.probeFirstMilliseconds

  /// A single failure may be chance.
  private static let failuresAllowed = 2

  init(_ rungs: [Transport]) {
    precondition(!rungs.isEmpty, "a ladder needs a rung")
    self.rungs = rungs
  }

  var transport: Transport { rungs[index] }

  /// The rung above; nil at the top.
  var better: Transport? { index > 0 ? rungs[index - 1] : nil }

  /// The relay was reached, but not by way of this rung.
  mutating func rungFailed(at now: Instant) {
    failures += 1
    guard failures >= Ladder.failuresAllowed, index < rungs.count - 1 else { return }
    index += 1
    failures = 0
    scheduleProbe(at: now)
  }

  /// This rung carried an answer.
  mutating func rungServed() {
    failures = 0
    if index == 0 { probeMilliseconds = Limits.probeFirstMilliseconds }
  }

  /// This better rung answered.
  mutating func climb(to better: Transport, at now: Instant) {
    guard let found = rungs.firstIndex(of: better), found < index else { return }
    index = found
    failures = 0
    scheduleProbe(at: now)
  }

  mutating func probeFailed(at now: Instant) { scheduleProbe(at: now) }

  /// The network is another one now.
  mutating func reset() {
    index = 0
    failures = 0
    probeAt = nil
    probeMilliseconds = Limits.probeFirstMilliseconds
  }

  private mutating func scheduleProbe(at now: Instant) {
    guard index > 0 else {
      probeAt = nil
      return
    }
    probeAt = now.advanced(milliseconds: probeMilliseconds)
    probeMilliseconds = min(2 * probeMilliseconds, Limits.probeMilliseconds)
  }
}
