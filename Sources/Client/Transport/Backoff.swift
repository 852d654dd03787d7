import LockstepModel

/// How long to wait before the next try: a random span below a ceiling that doubles with every
/// failure (full jitter), so that devices which lost a relay together do not come back together.
struct Backoff {
  private(set) var failures = 0

  /// Milliseconds. What the relay asked for (`Retry-After`) comes on top, so that it is never cut.
  /// `spreadMilliseconds`: over how long the relay's devices come back where all of them may have
  /// lost it; each try is spread as far, since the relay may not be back at the first. Where the
  /// relay asked for a wait, it has spread that itself.
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
