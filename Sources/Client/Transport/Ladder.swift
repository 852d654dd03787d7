import LockstepModel

/// Which transport to use, and for how long a long-poll asks to be held.
///
/// A rung that is reached but does not carry, twice in a row, is left for the next. A long-poll
/// that is cut is asked to be held for half as long; where even the shortest is cut, the rung is
/// left. From there what is better is tried again, at growing intervals. What is tried has carried
/// nothing yet, so that its first failure leads back.
struct Ladder {
  private let rungs: [Transport]
  private var index = 0
  /// Failures in a row that speak against this rung.
  private var failures = 0
  /// The rung, or the wait, is being tried.
  private var isOnTrial = false
  /// It has carried since it was last in doubt.
  private var hasServed = false
  private let longestMilliseconds: Int64
  /// For how long a long-poll asks to be held.
  private(set) var waitMilliseconds: Int64
  private(set) var probeAt: Instant?
  private var probeMilliseconds = Limits.probeFirstMilliseconds

  /// A single failure may be chance.
  private var failuresAllowed: Int { isOnTrial ? 1 : 2 }

  init(_ rungs: [Transport], longPollMilliseconds: Int64 = Limits.agentLongPollMilliseconds) {
    precondition(!rungs.isEmpty, "a ladder needs a rung")
    self.rungs = rungs
    longestMilliseconds = longPollMilliseconds
    waitMilliseconds = longPollMilliseconds
  }

  var transport: Transport { rungs[index] }

  /// There is something better to try.
  private var hasBetter: Bool { index > 0 || canHoldLonger }

  /// A socket is tried beside what carries.
  var hasSocketAbove: Bool { index > 0 && rungs.first == .webSocket }

  private var canHoldLonger: Bool {
    transport == .longPoll && waitMilliseconds < longestMilliseconds
  }

  private var canHoldShorter: Bool {
    waitMilliseconds / 2 >= Limits.shortestLongPollMilliseconds
  }

  /// The relay was reached, but not by way of this rung.
  mutating func rungFailed(at now: Instant) {
    failures += 1
    guard failures >= failuresAllowed, index < rungs.count - 1 else { return }
    index += 1
    failures = 0
    isOnTrial = false
    scheduleProbe(at: now)
  }

  /// A long-poll was cut, though the relay is in reach. `heldMilliseconds`: after so long; nil: its
  /// answer never came.
  mutating func longPollCut(heldMilliseconds: Int64?, at now: Instant) {
    guard transport == .longPoll else { return }
    hasServed = false
    guard canHoldShorter else { return rungFailed(at: now) }
    failures = 0
    isOnTrial = false
    repeat {
      waitMilliseconds /= 2
    } while canHoldShorter && waitMilliseconds >= heldMilliseconds ?? 0 && heldMilliseconds != nil
    if probeAt == nil { scheduleProbe(at: now) }
  }

  /// This rung carried an answer; of a long-poll one that was held.
  mutating func rungServed(at now: Instant) {
    failures = 0
    hasServed = true
    if isOnTrial || !hasBetter { probeMilliseconds = Limits.probeFirstMilliseconds }
    if isOnTrial { scheduleProbe(at: now) }
    isOnTrial = false
  }

  /// This better rung answered.
  mutating func climb(to better: Transport, at now: Instant) {
    guard let found = rungs.firstIndex(of: better), found < index else { return }
    index = found
    failures = 0
    isOnTrial = false
    waitMilliseconds = longestMilliseconds
    scheduleProbe(at: now)
  }

  /// There is no socket to be had: what else is better is tried from now on.
  mutating func tryBetter(at now: Instant) {
    if canHoldLonger {
      // Not while it is still being found out for how long one may be held.
      guard hasServed else { return scheduleProbe(at: now) }
      hasServed = false
      waitMilliseconds = min(2 * waitMilliseconds, longestMilliseconds)
      isOnTrial = true
    } else if index > 0, rungs[index - 1] != .webSocket {
      index -= 1
      failures = 0
      hasServed = false
      isOnTrial = true
      while canHoldShorter { waitMilliseconds /= 2 }
    }
    scheduleProbe(at: now)
  }

  /// A person asks.
  mutating func probeSoon(at now: Instant) {
    guard hasBetter else { return }
    probeMilliseconds = Limits.probeFirstMilliseconds
    probeAt = now
  }

  /// The network is another one now.
  mutating func reset() {
    index = 0
    failures = 0
    isOnTrial = false
    waitMilliseconds = longestMilliseconds
    probeAt = nil
    probeMilliseconds = Limits.probeFirstMilliseconds
  }

  private mutating func scheduleProbe(at now: Instant) {
    guard hasBetter else {
      probeAt = nil
      return
    }
    probeAt = now.advanced(milliseconds: probeMilliseconds)
    probeMilliseconds = min(2 * probeMilliseconds, Limits.probeMilliseconds)
  }
}
