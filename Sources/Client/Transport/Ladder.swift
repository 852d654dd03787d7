import LockstepModel

/// Chooses the transport, and the time for which a long-poll asks to be held.
///
/// Transports are tried in order. A transport that reaches the relay but does not work, twice in a
/// row, is replaced by the next. A long-poll that is cut is then held for half as long; if even the
/// shortest is cut, the next transport is used. Better transports are tried again at growing
/// intervals. A transport on trial has not worked yet, so its first failure leads back.
struct Ladder {
  private let rungs: [Transport]
  private var index = 0
  /// Consecutive failures of this transport.
  private var failures = 0
  /// True if the transport, or the hold time, is on trial.
  private var isOnTrial = false
  /// True if it has worked since it was last in doubt.
  private var hasServed = false
  private let longestMilliseconds: Int64
  /// Time for which a long-poll asks to be held.
  private(set) var waitMilliseconds: Int64
  private(set) var probeAt: Instant?
  private var probeMilliseconds = Limits.probeFirstMilliseconds

  /// Failures until the next transport is used; a single one may be chance.
  private var failuresAllowed: Int { isOnTrial ? 1 : 2 }

  init(_ rungs: [Transport], longPollMilliseconds: Int64 = Limits.agentLongPollMilliseconds) {
    precondition(!rungs.isEmpty, "a ladder needs a rung")
    self.rungs = rungs
    longestMilliseconds = longPollMilliseconds
    waitMilliseconds = longPollMilliseconds
  }

  var transport: Transport { rungs[index] }

  /// True if there is something better to try.
  private var hasBetter: Bool { index > 0 || canHoldLonger }

  /// True if a socket is tried in parallel to the present transport.
  var hasSocketAbove: Bool { index > 0 && rungs.first == .webSocket }

  private var canHoldLonger: Bool {
    transport == .longPoll && waitMilliseconds < longestMilliseconds
  }

  private var canHoldShorter: Bool {
    waitMilliseconds / 2 >= Limits.shortestLongPollMilliseconds
  }

  /// Handles a failure in which the relay was reached, but this transport did not work.
  mutating func rungFailed(at now: Instant) {
    failures += 1
    guard failures >= failuresAllowed, index < rungs.count - 1 else { return }
    index += 1
    failures = 0
    isOnTrial = false
    scheduleProbe(at: now)
  }

  /// Handles a cut long-poll of a reachable relay. `heldMilliseconds`: time until the cut; nil: its
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

  /// Handles an answer on this transport; for a long-poll, one that was held.
  mutating func rungServed(at now: Instant) {
    failures = 0
    hasServed = true
    if isOnTrial || !hasBetter { probeMilliseconds = Limits.probeFirstMilliseconds }
    if isOnTrial { scheduleProbe(at: now) }
    isOnTrial = false
  }

  /// Switches to this better transport, which has answered.
  mutating func climb(to better: Transport, at now: Instant) {
    guard let found = rungs.firstIndex(of: better), found < index else { return }
    index = found
    failures = 0
    isOnTrial = false
    waitMilliseconds = longestMilliseconds
    scheduleProbe(at: now)
  }

  /// Tries another improvement from now on, because no socket is possible.
  mutating func tryBetter(at now: Instant) {
    if canHoldLonger {
      // Not while the possible hold time is still being measured.
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

  /// Tries a better transport at once, at a user's request.
  mutating func probeSoon(at now: Instant) {
    guard hasBetter else { return }
    probeMilliseconds = Limits.probeFirstMilliseconds
    probeAt = now
  }

  /// Starts again with the best transport, because the network has changed.
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
