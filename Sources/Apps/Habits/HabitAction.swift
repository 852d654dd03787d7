import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Order to the habits. `habit`, `day` and `version` are words of the person: the app reads them,
/// so that it refuses an unknown habit before anything else.
package enum HabitAction: Hashable, Sendable {
  case add(name: Name, title: String, kind: HabitKind, target: Int64)
  /// nil: unchanged.
  case edit(habit: String, title: String? = nil, kind: HabitKind? = nil, target: Int64? = nil)
  case remove(habit: String)
  case archive(habit: String, isArchived: Bool)
  /// `place`: 1 for the first of the habits in use.
  case move(habit: String, place: Int64)
  case check(habit: String, day: String, isDone: Bool)
  case count(habit: String, day: String, by: Int64)
  /// `version`: `local` or `cloud`.
  case keep(habit: String, version: String)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["do"]?.string {
    case "add":
      self = try .add(
        name: AppState.newName(json), title: json.textMember("title"),
        kind: HabitAction.kind(json), target: json.wholeMember("target"))
    case "edit":
      self = try .edit(
        habit: json.textMember("habit"),
        title: json["title"] == nil ? nil : json.textMember("title"),
        kind: json["kind"] == nil ? nil : HabitAction.kind(json),
        target: json["target"] == nil ? nil : json.wholeMember("target"))
    case "remove": self = try .remove(habit: json.textMember("habit"))
    case "archive":
      let habit = try json.textMember("habit")
      guard let isArchived = json["archived"]?.bool else {
        throw EditRefusal("archived must be true or false")
      }
      self = .archive(habit: habit, isArchived: isArchived)
    case "move":
      self = try .move(habit: json.textMember("habit"), place: json.wholeMember("place"))
    case "check":
      let (habit, day) = try (json.textMember("habit"), json.textMember("day"))
      guard let isDone = json["done"]?.bool else {
        throw EditRefusal("done must be true or false")
      }
      self = .check(habit: habit, day: day, isDone: isDone)
    case "count":
      self = try .count(
        habit: json.textMember("habit"), day: json.textMember("day"), by: json.wholeMember("by"))
    case "keep":
      self = try .keep(habit: json.textMember("habit"), version: json.textMember("version"))
    default: throw EditRefusal(localized("habits do not know that order"))
    }
  }

  private static func kind(_ json: JSONValue) throws(EditRefusal) -> HabitKind {
    guard let kind = HabitKind(rawValue: try json.textMember("kind")) else {
      throw EditRefusal("a habit is a checkbox or a count")
    }
    return kind
  }

  package var json: JSONValue {
    func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    return switch self {
    case .add(let name, let title, let kind, let target):
      [
        "do": "add", "name": .string(name.text), "title": .string(title),
        "kind": .string(kind.rawValue), "target": number(target),
      ]
    case .edit(let habit, let title, let kind, let target):
      (["do": "edit", "habit": .string(habit)] as JSONValue)
        .setting("title", to: title.map { .string($0) })
        .setting("kind", to: kind.map { .string($0.rawValue) })
        .setting("target", to: target.map(number))
    case .remove(let habit): ["do": "remove", "habit": .string(habit)]
    case .archive(let habit, let isArchived):
      ["do": "archive", "habit": .string(habit), "archived": .bool(isArchived)]
    case .move(let habit, let place):
      ["do": "move", "habit": .string(habit), "place": number(place)]
    case .check(let habit, let day, let isDone):
      ["do": "check", "habit": .string(habit), "day": .string(day), "done": .bool(isDone)]
    case .count(let habit, let day, let amount):
      ["do": "count", "habit": .string(habit), "day": .string(day), "by": number(amount)]
    case .keep(let habit, let version):
      ["do": "keep", "habit": .string(habit), "version": .string(version)]
    }
  }
}

/// Question to the habits.
package enum HabitQuestion: Hashable, Sendable {
  /// The seven days that end with `day`, of the habits in use or of the archived ones.
  case week(day: String, isArchived: Bool = false)
  case day(String)
  case conflicts
  /// Streaks and rates until `day`.
  case statistics(day: String)

  package init(json: JSONValue) throws(EditRefusal) {
    switch json["show"]?.string {
    case "week":
      self = try .week(day: json.textMember("day"), isArchived: json["archived"]?.bool ?? false)
    case "day": self = try .day(json.textMember("day"))
    case "conflicts": self = .conflicts
    case "statistics": self = try .statistics(day: json.textMember("day"))
    default: throw EditRefusal(localized("habits have no such view"))
    }
  }

  package var json: JSONValue {
    switch self {
    case .week(let day, let isArchived):
      (["show": "week", "day": .string(day)] as JSONValue)
        .setting("archived", to: isArchived ? true : nil)
    case .day(let day): ["show": "day", "day": .string(day)]
    case .conflicts: ["show": "conflicts"]
    case .statistics(let day): ["show": "statistics", "day": .string(day)]
    }
  }
}
