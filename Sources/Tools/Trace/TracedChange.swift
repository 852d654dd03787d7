public import LockstepClient
public import LockstepModel

/// What was seen of one change on its way from device A to device B, both of this machine: by the
/// one clock that both go by.
public struct TracedChange: Sendable, Hashable {
  /// The change was asked for.
  public var acted: Instant
  /// Device A has it in a transaction.
  public var stored: Instant?
  /// The batch with it was handed to device A's connection.
  public var sent: Instant?
  public var isAnswered = false
  /// Of the relay; nil where it does not tell.
  public var passage: RelayPassage?
  /// The bytes with it came to device B.
  public var received: Instant?
  /// Device B has it in a transaction, and its app is told.
  public var applied: Instant?

  public init(acted: Instant) { self.acted = acted }

  /// nil while it is on its way.
  public var timeline: TraceTimeline? {
    guard let stored, let sent, let received, let applied, isAnswered else { return nil }
    var line = TraceTimeline(acted: acted)
    line.add(.stored, stored)
    line.add(.sent, sent)
    if let passage { line.add(passage, sent: sent, received: received) }
    line.add(.received, received)
    line.add(.applied, applied)
    return line
  }
}

/// A change's milestones in their order, each at or after the one before it.
public struct TraceTimeline: Sendable, Hashable {
  public enum Milestone: String, Sendable, CaseIterable {
    case acted
    case stored
    case sent
    case cameToRelay
    case committed
    case pushed
    case received
    case applied
  }

  /// Between a milestone and the one before it.
  public struct Step: Sendable, Hashable {
    public var milestone: Milestone
    /// Nanoseconds since the change was asked for.
    public var at: Int64
    /// Nanoseconds since the milestone before.
    public var duration: Int64
  }

  /// The first is `acted`.
  public private(set) var steps: [Step]
  /// By how much the relay's three milestones together may lie earlier or later, in nanoseconds;
  /// nil where there are none.
  public private(set) var uncertainty: Int64?
  private let acted: Instant

  fileprivate init(acted: Instant) {
    self.acted = acted
    steps = [Step(milestone: .acted, at: 0, duration: 0)]
  }

  /// Nanoseconds from the first milestone to the last.
  public var total: Int64 { steps.last?.at ?? 0 }

  /// The first of the longest steps.
  public var largest: Step? {
    steps.dropFirst().reduce(nil) { most, step in
      if let most, most.duration >= step.duration { return most }
      return step
    }
  }

  public var tellsRelay: Bool { uncertainty != nil }

  fileprivate mutating func add(_ milestone: Milestone, _ instant: Instant) {
    let before = total
    let at = max(before, instant.nanoseconds - acted.nanoseconds)
    steps.append(Step(milestone: milestone, at: at, duration: at - before))
  }

  /// How the relay's milestones lie to one another the relay knows; where all of them lie, the
  /// agent knows to a millisecond or more. Often surer is that none comes before what it follows
  /// from, so they are put into the middle of what both leave open.
  fileprivate mutating func add(_ passage: RelayPassage, sent: Instant, received: Instant) {
    let span = passage.pushed.nanoseconds - passage.received.nanoseconds
    let earliest = sent.nanoseconds
    // Another of the relay's loops may have told device B a little before.
    let latest = max(earliest, received.nanoseconds - span)
    var low = max(earliest, passage.received.nanoseconds - passage.errorNanoseconds)
    var high = min(latest, passage.received.nanoseconds + passage.errorNanoseconds)
    // A clock was set meanwhile: what it says is worth nothing.
    if low > high { (low, high) = (earliest, latest) }
    let first = low + (high - low) / 2
    let shift = first - passage.received.nanoseconds
    for (milestone, instant) in [
      (Milestone.cameToRelay, passage.received), (.committed, passage.durable),
      (.pushed, passage.pushed),
    ] {
      let placed = min(instant.nanoseconds + shift, received.nanoseconds)
      add(milestone, Instant(nanoseconds: placed))
    }
    uncertainty = high - first
  }
}
