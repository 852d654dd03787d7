import LockstepApps
import LockstepModel

/// Recent events, one line each, derived from two successive boards or sync states of the home.
enum TimerNews {
  /// Returns nil if nothing has changed but the time.
  static func line(from old: TimerContents, to new: TimerContents) -> String? {
    guard new.editedAt != old.editedAt || new.screen.face != old.screen.face else { return nil }
    let (was, now) = (old.screen, new.screen)
    // An edit at zero has the time at which the countdown ran out.
    let isZero = was.zeroAt != nil && was.zeroAt == new.editedAt
    let who = RowText.line(new.deviceName)
    // Except for a break that is put off once more.
    if was.stateType == now.stateType, was.isPaused == now.isPaused,
      now.stateType != TimerPhase.snooze.rawValue
    {
      // No key leads here: of two concurrent edits, another one has prevailed now.
      let stands = "what \(who) did at the same time stands"
      return was.device == now.device || now.device.isEmpty ? nil : stands
    }
    let length = new.duration.map { " of " + minutes($0) } ?? ""
    switch TimerPhase(rawValue: now.stateType) {
    case .focus where was.stateType == now.stateType: return continued(who, new)
    case .focus: return "\(who) started a focus\(length)"
    case .breakTime where was.stateType == now.stateType: return continued(who, new)
    case .breakTime where isZero && was.stateType == TimerPhase.focus.rawValue:
      return "focus done, the \(ordinal(now.completedPomodoros)); a break\(length) follows"
    case .breakTime where isZero: return "the break that was put off begins"
    case .breakTime: return "\(who) went on to a break\(length)"
    case .snooze where was.isPaused != now.isPaused: return continued(who, new)
    case .snooze: return "\(who) put the break off for " + (new.duration.map(minutes) ?? "a while")
    case .idle where isZero: return "the break is over"
    case .idle where was.stateType == TimerPhase.breakTime.rawValue: return "\(who) ended the break"
    case .idle: return "\(who) stopped the timer"
    case nil: return "\(who) did what this version does not know: \(RowText.line(now.stateType))"
    }
  }

  private static func continued(_ who: String, _ board: TimerContents) -> String {
    let left = TimerScreen.clock(board.screen.remaining)
    return board.screen.isPaused ? "\(who) paused, \(left) left" : "\(who) goes on, \(left) left"
  }

  /// Returns nil if there is nothing of interest to a person.
  static func line(from old: HomeStatus?, to new: HomeStatus) -> String? {
    guard let old else { return nil }
    if new.conflicts > old.conflicts {
      let count = new.conflicts - old.conflicts
      return count == 1 ? "a conflict was settled" : "\(count) conflicts were settled"
    }
    if let reason = new.trouble, old.trouble == nil { return "offline: \(RowText.line(reason))" }
    if old.trouble != nil, let transport = new.transport { return "connected by \(transport)" }
    return nil
  }

  /// Returns a text as short as possible, such as `25 min`, `90 s` or `02:30`.
  static func minutes(_ milliseconds: Int64) -> String {
    if milliseconds % 60_000 == 0 { return "\(milliseconds / 60_000) min" }
    if milliseconds < 120_000 { return "\((max(0, milliseconds) + 999) / 1_000) s" }
    return TimerScreen.clock(milliseconds)
  }

  private static func ordinal(_ number: Int64) -> String {
    switch (number % 10, number % 100) {
    case (_, 11...13): "\(number)th"
    case (1, _): "\(number)st"
    case (2, _): "\(number)nd"
    case (3, _): "\(number)rd"
    default: "\(number)th"
    }
  }
}
