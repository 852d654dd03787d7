import LockstepJSON
import LockstepModel

/// Completed focuses of one day: the record `focuses-2026-03-01` of the type `FocusDay`, with the
/// day in UTC on which they ended:
///
///     {"focuses": {"<end>-<device>": <length>}}
///
/// `end` is the relay time at which the countdown reached zero, and `device` the device of the edit
/// that ran out. Both follow from the timer's record, and so does the length: every device that
/// notices the end writes the same member, so no focus is counted twice. The members of concurrent
/// versions are united (`greatestEach`). All times are milliseconds.
package enum FocusDay {
  /// One completed focus.
  package struct Focus: Hashable, Sendable {
    package var endedAt: Int64
    package var length: Int64
  }

  package static let type = Name(trusted: "FocusDay")
  static let rules: MergeRules = ["focuses": .greatestEach]

  private static let field = "focuses"
  private static let prefix = "focuses-"
  private static let deviceBytes = 64

  /// Returns the focuses of all days, in the order of their ends, with those whose end no device
  /// has written yet. Members that no focus can have are left out.
  ///
  /// - Parameter state: The timer's record.
  /// - Parameter instant: Relay time; later ends do not count.
  package static func focuses(
    in records: [Record], _ state: TimerState, until instant: Int64
  ) -> [Focus] {
    var known: [String: Focus] = [:]
    for record in records where record.type == type && !record.isDeleted {
      for member in record.value?[field]?.members ?? [] {
        if let focus = focus(member) { known[member.name] = focus }
      }
    }
    var state = state
    while let zeroAt = state.zeroAt, zeroAt <= instant, let next = state.afterZero() {
      if let member = addition(of: state)?.member, known[member.name] == nil {
        known[member.name] = focus(member)
      }
      state = next
    }
    return known.values.filter { $0.endedAt <= instant }
      .sorted { ($0.endedAt, $0.length) < ($1.endedAt, $1.length) }
  }

  private static func focus(_ member: JSONMember) -> Focus? {
    guard let dash = member.name.firstIndex(of: "-"),
      let endedAt = Int64(member.name[..<dash]), endedAt >= 0,
      let length = member.value.wholeNumber, length > 0, length <= Limits.timerMilliseconds
    else { return nil }
    return Focus(endedAt: endedAt, length: length)
  }

  /// Returns what the end of the shown countdown adds to the record of its day; nil if it is not a
  /// focus of a known length.
  static func addition(of state: TimerState) -> DueAddition? {
    guard let shown = state.shown, shown.phase == .focus, let endedAt = shown.zeroAt,
      shown.deviceID.utf8.count <= deviceBytes
    else { return nil }
    let length = shown.duration ?? shown.act["remaining"]?.wholeNumber ?? 0
    let day = UniversalTime(endedAt).date
    guard length > 0, length <= Limits.timerMilliseconds, let name = Name(prefix + day) else {
      return nil
    }
    return DueAddition(
      name: name, type: type, field: field,
      member: JSONMember("\(endedAt)-\(shown.deviceID)", .number(JSONNumber(length))))
  }
}
