import Changes

/// Habits and their days: zone `Habits`, a record a habit, and one for each day of a habit on which
/// something was done.
package struct HabitsApp: App {
  package static let zone = Name(trusted: "Habits")
  package static let habitType = Name(trusted: "Habit")
  package static let checkInType = Name(trusted: "CheckIn")

  package init() {}

  package var name: String { "habits" }
  package var zone: Name { HabitsApp.zone }

  package func resolver(for type: Name) -> (any Resolver)? {
    switch type {
    case HabitsApp.habitType: HabitResolver()
    case HabitsApp.checkInType: CheckInResolver()
    default: nil
    }
  }
}
