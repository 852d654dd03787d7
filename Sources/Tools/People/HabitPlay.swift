import LockstepApps
import LockstepClient
import LockstepModel

/// Habits are created, renamed, removed and counted. At the end the counts of all devices must add
/// up. Conflicts without an automatic rule have been resolved by people.
struct HabitPlay: AppPlay {
  private struct Counted {
    /// Name of the day's record.
    var day: Name
    var amount: Int64
  }

  private var pending = PendingPresses<Counted>()
  private var totals: [(day: Name, total: Int64)] = []
  private var count = 0
  private static let days = ["2026-03-01", "2026-03-02"]

  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let habits = shown.records(of: HabitsApp.habitType)
    count += 1
    let draw = Int.random(in: 0..<20, using: &random)
    guard habits.count >= 2, draw > 0, let habit = habits.randomElement(using: &random) else {
      return perform(
        order,
        [
          "do": "add", "name": .string("habit \(count)"), "title": .string("habit \(count)"),
          "kind": "count", "target": 5,
        ])
    }
    let name = JSONValue.string(habit.name.text)
    switch draw {
    case 1: return perform(order, ["do": "remove", "habit": name])
    case 2...4:
      return perform(
        order, ["do": "edit", "habit": name, "title": .string("another title \(count)")])
    default:
      let date = HabitPlay.days[Int.random(in: 0..<HabitPlay.days.count, using: &random)]
      guard let day = HabitDay(date) else { return nil }
      let amount: Int64 = draw == 5 ? -1 : Int64.random(in: 1...3, using: &random)
      pending.add(
        order, Counted(day: HabitContents.name(of: habit.name, on: day), amount: amount))
      return perform(
        order,
        [
          "do": "count", "habit": name, "day": .string(date),
          "by": .number(JSONNumber(amount)),
        ])
    }
  }

  private func perform(_ order: OrderID, _ words: JSONValue) -> AgentOrder {
    .perform(order, app: HabitsApp().name, words)
  }

  mutating func done(_ order: OrderID) {
    guard let counted = pending.take(order) else { return }
    if let place = totals.firstIndex(where: { $0.day == counted.day }) {
      totals[place].total += counted.amount
    } else {
      totals.append((counted.day, counted.amount))
    }
  }

  mutating func dropped(_ order: OrderID) { _ = pending.take(order) }

  func faults(in shown: ShownRecords) -> [String] {
    totals.compactMap { day, total in
      let fields = shown[RecordKey(zone: HabitsApp.zone, name: day)]?.value
      let found = HabitPlay.sum(fields?["counts"]) - HabitPlay.sum(fields?["undone"])
      return found == total ? nil : "\(day.text) shows \(found) and should show \(total)"
    }
  }

  private static func sum(_ counts: JSONValue?) -> Int64 {
    (counts?.members ?? []).reduce(0) { $0 + ($1.value.int64 ?? 0) }
  }
}
