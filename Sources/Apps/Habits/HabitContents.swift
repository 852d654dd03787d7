import LockstepJSON
import LockstepModel

/// Habits and their days, as stored on one device.
package struct HabitContents: Sendable {
  package struct Habit: Hashable, Sendable {
    package let record: Record
    package let title: String
    package let kind: HabitKind
    /// Goal: number of times per day; at least 1.
    package let target: Int64
    /// Archived habits are kept with their days, and are out of a person's way.
    package let isArchived: Bool
    /// Place in the order that a person has made; nil if the habit was never moved.
    let place: Int64?

    package init(_ record: Record, in list: HabitList = HabitList(nil)) {
      let value = record.value
      self.record = record
      title = value?["title"]?.string ?? ""
      kind = value?["kind"]?.string.flatMap(HabitKind.init(rawValue:)) ?? .checkbox
      target = max(1, value?["target"]?.wholeNumber ?? 1)
      isArchived = list.isArchived(record.name)
      place = list.place(of: record.name)
    }
  }

  /// State of one day of a habit.
  package struct Day: Hashable, Sendable {
    package var isDone = false
    /// Sum over all devices, never below 0.
    package var total: Int64 = 0
  }

  /// First the habits in use, then the archived ones; each by place, then by title, then by name.
  package let habits: [Habit]
  private let days: [Name: Day]

  package init(_ records: [Record]) {
    let list = HabitList(
      records.first {
        $0.type == HabitsApp.listType && $0.name == HabitList.name && !$0.isDeleted
      }?.value)
    habits = records.filter { $0.type == HabitsApp.habitType && !$0.isDeleted }
      .map { Habit($0, in: list) }.sorted(by: HabitContents.precedes)
    let checkIns = records.filter { $0.type == HabitsApp.checkInType && !$0.isDeleted }
    days = Dictionary(checkIns.map { ($0.name, HabitContents.day(of: $0.value)) }) { first, _ in
      first
    }
  }

  private static func precedes(_ left: Habit, _ right: Habit) -> Bool {
    if left.isArchived != right.isArchived { return right.isArchived }
    // A habit that was never moved comes after all others.
    let (place, other) = (left.place ?? .max, right.place ?? .max)
    if place != other { return place < other }
    return left.title.utf8.elementsEqual(right.title.utf8)
      ? left.record.name < right.record.name
      : left.title.utf8.lexicographicallyPrecedes(right.title.utf8)
  }

  package static func day(of value: JSONValue?) -> Day {
    func sum(_ name: String) -> Int64 {
      (value?[name]?.members ?? []).reduce(0) { total, member in
        // Bounded, so that data from another program cannot overflow the sum.
        min(max(total + (member.value.wholeNumber ?? 0), 0), 1 << 60)
      }
    }
    return Day(isDone: value?["done"]?.bool ?? false, total: max(0, sum("counts") - sum("undone")))
  }

  package func day(_ day: HabitDay, of habit: Name) -> Day {
    days[HabitContents.name(of: habit, on: day)] ?? Day()
  }

  /// A day on which something was done.
  package struct DoneDay: Hashable, Sendable {
    package let day: HabitDay
    /// True if the goal was reached.
    package let isReached: Bool

    package init(_ day: HabitDay, isReached: Bool) {
      self.day = day
      self.isReached = isReached
    }
  }

  /// Returns the days of a habit on which something was done, in order.
  package func doneDays(of habit: Habit) -> [DoneDay] {
    let names = days.filter { $0.value.isDone || $0.value.total > 0 }.map(\.key).sorted()
    let found = names.compactMap { name -> DoneDay? in
      // A name may be cut before its day, but not in it.
      guard let day = HabitDay(String(name.text.suffix(HabitDay.textCount))),
        HabitContents.name(of: habit.record.name, on: day) == name
      else { return nil }
      return DoneDay(day, isReached: isReached(habit, on: day))
    }
    return found.sorted { $0.day < $1.day }
  }

  /// True if the goal of the day is reached.
  package func isReached(_ habit: Habit, on day: HabitDay) -> Bool {
    let state = self.day(day, of: habit.record.name)
    return switch habit.kind {
    case .checkbox: state.isDone
    case .count: state.total >= habit.target
    }
  }

  package var choice: Choice {
    Choice("habit", habits.map { Choice.Entry(name: $0.record.name.text, title: $0.title) })
  }

  /// Returns the habit that a person selects by these words.
  func habit(_ word: String) throws(EditRefusal) -> Habit {
    habits[try choice.findEntry(word)]
  }

  /// Returns the name of the record for one day of a habit.
  package static func name(of habit: Name, on day: HabitDay) -> Name {
    Name(trusted: CopyName.text(habit.text, "/" + day.text))
  }
}

package enum HabitKind: String, CaseIterable, Sendable {
  /// Done or not done.
  case checkbox
  /// Counted: done a number of times.
  case count
}

/// Calendar day, `2026-03-01`. The day depends on the person's time zone, so the caller passes it.
package struct HabitDay: Hashable, Comparable, Sendable {
  /// Days since 1970-01-01.
  package let number: Int64

  /// Number of characters of its text.
  static let textCount = 10

  package init(number: Int64) { self.number = number }

  /// Returns nil if the text is not a calendar date.
  package init?(_ text: String) {
    guard let number = UniversalTime.day(of: text) else { return nil }
    self.number = number
  }

  package var text: String { UniversalTime(number * 86_400_000).date }

  /// 0 for Monday to 6 for Sunday: 1970-01-01 was a Thursday.
  package var weekday: Int { Int(((number + 3) % 7 + 7) % 7) }

  package func advanced(by days: Int64) -> HabitDay { HabitDay(number: number + days) }

  package static func < (left: HabitDay, right: HabitDay) -> Bool { left.number < right.number }
}

/// Resolver for one day of a habit. Each device counts only what was done and undone on itself, so
/// nothing is counted twice and nothing is lost, whatever the merge order.
package struct CheckInResolver: Resolver {
  /// True, because the latest "done" or "not done" wins, also if it repeats an earlier value.
  package let isLastWriterWins = true

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    if let resolution = ChangeOutlivesDelete.resolution(of: conflict) { return resolution }
    let (newer, older) = conflict.sides
    var fields = newer.fields ?? [:]
    for name in ["counts", "undone"] {
      guard let counts = Greater.numbers(newer.fields?[name], older.fields?[name]) else { continue }
      fields = fields.setting(name, to: counts)
    }
    return .merged(fields: fields, copies: [])
  }
}
