import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Edits that orders make to habits and their days.
enum HabitEdits {
  static func added(
    _ name: Name, _ title: String, _ kind: HabitKind, _ target: Int64
  ) throws(EditRefusal) -> AppOutcome {
    let fields = JSONValue.object(try members(title, kind, target))
    let line = localized("added: {title}", values(title))
    return AppOutcome(
      [.edit(habitEdit(name) { _ in fields })], view: changeView(name, title, line))
  }

  /// Keeps fields that this version does not know.
  static func changed(
    _ habit: HabitContents.Habit, _ title: String?, _ kind: HabitKind?, _ target: Int64?
  ) throws(EditRefusal) -> AppOutcome {
    let changes = try members(title, kind, target)
    if changes.isEmpty {
      throw EditRefusal(localized("say what is to change: its title, kind or target"))
    }
    if let target, target != habit.target, kind ?? habit.kind == .checkbox {
      throw EditRefusal(
        localized(
          "\u{201C}{title}\u{201D} is checked once a day and has no other target; "
            + "for a target, add a habit that is counted: lockstep habits add --count",
          values(habit.title)))
    }
    let edit = habitEdit(habit.record.name) { context in
      (context.current?.value ?? [:]).setting(changes)
    }
    let newTitle = title ?? habit.title
    return AppOutcome(
      [.edit(edit)],
      view: changeView(
        habit.record.name, newTitle, localized("changed: {title}", values(newTitle))))
  }

  /// Keeps the records of its days: if the habit is restored, they are shown again.
  static func removed(_ habit: HabitContents.Habit) -> AppOutcome {
    AppOutcome(
      [.edit(habitEdit(habit.record.name) { _ in nil })],
      view: changeView(
        habit.record.name, habit.title, localized("removed: {title}", values(habit.title))))
  }

  static func archived(_ habit: HabitContents.Habit, _ isArchived: Bool) -> AppOutcome {
    let edit = listEdit { fields in
      let others = HabitList.archivedNames(fields).filter { $0 != habit.record.name }
      return fields.setting(
        "archived", to: JSONValue(isArchived ? others + [habit.record.name] : others))
    }
    let values = values(habit.title)
    let line =
      isArchived
      ? localized("archived: {title}", values) : localized("unarchived: {title}", values)
    return AppOutcome([.edit(edit)], view: changeView(habit.record.name, habit.title, line))
  }

  /// `place`: 1 for the first of the habits in use; beyond the last one, it is the last.
  static func moved(
    _ habit: HabitContents.Habit, to place: Int64, in contents: HabitContents
  ) throws(EditRefusal) -> AppOutcome {
    guard place >= 1 else { throw EditRefusal(localized("a place is 1 or more")) }
    let title = RowText.line(habit.title)
    guard !habit.isArchived else {
      throw EditRefusal(
        localized(
          "\u{201C}{title}\u{201D} is archived; unarchive it first", ["title": title]))
    }
    let others = contents.habits.filter { !$0.isArchived && $0.record.name != habit.record.name }
    let index = Int(min(place - 1, Int64(others.count)))
    let places = HabitList.placesAfterMove(of: habit, to: index, among: others)
    let edit = listEdit { fields in
      fields.setting("places", to: (fields["places"] ?? [:]).setting(places))
    }
    return AppOutcome(
      [.edit(edit)],
      view: AppView(
        json: [
          "name": .string(habit.record.name.text), "title": .string(habit.title),
          "habit": .number(JSONNumber(Int64(index + 1))),
        ],
        lines: [
          localized(
            "moved: {title}, now number {place}", ["title": title, "place": String(index + 1)])
        ]))
  }

  static func checked(
    _ habit: HabitContents.Habit, on day: HabitDay, _ isDone: Bool
  ) throws(EditRefusal) -> AppOutcome {
    guard habit.kind == .checkbox else {
      throw EditRefusal(
        localized("\u{201C}{title}\u{201D} is counted; use count", values(habit.title)))
    }
    let edit = checkInEdit(day, of: habit) { fields, _ in
      fields.setting("done", to: .bool(isDone))
    }
    let values = ["title": RowText.line(habit.title), "day": day.text]
    let line =
      isDone
      ? localized("{title}: done on {day}", values) : localized("{title}: open on {day}", values)
    return AppOutcome(
      [.edit(edit)],
      view: AppView(
        json: [
          "name": .string(habit.record.name.text), "day": .string(day.text), "done": .bool(isDone),
        ],
        lines: [line]))
  }

