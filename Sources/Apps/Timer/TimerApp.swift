import LockstepJSON
import LockstepModel

/// Pomodoro timer: zone `Timer`, the record `current` with the timer's state, the record `settings`
/// with the lengths of its phases, and a record for each day with its completed focuses
/// (`FocusDay`).
package struct TimerApp: App {
  package static let zone = Name(trusted: "Timer")
  package static let stateKey = RecordKey(zone: zone, name: Name(trusted: "current"))
  package static let stateType = Name(trusted: "TimerState")
  package static let settingsKey = RecordKey(zone: zone, name: Name(trusted: "settings"))
  package static let settingsType = Name(trusted: "Settings")

  /// Delay before a connected device makes the edit at zero of another device's countdown.
  package static let graceMilliseconds: Int64 = 2_000

  package init() {}

  package var name: String { "timer" }
  package var zone: Name { TimerApp.zone }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == TimerApp.stateType ? TimerResolver() : rules(for: type).map { RuleResolver($0) }
  }

  /// Settings are merged field by field.
  package func rules(for type: Name) -> MergeRules? {
    switch type {
    case TimerApp.settingsType: MergeRules()
    case FocusDay.type: FocusDay.rules
    default: nil
    }
  }

  package var timedTypes: [Name] { [TimerApp.stateType] }

  package func dueEdit(for record: Record) -> DueEdit? {
    guard record.key == TimerApp.stateKey, record.type == TimerApp.stateType,
      let fields = record.value
    else { return nil }
    let state = TimerState(fields: fields)
    guard let zeroAt = state.zeroAt, let owner = state.shown?.deviceID, let next = state.afterZero()
    else { return nil }
    return DueEdit(
      dueAt: zeroAt, owner: owner, graceMilliseconds: TimerApp.graceMilliseconds,
      fields: next.fields, addition: FocusDay.addition(of: state))
  }

  /// Moves the timestamps of the edits that a local change added. The edit at zero of a countdown
  /// in the base stays: its timestamp follows from the record, not from this device's clock.
  package func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue {
    guard type == TimerApp.stateType else { return fields }
    var known = TimerState(fields: base)
    var identities = Set(known.edits.map(\.identity))
    // An earlier version of the app wrote edits at zero without `act`.
    while let next = known.afterZero() {
      known = next
      if let made = known.shown { identities.insert(made.plainIdentity) }
    }
    var state = TimerState(fields: fields)
    state.edits = state.edits.map { edit in
      identities.contains(edit.identity) ? edit : edit.moved(by: to - from)
    }
    return state.fields
  }

  /// Returns the fields of `current` after `event` was applied at `stamp`, which is both the
  /// record's `modifiedAt` and the edit's timestamp.
  ///
  /// `current` and `settings` are this device's records. nil, a tombstone, or fields that are not a
  /// JSON object count as a timer never started and as the default settings.
  package static func edit(
    _ event: TimerEvent, current: Record?, settings: Record?, stamp: Int64, device: DeviceID
  ) throws(TimerRefusal) -> JSONValue {
    var machine = TimerMachine(
      state: state(of: current), settings: TimerSettings(fields: settings?.value),
      deviceID: device.text)
    try machine.handle(event, at: stamp)
    return machine.state.fields
  }

  package static func state(of current: Record?) -> TimerState {
    TimerState(fields: current?.value)
  }
}

/// Orders and questions of the timer.
extension TimerApp {
  package var types: [Name] { [TimerApp.settingsType, TimerApp.stateType] }

  /// Only statistics need the days, of which there is one more every day.
  package func types(for question: JSONValue) -> [Name] {
    TimerQuestion.isOfStatistics(question) ? types + [FocusDay.type] : types
  }

  /// Applies an order. The outcome answers with the screen or with the settings.
  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    switch try TimerAction(json: order) {
    case .event(let event):
      let settings = state.records.first { $0.key == TimerApp.settingsKey }
      return AppOutcome(
        [.edit(.timer(event, settings: settings))], answering: TimerQuestion.screen.json)
    case .set(let changes):
      return AppOutcome(
        [.edit(TimerApp.setting(changes))], answering: TimerQuestion.settings.json)
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let question = try TimerQuestion(json: question)
    let timer = TimerApp.state(of: state.records.first { $0.key == TimerApp.stateKey })
    let record = state.records.first { $0.key == TimerApp.settingsKey }
    let settings = TimerSettings(fields: record?.value)
    return switch question {
    case .screen: TimerScreen(timer, at: state.now).view
    case .board: TimerContents(timer, settings: settings, of: state).view
    case .settings: settings.view
    case .stats(let periods):
      TimerStatistics(
        timer, days: state.records, settings: settings, periods: periods, at: state.now
      ).view(at: state.now)
    }
  }

  /// Keeps fields that no change names.
  private static func setting(_ changes: [JSONMember]) -> EditRequest {
    EditRequest(key: settingsKey, type: settingsType) { context throws(EditRefusal) in
      changes.reduce(context.current?.value ?? [:]) { $0.setting($1.name, to: $1.value) }
    }
  }
}

extension EditRequest {
  /// Applies a timer event to the timer's record; refused if the event is not valid in the current
  /// state. `settings`: the settings record; nil: the defaults.
  package static func timer(_ event: TimerEvent, settings: Record?) -> EditRequest {
    EditRequest(key: TimerApp.stateKey, type: TimerApp.stateType) {
      context throws(EditRefusal) in
      do throws(TimerRefusal) {
        return try TimerApp.edit(
          event, current: context.current, settings: settings, stamp: context.stamp,
          device: context.device)
      } catch {
        throw EditRefusal(error.explanation)
      }
    }
  }
}
