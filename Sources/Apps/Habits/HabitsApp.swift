import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Habits and their days: zone `Habits`, one record per habit, and one record per habit and day on
/// which something was done.
///
///     {"do": "add", "name", "title", "kind", "target"} ·
///     {"do": "edit", "habit", "title"?, "kind"?, "target"?} · {"do": "remove", "habit"} ·
///     {"do": "check", "habit", "day", "done"} · {"do": "count", "habit", "day", "by"} ·
///     {"do": "keep", "habit", "version": "local" or "cloud"}
///     {"show": "week", "day"} · {"show": "day", "day"} · {"show": "conflicts"}
package struct HabitsApp: App {
  package static let zone = Name(trusted: "Habits")
  package static let habitType = Name(trusted: "Habit")
  package static let checkInType = Name(trusted: "CheckIn")

  package init() {}

  package var name: String { "habits" }
  package var zone: Name { HabitsApp.zone }
  package var types: [Name] { [HabitsApp.checkInType, HabitsApp.habitType] }

  /// Only habits: a person is not asked about days without their habit.
  package var asksToRestore: [Name] { [HabitsApp.habitType] }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == HabitsApp.checkInType ? CheckInResolver() : rules(for: type).map { RuleResolver($0) }
  }

  /// A habit's text is a personal decision, so a conflict is never resolved automatically: the
  /// person chooses a version.
  package func rules(for type: Name) -> MergeRules? {
    type == HabitsApp.habitType ? MergeRules(asks: true) : nil
  }

  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    let week = HabitWeek(state)
    switch order["do"]?.string {
    case "add": return try HabitEdits.added(order)
    case "edit": return try HabitEdits.changed(try HabitsApp.habit(order, week.contents), order)
    case "remove": return HabitEdits.removed(try HabitsApp.habit(order, week.contents))
    case "check":
      let habit = try HabitsApp.habit(order, week.contents)
      return try HabitEdits.checked(habit, on: try HabitsApp.day(order), order)
    case "count":
      let habit = try HabitsApp.habit(order, week.contents)
      let day = try HabitsApp.day(order)
      return try HabitEdits.counted(
        habit, on: day, by: try order.wholeMember("by"),
        of: week.contents.day(day, of: habit.record.name))
    case "keep":
      let place = try week.conflictChoice.findEntry(try order.textMember("habit"))
      let version = try order.textMember("version")
      guard ["local", "cloud"].contains(version) else {
        throw EditRefusal("keep local or cloud, not \u{201C}\(RowText.line(version))\u{201D}")
      }
      let key = week.conflicts[place].key
      return AppOutcome(
        [.decide(key, keepLocal: version == "local")],
        view: AppView(
          json: ["name": .string(key.name.text), "kept": .string(version)],
          lines: ["kept the \(version) version; it goes to all devices"]))
    default: throw EditRefusal("habits do not know that order")
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let week = HabitWeek(state)
    switch question["show"]?.string {
    case "week": return week.week(until: try HabitsApp.day(question))
    case "day": return week.day(try HabitsApp.day(question))
    case "conflicts": return week.conflictView()
    default: throw EditRefusal("habits have no such view")
    }
  }

  private static func habit(
    _ order: JSONValue, _ contents: HabitContents
  ) throws(EditRefusal) -> HabitContents.Habit {
    contents.habits[try contents.choice.findEntry(try order.textMember("habit"))]
  }

  private static func day(_ order: JSONValue) throws(EditRefusal) -> HabitDay {
    let text = try order.textMember("day")
    guard let day = HabitDay(text) else {
      throw EditRefusal("\u{201C}\(RowText.line(text))\u{201D} is no day; write it as 2026-03-01")
    }
    return day
  }
}