  /// Adds to the device's own counter in `counts`, or to its own counter in `undone`.
  static func counted(
    _ habit: HabitContents.Habit, on day: HabitDay, by amount: Int64, of before: HabitContents.Day
  ) throws(EditRefusal) -> AppOutcome {
    guard habit.kind == .count else {
      throw EditRefusal(
        localized("\u{201C}{title}\u{201D} is checked; use check", values(habit.title)))
    }
    guard amount != 0, amount.magnitude <= UInt64(Limits.habitCount) else {
      throw EditRefusal(
        localized(
          "count by 1 to {most}, or take as much back", ["most": String(Limits.habitCount)]))
    }
    guard before.total + amount >= 0 else {
      throw EditRefusal(
        localized(
          "only {count} can be taken back on {day}",
          ["count": String(before.total), "day": day.text]))
    }
    let target = habit.target
    let edit = checkInEdit(day, of: habit) { fields, device in
      let list = amount > 0 ? "counts" : "undone"
      let own = fields[list]?[device.text]?.wholeNumber ?? 0
      let counts = (fields[list] ?? [:])
        .setting(device.text, to: .number(JSONNumber(own + abs(amount))))
      let counted = fields.setting(list, to: counts)
      return counted.setting("done", to: .bool(HabitContents.day(of: counted).total >= target))
    }
    let total = before.total + amount
    return AppOutcome(
      [.edit(edit)],
      view: AppView(
        json: [
          "name": .string(habit.record.name.text), "day": .string(day.text),
          "total": .number(JSONNumber(total)),
        ],
        lines: [
          localized(
            "{title}: {total} of {target} on {day}",
            [
              "title": RowText.line(habit.title), "total": String(total),
              "target": String(target), "day": day.text,
            ])
        ]))
  }

  // MARK: Records

  private static func habitEdit(
    _ name: Name, _ make: @escaping @Sendable (EditContext) -> JSONValue?
  ) -> EditRequest {
    EditRequest(key: RecordKey(zone: HabitsApp.zone, name: name), type: HabitsApp.habitType) {
      context throws(EditRefusal) in make(context)
    }
  }

  private static func listEdit(
    _ make: @escaping @Sendable (JSONValue) -> JSONValue
  ) -> EditRequest {
    EditRequest(
      key: RecordKey(zone: HabitsApp.zone, name: HabitList.name), type: HabitsApp.listType
    ) { context throws(EditRefusal) in make(context.current?.value ?? [:]) }
  }

  private static func checkInEdit(
    _ day: HabitDay, of habit: HabitContents.Habit,
    _ make: @escaping @Sendable (JSONValue, DeviceID) -> JSONValue
  ) -> EditRequest {
    let name = HabitContents.name(of: habit.record.name, on: day)
    let fresh: JSONValue = [
      "habit": .string(habit.record.name.text), "day": .string(day.text), "done": false,
      "counts": [:],
    ]
    return EditRequest(
      key: RecordKey(zone: HabitsApp.zone, name: name), type: HabitsApp.checkInType
    ) { context throws(EditRefusal) in make(context.current?.value ?? fresh, context.device) }
  }

  // MARK: Validation and text

  /// Returns the valid fields of a habit that are not nil.
  private static func members(
    _ title: String?, _ kind: HabitKind?, _ target: Int64?
  ) throws(EditRefusal) -> [JSONMember] {
    if let title {
      let isBlank = title.unicodeScalars.allSatisfy { $0.properties.isWhitespace }
      guard !isBlank, title.unicodeScalars.count <= Limits.habitTitle else {
        throw EditRefusal(
          localized(
            "a habit's title has 1 to {most} characters", ["most": String(Limits.habitTitle)]))
      }
    }
    if let target, !(1...Limits.habitCount).contains(target) {
      throw EditRefusal(
        localized("a target is 1 to {most}", ["most": String(Limits.habitCount)]))
    }
    return [
      title.map { JSONMember("title", .string($0)) },
      kind.map { JSONMember("kind", .string($0.rawValue)) },
      target.map { JSONMember("target", .number(JSONNumber($0))) },
    ].compactMap { $0 }
  }

  private static func changeView(_ name: Name, _ title: String, _ line: String) -> AppView {
    AppView(json: ["name": .string(name.text), "title": .string(title)], lines: [line])
  }

  private static func values(_ title: String) -> [String: String] {
    ["title": RowText.line(title)]
  }
}
