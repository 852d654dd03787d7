import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Figures of the timer, as far as its record has them: one record with a running total, and with
/// the last edit alone. It has no history, so there are no figures by day or week, and no minutes.
package struct TimerStatistics: Hashable, Sendable {
  /// Completed focuses of the account, on all devices. Of two focuses that devices without a
  /// connection completed at once, the total may count one.
  package let completedPomodoros: Int64
  /// 0: there is no long break.
  package let longBreakEvery: Int64
  /// Relay time at which the last focus was completed; nil if a person has used the timer since.
  package let lastFocusEndedAt: Int64?

  /// `instant`: relay time, in milliseconds.
  package init(_ state: TimerState, settings: TimerSettings, at instant: Int64) {
    var state = state
    state.advance(to: instant)
    completedPomodoros = max(0, state.completedPomodoros)
    longBreakEvery = settings.longBreakEvery
    guard let shown = state.shown, shown.isMadeByTime,
      let act = TimerEdit(object: shown.act), act.phase == .focus
    else {
      lastFocusEndedAt = nil
      return
    }
    lastFocusEndedAt = act.timestamp + act.remaining
  }

  /// Number of pomodoros since the last long break; 0 without long breaks.
  package var inCycle: Int64 { longBreakEvery > 0 ? completedPomodoros % longBreakEvery : 0 }

  /// `now`: relay time, in milliseconds.
  func view(at now: Int64) -> AppView {
    let noun = completedPomodoros == 1 ? "pomodoro" : "pomodoros"
    var lines = ["\(completedPomodoros) \(noun) done in all, on all devices together"]
    if longBreakEvery > 0 { lines.append("\(inCycle) of \(longBreakEvery) until the long break") }
    if let lastFocusEndedAt {
      let age = RowText.age(of: lastFocusEndedAt, at: now)
      lines.append("the last focus ended " + (age == "now" ? "just now" : age + " ago"))
    }
    lines.append("The timer keeps no history: there are no figures by day or week.")
    func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    return AppView(
      json: [
        "completedPomodoros": number(completedPomodoros),
        "longBreakEvery": number(longBreakEvery), "sinceLongBreak": number(inCycle),
        "lastFocusEndedAt": lastFocusEndedAt.map(number) ?? .null, "hasHistory": false,
      ],
      lines: lines)
  }
}
