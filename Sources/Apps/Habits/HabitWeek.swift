import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Views of habits: a week per habit, a single day, and conflicts side by side.
package struct HabitWeek {
  package let contents: HabitContents
  package let state: AppState

  package init(_ state: AppState) {
    contents = HabitContents(state.records)
    self.state = state
  }

  /// Habits with their indexes in the list, by which a person names them.
  var inUse: [(place: Int, habit: HabitContents.Habit)] {
    contents.habits.enumerated().map { ($0.offset, $0.element) }.filter { !$0.1.isArchived }
  }

  private var archived: [(place: Int, habit: HabitContents.Habit)] {
    contents.habits.enumerated().map { ($0.offset, $0.element) }.filter { $0.1.isArchived }
  }

  var emptyText: String {
    contents.habits.isEmpty
      ? localized("there is no habit yet")
      : localized("every habit is archived; see lockstep habits list --archived")
  }

  /// Returns the seven days that end with `today`, of the habits in use or of the archived ones.
  package func week(until today: HabitDay, isArchived: Bool = false) -> AppView {
    let days = (-6...0).map { today.advanced(by: $0) }
    let habits = isArchived ? archived : inUse
    let json: [JSONValue] = habits.map { place, habit in
      let week = days.map { entry(habit, $0) }
      return head(habit, place).setting("days", to: .array(week))
    }
    guard !habits.isEmpty else {
      return AppView(
        json: ["habits": []],
        lines: [isArchived ? localized("no habit is archived") : emptyText])
    }
    let header =
      RowText.left("", 29) + days.map { RowText.right(HabitWeek.weekday(of: $0), 4) }.joined()
    let rows = habits.map { place, habit in
      title(habit, place) + days.map { RowText.right(mark(habit, $0), 4) }.joined()
    }
    return AppView(json: ["habits": .array(json)], lines: [header] + rows)
  }

  /// Returns the day's name in two columns.
  private static func weekday(of day: HabitDay) -> String {
    switch day.weekday {
    case 0: localized("Mo")
    case 1: localized("Tu")
    case 2: localized("We")
    case 3: localized("Th")
    case 4: localized("Fr")
    case 5: localized("Sa")
    default: localized("Su")
    }
  }

  package func day(_ day: HabitDay) -> AppView {
    let json: [JSONValue] = inUse.map { place, habit in
      head(habit, place).setting(entry(habit, day).members ?? [])
    }
    let rows = inUse.map { place, habit -> String in
      let state = contents.day(day, of: habit.record.name)
      let values = ["total": String(state.total), "target": String(habit.target)]
      let amount =
        habit.kind == .count
        ? localized("{total} of {target}", values)
        : (state.isDone ? localized("done") : localized("open"))
      return title(habit, place) + "  " + amount
    }
    return AppView(
      json: ["day": .string(day.text), "habits": .array(json)],
      lines: [day.text] + (rows.isEmpty ? [emptyText] : rows))
  }

  // MARK: Conflicts

  /// Habits with a conflict that a person must resolve, by name.
  package var conflicts: [(key: RecordKey, local: Record?, cloud: Record)] {
    let localRecords = state.recordsByKey
    return state.asking.filter { $0.type == HabitsApp.habitType }
      .map { cloud in (cloud.key, localRecords[cloud.key], cloud) }
  }

  package var conflictChoice: Choice {
    Choice(
      localized("conflict"),
      conflicts.map { conflict in
        let title = [conflict.local, conflict.cloud].compactMap { $0?.value?["title"]?.string }
        return Choice.Entry(name: conflict.key.name.text, title: title.first ?? "")
      })
  }

  package func conflictView() -> AppView {
    let json: [JSONValue] = conflicts.map { conflict in
      [
        "name": .string(conflict.key.name.text), "local": side(conflict.local),
        "cloud": side(conflict.cloud),
      ]
    }
    let rows = conflicts.enumerated().flatMap { place, conflict in
      [
        RowText.right("\(place + 1)", 3) + "  local  " + sideText(conflict.local),
        "     cloud  " + sideText(conflict.cloud),
      ]
    }
    let advice = localized("keep one of the two: lockstep habits keep local|cloud NUMBER")
    return AppView(
      json: ["conflicts": .array(json)],
      lines: rows.isEmpty ? [localized("no habit waits for a decision")] : rows + [advice])
  }

  private func side(_ record: Record?) -> JSONValue {
    guard let record else { return ["deleted": true] }
    return [
      "deleted": .bool(record.isDeleted), "fields": record.value ?? .null,
      "modifiedAt": .number(JSONNumber(record.modifiedAt)), "device": .string(record.device.text),
    ]
  }

  private func sideText(_ record: Record?) -> String {
    guard let record else { return localized("deleted here") }
    let isNew = RowText.isNow(record.modifiedAt, at: state.now)
    var values = [
      "when": isNew ? localized("now") : RowText.ago(record.modifiedAt, at: state.now),
      "device": RowText.line(state.name(of: record.device)),
    ]
    guard !record.isDeleted else { return localized("deleted  ({when}, {device})", values) }
    let habit = HabitContents.Habit(record)
    values["title"] = RowText.line(habit.title)
    values["target"] = HabitWeek.targetText(habit)
    return localized("{title}, {target}  ({when}, {device})", values)
  }

  // MARK: Parts

  package static func targetText(_ habit: HabitContents.Habit) -> String {
    habit.kind == .count
      ? localized("{count} a day", ["count": String(habit.target)]) : localized("once a day")
  }

  func head(_ habit: HabitContents.Habit, _ place: Int) -> JSONValue {
    let head: JSONValue = [
      "habit": JSONValue(integerLiteral: Int64(place + 1)), "name": .string(habit.record.name.text),
      "title": .string(habit.title), "kind": .string(habit.kind.rawValue),
      "target": .number(JSONNumber(habit.target)),
    ]
    return head.setting("archived", to: habit.isArchived ? true : nil)
  }

  private func entry(_ habit: HabitContents.Habit, _ day: HabitDay) -> JSONValue {
    let state = contents.day(day, of: habit.record.name)
    return [
      "day": .string(day.text), "done": .bool(contents.isReached(habit, on: day)),
      "total": .number(JSONNumber(state.total)),
    ]
  }

  func title(_ habit: HabitContents.Habit, _ place: Int, columns: Int = 24) -> String {
    let title = RowText.cut(RowText.line(habit.title), to: columns)
    return RowText.right("\(place + 1)", 3) + "  " + RowText.left(title, columns)
  }

  private func mark(_ habit: HabitContents.Habit, _ day: HabitDay) -> String {
    let total = contents.day(day, of: habit.record.name).total
    if habit.kind == .count, total > 0 { return total > 999 ? "999+" : "\(total)" }
    return contents.isReached(habit, on: day) ? "✓" : "·"
  }
}
