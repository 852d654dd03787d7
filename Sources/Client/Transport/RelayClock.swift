import LockstepModel

/// What time it is at the relay. Measured against the clock that only goes forward, so that
/// somebody who sets the wall clock does not move it; before the first measurement it is the wall
/// clock with the offset that the home remembers.
struct RelayClock {
  /// One measurement: the relay said `relayTime` (milliseconds) between two of our instants.
  struct Sample: Hashable, Sendable {
    var sent: Instant
    var received: Instant
    var relayTime: Int64
    /// How long the relay held the question, in milliseconds.
    var heldMilliseconds: Int64 = 0
  }

  /// Relay time less our forward clock, in nanoseconds, and by how much it may be wrong.
  private struct Estimate {
    var offset: Int64
    var error: Int64
    var measuredAt: Instant
  }

  private var best: Estimate?
  /// When a measurement last agreed with the estimate, or made it.
  private var confirmedAt: Instant?
  /// A clock has jumped, or the relay found a stamp of ours in its future.
  private(set) var isDoubted = false
  /// By the home's memory: relay time less wall clock, milliseconds; nil: it has none.
  var rememberedOffset: Int64?
  /// Wall clock less forward clock, milliseconds, when last looked at.
  private var skew: Int64?
  /// By how much somebody has set the wall clock forward since the agent started, milliseconds.
  private(set) var wallSteps: Int64 = 0

  /// Something is known of relay time, though it may be old.
  var isKnown: Bool { best != nil || rememberedOffset != nil }

  /// To be told every moment that the agent sees. The two clocks of this machine move together but
  /// for a small drift; where they part, one of them jumped (the wall clock was set, or the machine
  /// slept), and nothing is trusted until the relay is asked again.
  mutating func observe(_ moment: Moment) {
    let now = moment.wall - moment.instant.nanoseconds / 1_000_000
    if let skew, abs(now - skew) > Limits.clockJumpMilliseconds {
      isDoubted = true
      wallSteps += now - skew
      // Relay time did not jump with the wall clock.
      rememberedOffset = rememberedOffset.map { $0 - (now - skew) }
    }
    skew = now
  }

  mutating func doubt() { isDoubted = true }

  /// Whether a relay may say that it is this time, milliseconds. In nanoseconds it must fit into 63
  /// bits with room for a forward clock: the years 1970 to 2248.
  static func isPlausible(_ relayTime: Int64) -> Bool { (0..<1 << 43).contains(relayTime) }

  /// What no relay may say is not taken.
  mutating func add(_ sample: Sample) {
    guard RelayClock.isPlausible(sample.relayTime) else { return }
    let span = max(0, sample.received.nanoseconds - sample.sent.nanoseconds)
    let held = min(span, max(0, min(sample.heldMilliseconds, span / 1_000_000)) * 1_000_000)
    // The relay cuts its time to whole milliseconds: half of one is added back.
    let relay = sample.relayTime * 1_000_000 + 500_000
    let fresh = Estimate(
      offset: relay - (sample.sent.nanoseconds + span / 2), error: (span - held) / 2 + 500_000,
      measuredAt: sample.received)
    confirmedAt = sample.received
    guard let old = best, !isDoubted else {
      best = fresh
      isDoubted = false
      return
    }
    let age = max(0, sample.received.nanoseconds - old.measuredAt.nanoseconds)
    let oldError = old.error + age / RelayClock.driftDivisor
    let disagrees = abs(fresh.offset - old.offset) > fresh.error + oldError
    // The best of several is the one with the shortest way; an old one grows worse with time.
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
      isTrusted: !isDoubted && age < Limits.clockTrustMilliseconds, wallSteps: wallSteps)
  }

  /// When it was by our forward clock what the relay has told by its own; nil before it was
  /// measured, while it is doubted, and of what no relay may say.
  func passage(_ timing: SaveTiming, at moment: Moment) -> RelayPassage? {
    let times = [timing.received, timing.durable, timing.pushed]
    guard let best, !isDoubted, times.allSatisfy({ RelayClock.isPlausible($0 / 1_000) }) else {
      return nil
    }
    // This time of the relay's is cut like any: half a millisecond is added back, and is not sure.
    func instant(_ microseconds: Int64) -> Instant {
      Instant(nanoseconds: microseconds * 1_000 + 500_000 - best.offset)
    }
    let age = max(0, moment.instant.nanoseconds - best.measuredAt.nanoseconds)
    return RelayPassage(
      received: instant(timing.received), durable: instant(timing.durable),
      pushed: instant(timing.pushed),
      errorNanoseconds: best.error + age / RelayClock.driftDivisor + 500_000)
  }

  /// When it is `relayTime` (milliseconds), by what is known at `moment`.
  func instant(of relayTime: Int64, at moment: Moment) -> Instant {
    let ahead = max(0, relayTime) - reading(at: moment).relayTime
    return moment.instant.advanced(milliseconds: max(0, min(ahead, RelayClock.farMilliseconds)))
  }

  /// Two clocks part by at most 200 millionths.
  private static let driftDivisor: Int64 = 5_000
  /// A day: further ahead than that no deadline is set; it is looked at again by then.
  private static let farMilliseconds: Int64 = 86_400_000
}
