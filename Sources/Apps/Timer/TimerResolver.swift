import LockstepModel

/// Resolver for concurrent changes of the timer by two devices.
///
/// Merges the edits of both sides as a set and keeps all that are concurrent with one another, in
/// order of preference. If only the winner of each pair were kept, the result would depend on the
/// order in which the changes reach the relay.
///
/// An edit made by time counts as its person's act (see `TimerEdit`): it has the same identity and
/// the same age. Of two versions of one act, the one further along is kept.
///
/// An act that another one replaced (`TimerEdit.replacedActs`) is not concurrent with that.
package struct TimerResolver: Resolver {
  /// If an act is older than the newest by more than this many milliseconds, it is not concurrent:
  /// the newer one wins.
  package static let concurrencyMilliseconds: Int64 = 5_000

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let resolution = ChangeOutlivesDelete.resolution(of: conflict) { return resolution }
    let (newerVersion, olderVersion) = conflict.sides
    let base = TimerState(fields: conflict.base?.fields)
    let newer = TimerState(fields: newerVersion.fields)
    let older = TimerState(fields: olderVersion.fields)
    var kept = SetMerge.merge(
      base: base.edits, newer: newer.edits, older: older.edits, identity: \.identity)
    if kept.isEmpty {
      kept = SetMerge.union(newer: newer.edits, older: older.edits, identity: \.identity)
    }
    let furthest = Dictionary(
      (newer.edits + older.edits).map { ($0.identity, $0) }, uniquingKeysWith: TimerEdit.further)
    let replaced = Set(kept.flatMap(\.replacedActs))
    kept = kept.filter { !replaced.contains($0.actName) }.map { furthest[$0.identity] ?? $0 }
    // Fields without a rule come from the newer version.
    var merged = newer
    merged.edits = TimerResolver.candidates(among: kept)
    merged.completedPomodoros = max(newer.completedPomodoros, older.completedPomodoros)
    return .merged(fields: merged.fields, copies: [])
  }

  /// Returns the edits whose acts are concurrent with the newest act, the one to show first.
  package static func candidates(among edits: [TimerEdit]) -> [TimerEdit] {
    guard let newest = edits.map(\.actTimestamp).max() else { return [] }
    let kept = edits.filter { newest - $0.actTimestamp <= concurrencyMilliseconds }
    guard let instant = kept.map(\.timestamp).max() else { return [] }
    return kept.map { Candidate(edit: $0, asOf: instant) }
      .sorted { $0.precedes($1) }
      .map(\.edit)
  }
}

/// An edit and its sort keys: the state's priority, then the least time left, then the newest act,
/// then the greatest deviceID.
private struct Candidate {
  let edit: TimerEdit
  let rank: Int
  let timeLeft: Int64
  let actTimestamp: Int64

  init(edit: TimerEdit, asOf instant: Int64) {
    self.edit = edit
    rank = Candidate.rank(of: edit.phase)
    timeLeft = edit.remaining(at: instant)
    actTimestamp = edit.actTimestamp
  }

  /// A state from a later version comes last: this version cannot show it.
  private static func rank(of phase: TimerPhase?) -> Int {
    switch phase {
    case .focus: 0
    case .breakTime: 1
    case .snooze: 2
    case .idle: 3
    case nil: 4
    }
  }

  func precedes(_ other: Candidate) -> Bool {
    if rank != other.rank { return rank < other.rank }
    if timeLeft != other.timeLeft { return timeLeft < other.timeLeft }
    if actTimestamp != other.actTimestamp { return actTimestamp > other.actTimestamp }
    if other.edit.deviceID.utf8.lexicographicallyPrecedes(edit.deviceID.utf8) { return true }
    if edit.deviceID.utf8.lexicographicallyPrecedes(other.edit.deviceID.utf8) { return false }
    // No correct device makes two edits at one instant. The order is still the same on every
    // device.
    return other.edit.object.serialized().lexicographicallyPrecedes(edit.object.serialized())
  }
}
