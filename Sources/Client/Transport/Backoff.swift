import LockstepModel

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
    let asked = max(0, min(retryAfterMilliseconds ?? 0, Limits.retryAfterMilliseconds))
    if asked == 0 {
      ceiling = max(ceiling, min(spreadMilliseconds, Limits.reconnectObeyedMilliseconds))
    }
    return asked + Int64.random(in: 0...ceiling, using: &random)
  }

  mutating func reset() { failures = 0 }
}
