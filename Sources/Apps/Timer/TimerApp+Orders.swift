import LockstepModel

/// Orders and questions of the timer:
///
///     {"do": "start", "length"?} · {"do": "pause"} · {"do": "resume"} · {"do": "stop"} ·
///     {"do": "skip"} · {"do": "snooze", "length"?} · {"do": "set", "settings": {name: value}}
///     {"show": "screen"} · {"show": "board"} · {"show": "settings"}
extension TimerApp {
  package var types: [Name] { [TimerApp.settingsType, TimerApp.stateType] }

  /// Applies an order. The outcome answers with the screen or with the settings.
  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    if order["do"] == "set" {
      let changes = try TimerSettings.changes(order["settings"])
      return AppOutcome([.edit(TimerApp.setting(changes))], answering: TimerApp.settings)
    }
    guard let event = TimerEvent(order: order) else {
      throw EditRefusal("the timer does not know that order")
    }
    let settings = state.records.first { $0.key == TimerApp.settingsKey }
    return AppOutcome([.edit(.timer(event, settings: settings))], answering: TimerApp.screen)
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    if question == TimerApp.settings {
      let record = state.records.first { $0.key == TimerApp.settingsKey }
      return TimerSettings(fields: record?.value).view
    }
    if question == TimerApp.board {
      let (current, settings) = (TimerApp.stateKey, TimerApp.settingsKey)
      return TimerContents(
        TimerApp.state(of: state.records.first { $0.key == current }),
        settings: TimerSettings(fields: state.records.first { $0.key == settings }?.value),
        of: state
      ).view
    }
    guard question == TimerApp.screen else { throw EditRefusal("the timer has no such view") }
    let current = state.records.first { $0.key == TimerApp.stateKey }
    return TimerScreen(TimerApp.state(of: current), at: state.now).view
  }

  // Computed properties: a leak checker cannot see the references of stored ones.
  package static var screen: JSONValue { ["show": "screen"] }
  package static var board: JSONValue { ["show": "board"] }
  package static var settings: JSONValue { ["show": "settings"] }

  /// Keeps fields that no change names.
  private static func setting(_ changes: [JSONMember]) -> EditRequest {
    EditRequest(key: settingsKey, type: settingsType) { context throws(EditRefusal) in
      changes.reduce(context.current?.value ?? [:]) { $0.setting($1.name, to: $1.value) }
    }
  }
}

extension TimerEvent {
  /// Returns nil if the value is not a timer order.
  package init?(order: JSONValue) {
    let length = order["length"]?.int64
    switch order["do"]?.string {
    case "start": self = .start(length: length)
    case "pause": self = .pause
    case "resume": self = .resume
    case "stop": self = .stop
    case "skip": self = .skip
    case "snooze": self = .snooze(length: length)
    default: return nil
    }
  }

  package var order: JSONValue {
    func named(_ word: String, _ length: Int64? = nil) -> JSONValue {
      let order: JSONValue = ["do": .string(word)]
      return order.setting("length", to: length.map { .number(JSONNumber($0)) })
    }
    return switch self {
    case .start(let length): named("start", length)
    case .pause: named("pause")
    case .resume: named("resume")
    case .stop: named("stop")
    case .skip: named("skip")
    case .snooze(let length): named("snooze", length)
    }
  }
}
