import LockstepModel

/// Decides when a relay sends its beats: a second after a notice, so that a lost one is soon
/// noticed, and seldom while there is nothing to notice but the relay's end.
package struct BeatSchedule: Sendable {
  /// Time of the next beat.
  package private(set) var next: Instant

  package init(at instant: Instant) { next = instant }

  package func isDue(at instant: Instant) -> Bool { !(instant < next) }

  /// Records that notices are sent.
  package mutating func recordNotices(at instant: Instant) {
    next = min(next, instant.advanced(milliseconds: Limits.noticeBeatMilliseconds))
  }

  /// Records that a beat is sent.
  package mutating func recordBeat(at instant: Instant) {
    next = instant.advanced(milliseconds: Limits.beatMilliseconds)
  }
}
