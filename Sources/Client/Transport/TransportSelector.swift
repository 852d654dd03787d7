import LockstepModel

/// Chooses the transport, and the time for which a long-poll asks to be held.
///
/// Transports are tried in order. A transport that reaches the relay but does not work, twice in a
/// row, is replaced by the next. A long-poll that is cut is then held for half as long; if even the
/// shortest is cut, the next transport is used. Better transports are tried again at growing
/// intervals. A transport on trial has not worked yet, so its first failure leads back.
struct TransportSelector {
  private let transports: [Transport]
  private var index = 0
  /// Consecutive failures of this transport.
  private var failures = 0
  /// True if the transport, or the hold time, is on trial.
  private var isOnTrial = false
  /// True if the transport has worked since its last failure or trial.
  private var hasServed = false
  private let longestMilliseconds: Int64
  /// Time for which a long-poll asks to be held.
  private(set) var waitMilliseconds: Int64
  private(set) var probeAt: Instant?
  private var probeMilliseconds = Limits.probeFirstMilliseconds

  /// Failures until the next transport is used; a single one may be chance.
  private var failuresAllowed: Int { isOnTrial ? 1 : 2 }

  init(_ transports: [Transport], longPollMilliseconds: Int64 = Limits.agentLongPollMilliseconds) {
    precondition(!transports.isEmpty, "at least one transport is required")
    self.transports = transports
    longestMilliseconds = longPollMilliseconds
    waitMilliseconds = longPollMilliseconds
  }

  var transport: Transport { transports[index] }

  /// True if a better transport, or a longer hold time, can be tried.
  private var hasBetter: Bool { index > 0 || canHoldLonger }

  /// True if a socket is tried in parallel to the present transport.
  var canUpgradeToSocket: Bool { index > 0 && transports.first == .webSocket }

  private var canHoldLonger: Bool {
    transport == .longPoll && waitMilliseconds < longestMilliseconds
  }

  private var canHoldShorter: Bool {
    waitMilliseconds / 2 >= Limits.shortestLongPollMilliseconds
  }

  /// Handles a failure in which the relay was reached, but this transport did not work.
  mutating func transportFailed(at now: Instant) {
    failures += 1
    guard failures >= failuresAllowed, index < transports.count - 1 else { return }
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
    guard canHoldShorter else { return transportFailed(at: now) }
    failures = 0
    isOnTrial = false
    repeat {
      waitMilliseconds /= 2
    } while canHoldShorter && waitMilliseconds >= heldMilliseconds ?? 0 && heldMilliseconds != nil
    if probeAt == nil { scheduleProbe(at: now) }
  }

  /// Handles an answer on this transport; for a long-poll, one that was held.
  mutating func transportServed(at now: Instant) {
    failures = 0
    hasServed = true
    if isOnTrial || !hasBetter { probeMilliseconds = Limits.probeFirstMilliseconds }
    if isOnTrial { scheduleProbe(at: now) }
    isOnTrial = false
  }

  /// Switches to this better transport, which has answered.
  mutating func upgrade(to better: Transport, at now: Instant) {
    guard let found = transports.firstIndex(of: better), found < index else { return }
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
    } else if index > 0, transports[index - 1] != .webSocket {
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

/// Delay before the next try: a random time below a ceiling that doubles with every failure (full
/// jitter), so that devices which lost a relay together do not reconnect together.
struct Backoff {
  private(set) var failures = 0

  /// Returns milliseconds. The wait that the relay asked for (`Retry-After`) is added, so that it
  /// is never shortened. `spreadMilliseconds`: period over which the relay's devices reconnect if
  /// all of them may have lost it; every try is spread over it, because the relay may not be back
  /// at the first. If the relay asked for a wait, it has spread the devices itself.
  mutating func next(
    retryAfterMilliseconds: Int64? = nil, spreadMilliseconds: Int64 = 0,
    random: inout SeededRandom
  ) -> Int64 {
    let doublings = min(failures, 20)
    var ceiling = min(Limits.backoffMilliseconds, Limits.backoffFirstMilliseconds << doublings)
    failures += 1
    let requested = max(0, min(retryAfterMilliseconds ?? 0, Limits.retryAfterMilliseconds))
    if requested == 0 {
      ceiling = max(ceiling, min(spreadMilliseconds, Limits.reconnectObeyedMilliseconds))
    }
    return requested + Int64.random(in: 0...ceiling, using: &random)
  }

  mutating func reset() { failures = 0 }
}
