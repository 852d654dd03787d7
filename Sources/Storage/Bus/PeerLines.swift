import LockstepModel

/// The lines of notices of all relays of a store, as one of them receives them.
///
/// Each relay numbers its notices, and tells their number every second (a beat). So a relay knows
/// that it has missed a notice when a number is left out, at the latest with the next beat, and
/// asks the store for its accounts only then. A relay that has stopped may have committed something
/// that it did not announce: the end of its beats counts as a missed notice.
///
/// Notices may come twice, late, or in another order; then the relay asks once too often.
package struct PeerLines: Sendable {
  package enum Event: Hashable, Sendable {
    /// Another relay's commit.
    case changed(BusPayload.Change)
    /// Notices were missed: the accounts must be looked up.
    case missed
    /// True if a missed notice is noticed from now on. Until the first event it is not.
    case reliability(Bool)
  }

  private struct Line: Sendable {
    /// Number of the last notice that was sent, as far as known.
    var last: UInt64
    var heardAt: Instant
  }

  /// Number that identifies this relay's notices.
  private let relay: UInt64
  private var lines: [UInt64: Line] = [:]
  /// Time of the last notice without a number, from a relay of an older version.
  private var unnumberedAt: Instant?
  private var isReliable = false

  package init(relay: UInt64) { self.relay = relay }

  package mutating func handle(_ event: BusEvent, at instant: Instant) -> [Event] {
    switch event {
    case .received(let payload): handle(payload, at: instant)
    case .lost: forget()
    // What was sent meanwhile, and by whom, is not known.
    case .back: forget() + [.missed]
    }
  }

  /// Handles the time that has passed.
  package mutating func advance(to instant: Instant) -> [Event] {
    let silent = lines.filter {
      instant.milliseconds(since: $0.value.heardAt) > Limits.silentLineMilliseconds
    }.keys.sorted()
    for relay in silent { lines[relay] = nil }
    return (silent.isEmpty ? [] : [.missed]) + judge(at: instant)
  }

  /// Time at which `advance` has an effect, if nothing is received until then.
  package var nextDeadline: Instant? {
    lines.min { $0.value.heardAt < $1.value.heardAt }?.value.heardAt
      .advanced(milliseconds: Limits.silentLineMilliseconds + 1)
  }

  private mutating func handle(_ payload: BusPayload, at instant: Instant) -> [Event] {
    var events: [Event] = []
    if payload.relay != relay { events = payload.changes.map { .changed($0) } }
    // Of a line that is new, all notices before this one were missed.
    let last = lines[payload.relay]?.last ?? 0
    switch payload.place {
    case .unknown:
      if payload.relay != relay { unnumberedAt = instant }
    case .notice(let number), .beat(let number):
      let isNotice = payload.place == .notice(number)
      if number > (isNotice ? last &+ 1 : last) { events.append(.missed) }
      note(payload.relay, upTo: max(number, last), at: instant)
    }
    return events + judge(at: instant)
  }

  private mutating func note(_ relay: UInt64, upTo number: UInt64, at instant: Instant) {
    if lines[relay] == nil, lines.count >= Limits.lines {
      // More relays than there can be: the longest silent one makes room.
      let oldest = lines.min { ($0.value.heardAt, $0.key) < ($1.value.heardAt, $1.key) }
      if let oldest { lines[oldest.key] = nil }
    }
    lines[relay] = Line(last: number, heardAt: instant)
  }

  /// Compares what is known with what was reported. This relay's own beats show that the bus
  /// delivers.
  private mutating func judge(at instant: Instant) -> [Event] {
    let isOfOlderVersion =
      unnumberedAt.map {
        instant.milliseconds(since: $0) < Limits.unnumberedMilliseconds
      } ?? false
    return setReliable(lines[relay] != nil && !isOfOlderVersion)
  }

  private mutating func forget() -> [Event] {
    lines = [:]
    return setReliable(false)
  }

  private mutating func setReliable(_ isReliable: Bool) -> [Event] {
    guard isReliable != self.isReliable else { return [] }
    self.isReliable = isReliable
    return [.reliability(isReliable)]
  }
}
