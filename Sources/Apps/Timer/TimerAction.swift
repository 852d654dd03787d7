import LockstepJSON
import LockstepModel

/// Order to the timer.
package enum TimerAction: Hashable, Sendable {
  case event(TimerEvent)
  /// Changes settings, which the person names. Of two changes of one setting the later one counts.
  case set([JSONMember])

  package init(json: JSONValue) throws(EditRefusal) {
    let length = json["length"]?.int64
    switch json["do"]?.string {
    case "start": self = .event(.start(length: length))
    case "pause": self = .event(.pause)
    case "resume": self = .event(.resume)
    case "stop": self = .event(.stop)
    case "skip": self = .event(.skip)
    case "snooze": self = .event(.snooze(length: length))
    case "set": self = try .set(TimerSettings.changes(json["settings"]))
    default: throw EditRefusal("the timer does not know that order")
    }
  }

  package var json: JSONValue {
    func named(_ word: String, _ length: Int64? = nil) -> JSONValue {
      let order: JSONValue = ["do": .string(word)]
      return order.setting("length", to: length.map { .number(JSONNumber($0)) })
    }
    return switch self {
    case .event(.start(let length)): named("start", length)
    case .event(.pause): named("pause")
    case .event(.resume): named("resume")
    case .event(.stop): named("stop")
    case .event(.skip): named("skip")
    case .event(.snooze(let length)): named("snooze", length)
    case .set(let changes): ["do": "set", "settings": JSONValue.null.setting(changes)]
    }
  }
}

/// Question to the timer.
package enum TimerQuestion: String, CaseIterable, Sendable {
  /// The screen at this instant (`TimerScreen`).
  case screen
  /// Data for a large display (`TimerContents`).
  case board
  case settings
  /// Totals (`TimerStatistics`).
  case stats

  package init(json: JSONValue) throws(EditRefusal) {
    guard let question = Self.allCases.first(where: { $0.json == json }) else {
      throw EditRefusal("the timer has no such view")
    }
    self = question
  }

  package var json: JSONValue { ["show": .string(rawValue)] }
}
