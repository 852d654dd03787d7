import Changes

/// How long to wait before the next try: a random span below a ceiling that doubles with every
/// failure (full jitter), so that devices which lost a relay together do not come back together.
struct Backoff {
  private(set) var failures = 0

  /// Milliseconds. What the relay asked for (`Retry-After`) comes on top, so that it is never cut.
  mutating func next(
    retryAfterMilliseconds: Int64? = nil, random: inout SeededRandom
  ) -> Int64 {
    let doublings = min(failures, 20)
    let ceiling = min(Limits.backoffMilliseconds, Limits.backoffFirstMilliseconds << doublings)
    failures += 1
    let asked = max(0, min(retryAfterMilliseconds ?? 0, Limits.retryAfterMilliseconds))
    return asked + Int64.random(in: 0...ceiling, using: &random)
  }

  mutating func reset() { failures = 0 }
}
