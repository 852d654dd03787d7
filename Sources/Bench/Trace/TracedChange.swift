import LockstepClient
import LockstepModel

/// Observed times of one change from device A to device B. Both run on this machine and use one
/// clock.
package struct TracedChange: Sendable, Hashable {
  /// The change was requested.
  package var acted: Instant
  /// Device A has stored it in a transaction.
  package var stored: Instant?
  /// The batch with the change was handed to device A's connection.
  package var sent: Instant?
  package var isAnswered = false
  /// Times at the relay; nil if the relay does not report them.
  package var relayTimes: RelayTimes?
  /// The bytes with the change arrived at device B.
  package var received: Instant?
  /// Device B has stored it in a transaction, and its app was notified.
  package var applied: Instant?

  package init(acted: Instant) { self.acted = acted }

  /// nil until the change has arrived.
  package var timeline: TraceTimeline? {
    guard let stored, let sent, let received, let applied, isAnswered else { return nil }
    var line = TraceTimeline(acted: acted)
    line.add(.stored, stored)
    line.add(.sent, sent)
    if let relayTimes { line.add(relayTimes, sent: sent, received: received) }
    line.add(.received, received)
    line.add(.applied, applied)
    return line
  }
}

/// Milestones of a change in their order, each at or after the previous one.
package struct TraceTimeline: Sendable, Hashable {
  package enum Milestone: String, Sendable, CaseIterable {
    case acted
    case stored
    case sent
    case cameToRelay
    case committed
    case pushed
    case received
    case applied
  }

  /// Time between a milestone and the previous one.
  package struct Step: Sendable, Hashable {
    package var milestone: Milestone
    /// Nanoseconds since the change was requested.
    package var at: Int64
    /// Nanoseconds since the previous milestone.
    package var duration: Int64
  }

  /// Steps; the first is `acted`.
  package private(set) var steps: [Step]
  /// Uncertainty of the relay's three milestones, in nanoseconds: all may be earlier or later by
  /// this; nil if there are none.
  package private(set) var uncertainty: Int64?
  private let acted: Instant

  fileprivate init(acted: Instant) {
    self.acted = acted
    steps = [Step(milestone: .acted, at: 0, duration: 0)]
  }

  /// Nanoseconds from the first milestone to the last.
  package var total: Int64 { steps.last?.at ?? 0 }

  /// First of the longest steps.
  package var largest: Step? {
    steps.dropFirst().reduce(nil) { most, step in
      if let most, most.duration >= step.duration { return most }
      return step
    }
  }

  package var hasRelayTimes: Bool { uncertainty != nil }

  fileprivate mutating func add(_ milestone: Milestone, _ instant: Instant) {
    let before = total
    let at = max(before, instant.nanoseconds - acted.nanoseconds)
    steps.append(Step(milestone: milestone, at: at, duration: at - before))
  }

  /// Adds the relay's milestones. The relay measures the distances between them exactly; the agent
  /// can place them on its clock only to a millisecond or more. The order of events often gives a
  /// closer bound, so they are placed in the middle of the range that both bounds allow.
  fileprivate mutating func add(_ relayTimes: RelayTimes, sent: Instant, received: Instant) {
    let span = relayTimes.pushed.nanoseconds - relayTimes.received.nanoseconds
    let earliest = sent.nanoseconds
    // Another event loop of the relay may have notified device B slightly earlier.
    let latest = max(earliest, received.nanoseconds - span)
    var low = max(earliest, relayTimes.received.nanoseconds - relayTimes.errorNanoseconds)
    var high = min(latest, relayTimes.received.nanoseconds + relayTimes.errorNanoseconds)
    // A clock was set during the change: its times are ignored.
    if low > high { (low, high) = (earliest, latest) }
    let first = low + (high - low) / 2
    let shift = first - relayTimes.received.nanoseconds
    for (milestone, instant) in [
      (Milestone.cameToRelay, relayTimes.received), (.committed, relayTimes.durable),
      (.pushed, relayTimes.pushed),
    ] {
      let placed = min(instant.nanoseconds + shift, received.nanoseconds)
      add(milestone, Instant(nanoseconds: placed))
    }
    uncertainty = high - first
  }
}
