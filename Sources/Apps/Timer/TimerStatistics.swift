import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Figures of the timer: the running total of its record, and completed focuses by day, week, month
/// or year, from the records of the days.
package struct TimerStatistics: Hashable, Sendable {
  /// A day, week, month or year of the person's calendar.
  package struct Period: Hashable, Sendable {
    /// `2026-03-01`, `2026-W09`, `2026-03` or `2026`.
    package var name: String
    /// Its first instant, milliseconds. It ends where the next period begins.
    package var from: Int64
    /// Its days as a person reads them, if its name does not say them: `03-02 to 03-08`.
    package var dates: String?

    package init(name: String, from: Int64, dates: String? = nil) {
      self.name = name
      self.from = from
      self.dates = dates
    }

    fileprivate var title: String {
      dates.map { localized("{name}, {dates}", ["name": name, "dates": $0]) } ?? name
    }
  }

  package struct Sum: Hashable, Sendable {
    package var pomodoros: Int64 = 0
    package var milliseconds: Int64 = 0
  }

  /// Completed focuses of the account, on all devices. Of two focuses that devices without a
  /// connection completed at once, the total may count one; the figures of the days have both.
  package let completedPomodoros: Int64
  /// 0: there is no long break.
  package let longBreakEvery: Int64
  /// Relay time at which the last focus was completed; nil if none is known.
  package let lastFocusEndedAt: Int64?
  /// One per period, in the order of `periods`.
  package let sums: [Sum]
  package let periods: [Period]
  /// Number of focuses in the records of the days. Those of earlier versions are missing there.
  package let counted: Int64

  /// `instant`: relay time, in milliseconds. `periods`: one after the other without gaps; the last
  /// one ends at `instant`.
  package init(
    _ state: TimerState, days: [Record] = [], settings: TimerSettings, periods: [Period] = [],
    at instant: Int64
  ) {
    let focuses = FocusDay.focuses(in: days, state, until: instant)
    var state = state
    state.advance(to: instant)
    completedPomodoros = max(0, state.completedPomodoros)
    longBreakEvery = settings.longBreakEvery
    lastFocusEndedAt = [focuses.last?.endedAt, Self.focusEnd(of: state)].compactMap { $0 }.max()
    counted = Int64(focuses.count)
    self.periods = periods
    var sums = [Sum](repeating: Sum(), count: periods.count)
    var place = 0
    for focus in focuses where focus.endedAt >= periods.first?.from ?? .max {
      while place + 1 < periods.count, periods[place + 1].from <= focus.endedAt { place += 1 }
      sums[place].pomodoros += 1
      sums[place].milliseconds += focus.length
    }
    self.sums = sums
  }

  /// Returns the end of the focus that led to the shown phase; nil if a person has used the timer
  /// since.
  private static func focusEnd(of state: TimerState) -> Int64? {
    guard let shown = state.shown, shown.isMadeByTime,
      let act = TimerEdit(object: shown.act), act.phase == .focus
    else { return nil }
    return act.timestamp + act.remaining
  }

  /// Number of pomodoros since the last long break; 0 without long breaks.
  package var inCycle: Int64 { longBreakEvery > 0 ? completedPomodoros % longBreakEvery : 0 }

  /// `now`: relay time, in milliseconds.
  package func view(at now: Int64) -> AppView {
    var lines = [
      localized(
        count: completedPomodoros, one: "{count} pomodoro done in all, on all devices together",
        many: "{count} pomodoros done in all, on all devices together")
    ]
    if longBreakEvery > 0 {
      lines.append(
        localized(
          "{done} of {every} until the long break",
          ["done": String(inCycle), "every": String(longBreakEvery)]))
    }
    if let lastFocusEndedAt {
      lines.append(
        localized(
          "the last focus ended {when}", ["when": RowText.ago(lastFocusEndedAt, at: now)]))
    }
    if !periods.isEmpty { lines += [""] + rows }
    if !periods.isEmpty, counted < completedPomodoros {
      lines.append(
        localized(
          count: completedPomodoros - counted,
          one: "{count} of them has no day: an earlier version",
          many: "{count} of them have no day: an earlier version"))
    }
    return AppView(json: json, lines: lines)
  }

  private var json: JSONValue {
    func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    let periods = zip(periods, sums).map { period, sum -> JSONValue in
      [
        "name": .string(period.name), "from": number(period.from),
        "pomodoros": number(sum.pomodoros), "milliseconds": number(sum.milliseconds),
      ]
    }
    return [
      "completedPomodoros": number(completedPomodoros),
      "longBreakEvery": number(longBreakEvery), "sinceLongBreak": number(inCycle),
      "lastFocusEndedAt": lastFocusEndedAt.map(number) ?? .null,
      "withDay": number(counted), "periods": .array(periods),
    ]
  }

  /// One row per period: its name, number, time and a bar.
  private var rows: [String] {
    let most = max(1, sums.map(\.pomodoros).max() ?? 1)
    let times = sums.map { Self.time($0.milliseconds) }
    let timeColumns = max(13, 1 + (times.map { RowText.width(of: $0) }.max() ?? 0))
    // With number, time and bar a row then has at most 80 columns.
    let widest = 80 - 5 - timeColumns - 2 - Int(Self.barCells)
    let titles = periods.map { RowText.cut(RowText.line($0.title), to: widest) }
    let columns = max(12, titles.map { RowText.width(of: $0) }.max() ?? 0)
    return zip(zip(titles, times), sums).map { words, sum in
      let length = Int(min(sum.pomodoros * Self.barCells / most, Self.barCells))
      let bar = String(repeating: "█", count: sum.pomodoros == 0 ? 0 : max(1, length))
      let row =
        RowText.left(words.0, columns) + RowText.right("\(sum.pomodoros)", 5)
        + RowText.right(words.1, timeColumns)
      return bar.isEmpty ? row : row + "  " + bar
    }
  }

  private static let barCells: Int64 = 24

  /// Returns hours and minutes, such as `1 h 40 min`.
  private static func time(_ milliseconds: Int64) -> String {
    let minutes = (milliseconds + 30_000) / 60_000
    if milliseconds == 0 { return "–" }
    return minutes < 60
      ? localized("{count} min", ["count": String(minutes)])
      : localized(
        "{hours} h {minutes} min",
        ["hours": String(minutes / 60), "minutes": String(minutes % 60)])
  }
}
