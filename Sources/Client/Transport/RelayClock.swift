import LockstepModel

/// Estimate of relay time. Measured against the monotonic clock, so that setting the wall clock
/// does not change it. Before the first measurement it is the wall clock with the offset stored in
/// the home.
struct RelayClock {
  /// One measurement: the relay reported `relayTime` (milliseconds) between two local instants.
  struct Sample: Hashable, Sendable {
    var sent: Instant
    var received: Instant
    var relayTime: Int64
    /// Time for which the relay held the request, in milliseconds.
    var heldMilliseconds: Int64 = 0
  }

  /// Relay time minus monotonic clock, in nanoseconds, and its maximum error.
  private struct Estimate {
    var offset: Int64
    var error: Int64
    var measuredAt: Instant
  }

  private var best: Estimate?
  /// Time at which a measurement last agreed with the estimate, or made it.
  private var confirmedAt: Instant?
  /// True if a clock has jumped, or the relay found a local stamp in its future.
  private(set) var isInvalidated = false
  /// Relay time minus wall clock as stored in the home, milliseconds; nil: none is stored.
  var rememberedOffset: Int64?
  /// Wall clock minus monotonic clock, milliseconds, at the last observation.
  private var skew: Int64?
  /// Sum of the forward steps of the wall clock since the agent started, milliseconds.
  private(set) var wallSteps: Int64 = 0

  /// True if relay time is known, though the measurement may be old.
  var isKnown: Bool { best != nil || rememberedOffset != nil }

  /// Observes every moment that the agent sees. The two clocks of this machine move together,
  /// except for a small drift. If they diverge, one of them jumped (the wall clock was set, or the
  /// machine slept), and nothing is trusted until the relay is asked again.
  mutating func observe(_ moment: Moment) {
    let now = moment.wall - moment.instant.nanoseconds / 1_000_000
    if let skew, abs(now - skew) > Limits.clockJumpMilliseconds {
      isInvalidated = true
      wallSteps += now - skew
      // Relay time did not jump with the wall clock.
      rememberedOffset = rememberedOffset.map { $0 - (now - skew) }
    }
    skew = now
  }

  mutating func invalidate() { isInvalidated = true }

  /// True if a relay may report this time, in milliseconds. In nanoseconds it must fit into 63 bits
  /// with room for a monotonic clock: the years 1970 to 2248.
  static func isPlausible(_ relayTime: Int64) -> Bool { (0..<1 << 43).contains(relayTime) }

  /// Adds a measurement; ignores one with an implausible time.
  mutating func add(_ sample: Sample) {
    guard RelayClock.isPlausible(sample.relayTime) else { return }
    let span = max(0, sample.received.nanoseconds - sample.sent.nanoseconds)
    let held = min(span, max(0, min(sample.heldMilliseconds, span / 1_000_000)) * 1_000_000)
    // The relay truncates its time to whole milliseconds: half of one is added back.
    let relay = sample.relayTime * 1_000_000 + 500_000
    let fresh = Estimate(
      offset: relay - (sample.sent.nanoseconds + span / 2), error: (span - held) / 2 + 500_000,
      measuredAt: sample.received)
    confirmedAt = sample.received
    guard let old = best, !isInvalidated else {
      best = fresh
      isInvalidated = false
      return
    }
    let age = max(0, sample.received.nanoseconds - old.measuredAt.nanoseconds)
    let oldError = old.error + age / RelayClock.driftDivisor
    let disagrees = abs(fresh.offset - old.offset) > fresh.error + oldError
    // The best of several has the shortest round trip; an old one becomes less accurate with time.
    if fresh.error <= oldError || disagrees { best = fresh }
  }

  func reading(at moment: Moment) -> ClockReading {
    guard let best, let confirmedAt else {
      return ClockReading(
        wall: moment.wall, offset: rememberedOffset ?? -wallSteps, isTrusted: false,
        isMeasured: false, wallSteps: wallSteps)
    }
    let relayTime = (moment.instant.nanoseconds + best.offset) / 1_000_000
    let age = moment.instant.milliseconds(since: confirmedAt)
    return ClockReading(
      wall: moment.wall, offset: relayTime - moment.wall,
      isTrusted: !isInvalidated && age < Limits.clockTrustMilliseconds, wallSteps: wallSteps)
  }

  /// Converts the relay's times to the local monotonic clock. Returns nil before the first
  /// measurement, while it is doubted, and for implausible times.
  func relayTimes(_ timing: SaveTiming, at moment: Moment) -> RelayTimes? {
    let times = [timing.received, timing.durable, timing.pushed]
    guard let best, !isInvalidated, times.allSatisfy({ RelayClock.isPlausible($0 / 1_000) }) else {
      return nil
    }
    // The clock that these times follow is truncated too: half a millisecond is added back, and
    // counts as error.
    func instant(_ microseconds: Int64) -> Instant {
      Instant(nanoseconds: microseconds * 1_000 + 500_000 - best.offset)
    }
    let age = max(0, moment.instant.nanoseconds - best.measuredAt.nanoseconds)
    return RelayTimes(
      received: instant(timing.received), durable: instant(timing.durable),
      pushed: instant(timing.pushed),
      errorNanoseconds: best.error + age / RelayClock.driftDivisor + 500_000)
  }

  /// Returns the instant of `relayTime` (milliseconds), as known at `moment`.
  func instant(of relayTime: Int64, at moment: Moment) -> Instant {
    let ahead = max(0, relayTime) - reading(at: moment).relayTime
    return moment.instant.advanced(milliseconds: max(0, min(ahead, RelayClock.farMilliseconds)))
  }

  /// Two clocks diverge by at most 200 parts per million.
  private static let driftDivisor: Int64 = 5_000
  /// One day: no deadline is set further ahead; it is checked again by then.
  private static let farMilliseconds: Int64 = 86_400_000
}
