import LockstepModel

/// One machine's clocks: one that only goes forward, a little too fast or too slow, and one on the
/// wall that is off by some time and jumps when somebody sets it.
package struct VirtualClock {
  /// What the forward clock shows when the world begins, in nanoseconds.
  package var start: Int64
  /// How much too fast both clocks go: millionths.
  package var driftPartsPerMillion: Int64
  /// How far the wall clock is from the true time, in milliseconds. A jump changes it.
  package var offsetMilliseconds: Int64

  /// The true time when a world begins: 2026-11-21 12:00 UTC, in milliseconds since the Unix epoch.
  package static let epoch: Int64 = 1_795_262_400_000

  package init(start: Int64 = 0, driftPartsPerMillion: Int64 = 0, offsetMilliseconds: Int64 = 0) {
    self.start = start
    self.driftPartsPerMillion = driftPartsPerMillion
    self.offsetMilliseconds = offsetMilliseconds
  }

  /// `now`: nanoseconds since the world began.
  package func moment(at now: Int64) -> Moment {
    let passed = passed(at: now)
    return Moment(
      instant: Instant(nanoseconds: start + passed),
      wall: VirtualClock.epoch + offsetMilliseconds + passed / 1_000_000)
  }

  /// The first nanosecond of the world at which this machine's forward clock shows `instant`.
  package func worldTime(of instant: Instant) -> Int64 {
    let wanted = instant.nanoseconds - start
    guard wanted > 0 else { return 0 }
    // Solved in parts, so that no product leaves 64 bits.
    let million: Int64 = 1_000_000
    let rate = million + driftPartsPerMillion
    var time = wanted / rate * million + (wanted % rate) * million / rate
    while passed(at: time) < wanted { time += 1 }
    return time
  }

  private func passed(at now: Int64) -> Int64 {
    let million: Int64 = 1_000_000
    return now + now / million * driftPartsPerMillion + (now % million) * driftPartsPerMillion
      / million
  }
}
