import LockstepModel

/// One machine's clocks: a monotonic clock with drift, and a wall clock with an offset, which jumps
/// when it is set.
package struct VirtualClock {
  /// Value of the monotonic clock at the start of the simulation, in nanoseconds.
  package var start: Int64
  /// Drift of both clocks, in parts per million; positive: too fast.
  package var driftPartsPerMillion: Int64
  /// Offset of the wall clock from the true time, in milliseconds. A jump changes it.
  package var offsetMilliseconds: Int64

  /// True time at the start of a simulation: 2026-11-21 12:00 UTC, in milliseconds since the Unix
  /// epoch.
  package static let epoch: Int64 = 1_795_262_400_000

  package init(start: Int64 = 0, driftPartsPerMillion: Int64 = 0, offsetMilliseconds: Int64 = 0) {
    self.start = start
    self.driftPartsPerMillion = driftPartsPerMillion
    self.offsetMilliseconds = offsetMilliseconds
  }

  /// `now`: nanoseconds since the simulation started.
  package func moment(at now: Int64) -> Moment {
    let passed = passed(at: now)
    return Moment(
      instant: Instant(nanoseconds: start + passed),
      wall: VirtualClock.epoch + offsetMilliseconds + passed / 1_000_000)
  }

  /// Returns the first nanosecond of the simulation at which this machine's monotonic clock shows
  /// `instant`.
  package func simulationTime(of instant: Instant) -> Int64 {
    let wanted = instant.nanoseconds - start
    guard wanted > 0 else { return 0 }
    // Computed in parts, so that no product overflows 64 bits.
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
