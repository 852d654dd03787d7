import LockstepJSON
import LockstepLanguage
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
    default: throw EditRefusal(localized("the timer does not know that order"))
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
package enum TimerQuestion: Hashable, Sendable {
  /// The screen at this instant (`TimerScreen`).
  case screen
  /// Data for a large display (`TimerContents`).
  case board
  case settings
  /// Totals, and sums of periods (`TimerStatistics`).
  case stats([TimerStatistics.Period])

  private static let mostPeriods = 1_000

  package init(json: JSONValue) throws(EditRefusal) {
    let periods = json["periods"]
    let members = json.members?.count ?? 0
    switch json["show"]?.string {
    case "screen" where members == 1: self = .screen
    case "board" where members == 1: self = .board
    case "settings" where members == 1: self = .settings
    case "stats" where members == 1: self = .stats([])
    case "stats" where members == 2 && periods != nil: self = .stats(try Self.read(periods))
    default: throw EditRefusal(localized("the timer has no such view"))
    }
  }

  static func isOfStatistics(_ json: JSONValue) -> Bool { json["show"]?.string == "stats" }

  private static func read(_ value: JSONValue?) throws(EditRefusal) -> [TimerStatistics.Period] {
    guard let values = value?.array, values.count <= mostPeriods else {
      throw EditRefusal("periods must be a list of at most \(mostPeriods)")
    }
    var periods: [TimerStatistics.Period] = []
    for value in values {
      let period = TimerStatistics.Period(
        name: try value.textMember("name"), from: try value.wholeMember("from"),
        dates: value["dates"] == nil ? nil : try value.textMember("dates"))
      guard periods.last?.from ?? .min < period.from else {
        throw EditRefusal("periods must be in the order of their beginnings")
      }
      periods.append(period)
    }
    return periods
  }

  package var json: JSONValue {
    switch self {
    case .screen: ["show": "screen"]
    case .board: ["show": "board"]
    case .settings: ["show": "settings"]
    case .stats(let periods) where periods.isEmpty: ["show": "stats"]
    case .stats(let periods):
      [
        "show": "stats",
        "periods": .array(
          periods.map {
            (["name": .string($0.name), "from": .number(JSONNumber($0.from))] as JSONValue)
              .setting("dates", to: $0.dates.map { .string($0) })
          }),
      ]
    }
  }
}
