import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Habits and their days: zone `Habits`, one record per habit, one record per habit and day on
/// which something was done, and one record with their order.
package struct HabitsApp: App {
  package static let zone = Name(trusted: "Habits")
  package static let habitType = Name(trusted: "Habit")
  package static let checkInType = Name(trusted: "CheckIn")
  package static let listType = Name(trusted: "HabitList")

  package init() {}

  package var name: String { "habits" }
  package var zone: Name { HabitsApp.zone }
  package var types: [Name] { [HabitsApp.checkInType, HabitsApp.habitType, HabitsApp.listType] }

  /// Only habits: a person is not asked about days without their habit.
  package var asksToRestore: [Name] { [HabitsApp.habitType] }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == HabitsApp.checkInType ? CheckInResolver() : rules(for: type).map { RuleResolver($0) }
  }

  /// A habit's text is a personal decision, so a conflict is never resolved automatically: the
  /// person chooses a version.
  package func rules(for type: Name) -> MergeRules? {
    switch type {
    case HabitsApp.habitType: MergeRules(asks: true)
    case HabitsApp.listType: HabitList.rules
    default: nil
    }
  }

  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    let week = HabitWeek(state)
    switch try HabitAction(json: order) {
    case .add(let name, let title, let kind, let target):
      return try HabitEdits.added(name, title, kind, target)
    case .edit(let habit, let title, let kind, let target):
      return try HabitEdits.changed(try week.contents.habit(habit), title, kind, target)
    case .remove(let habit): return HabitEdits.removed(try week.contents.habit(habit))
    case .archive(let habit, let isArchived):
      return HabitEdits.archived(try week.contents.habit(habit), isArchived)
    case .move(let habit, let place):
      return try HabitEdits.moved(try week.contents.habit(habit), to: place, in: week.contents)
    case .check(let habit, let day, let isDone):
      let habit = try week.contents.habit(habit)
      return try HabitEdits.checked(habit, on: try HabitsApp.day(day), isDone)
    case .count(let habit, let day, let amount):
      let (habit, day) = (try week.contents.habit(habit), try HabitsApp.day(day))
      return try HabitEdits.counted(
        habit, on: day, by: amount, of: week.contents.day(day, of: habit.record.name))
    case .keep(let habit, let version):
      let place = try week.conflictChoice.findEntry(habit)
      guard ["local", "cloud"].contains(version) else {
        throw EditRefusal(
          localized(
            "keep local or cloud, not \u{201C}{version}\u{201D}",
            ["version": RowText.line(version)]))
      }
      let key = week.conflicts[place].key
      return AppOutcome(
        [.decide(key, keepLocal: version == "local")],
        view: AppView(
          json: ["name": .string(key.name.text), "kept": .string(version)],
          lines: [
            version == "local"
              ? localized("kept the local version; it goes to all devices")
              : localized("kept the cloud version; it goes to all devices")
          ]))
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let week = HabitWeek(state)
    switch try HabitQuestion(json: question) {
    case .week(let day, let isArchived):
      return week.week(until: try HabitsApp.day(day), isArchived: isArchived)
    case .day(let day): return week.day(try HabitsApp.day(day))
    case .conflicts: return week.conflictView()
    case .statistics(let day): return week.statistics(until: try HabitsApp.day(day))
    }
  }

  private static func day(_ text: String) throws(EditRefusal) -> HabitDay {
    guard let day = HabitDay(text) else {
      throw EditRefusal(
        localized(
          "\u{201C}{day}\u{201D} is no day; write it as 2026-03-01",
          ["day": RowText.line(text)]))
    }
    return day
  }
}
