import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Figures of a habit's days until today: streaks, and the rate over the last thirty days.
package struct HabitStatistics: Hashable, Sendable {
  /// Days in a row on which the goal was reached, until today; a day that has just begun does not
  /// end it.
  package let streak: Int
  package let longestStreak: Int
  /// First day of the longest streak; the newest one of several. Nil if no day was reached.
  package let longestSince: HabitDay?
  /// Days reached of the last thirty, or of all days since the first one on which something was
  /// done, if they are fewer.
  package let reached: Int
  package let days: Int
  /// Number of days reached at all.
  package let reachedInAll: Int

  package static let windowDays: Int64 = 30

  /// `days`: days on which something was done, in order, each once. Later days than today do not
  /// count.
  package init(_ days: [HabitContents.DoneDay], today: HabitDay) {
    let past = days.filter { $0.day <= today }
    let reached = past.filter(\.isReached).map(\.day)
    var longest: (length: Int, since: HabitDay)?
    var run: (length: Int, since: HabitDay, last: HabitDay)?
    for day in reached {
      if let before = run, before.last.advanced(by: 1) == day {
        run = (before.length + 1, before.since, day)
      } else {
        run = (1, day, day)
      }
      if let run, run.length >= longest?.length ?? 1 { longest = (run.length, run.since) }
    }
    let isCurrent = run.map { $0.last >= today.advanced(by: -1) } ?? false
    streak = isCurrent ? run?.length ?? 0 : 0
    longestStreak = longest?.length ?? 0
    longestSince = longest?.since
    let oldest = today.advanced(by: 1 - Self.windowDays)
    let first = max(past.first?.day ?? today, oldest)
    self.days = past.isEmpty ? 0 : Int(today.number - first.number + 1)
    self.reached = reached.count { $0 >= oldest }
    reachedInAll = reached.count
  }

  /// Whole per cent; nil if nothing was done yet.
  package var rate: Int? { days == 0 ? nil : reached * 100 / days }
}

extension HabitWeek {
  /// Returns the figures of all habits until `today`.
  package func statistics(until today: HabitDay) -> AppView {
    let habits = inUse
    guard !habits.isEmpty else { return AppView(json: ["habits": []], lines: [emptyText]) }
    // As wide as the longest title, if a row then fits into 80 columns.
    let widest = habits.map { RowText.width(of: RowText.line($0.habit.title)) }.max() ?? 0
    let columns = min(max(24, widest), 39)
    let header =
      RowText.left("", columns + 5) + RowText.right(localized("streak"), 8)
      + RowText.right(localized("longest"), 9) + RowText.right(localized("30 days"), 9)
      + RowText.right(localized("all days"), 10)
    var json: [JSONValue] = []
    var rows = [header]
    for (place, habit) in habits {
      let figures = HabitStatistics(contents.doneDays(of: habit), today: today)
      json.append(head(habit, place).setting(Self.members(of: figures)))
      let rate =
        figures.rate.map { localized("{percent} %", ["percent": String($0)]) } ?? "–"
      rows.append(
        title(habit, place, columns: columns) + RowText.right("\(figures.streak)", 8)
          + RowText.right("\(figures.longestStreak)", 9) + RowText.right(rate, 9)
          + RowText.right("\(figures.reachedInAll)", 10))
    }
    return AppView(
      json: ["day": .string(today.text), "habits": .array(json)], lines: rows)
  }

  private static func members(of figures: HabitStatistics) -> [JSONMember] {
    func number(_ name: String, _ value: Int?) -> JSONMember {
      JSONMember(name, value.map { .number(JSONNumber(Int64($0))) } ?? .null)
    }
    return [
      number("streak", figures.streak), number("longestStreak", figures.longestStreak),
      JSONMember("longestSince", figures.longestSince.map { .string($0.text) } ?? .null),
      number("reached", figures.reached), number("days", figures.days),
      number("ratePercent", figures.rate), number("reachedInAll", figures.reachedInAll),
    ]
  }
}
