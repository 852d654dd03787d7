import LockstepModel

/// Pomodoro timer: zone `Timer`, the record `current` with the timer's state, and the record
/// `settings` with the lengths of its phases.
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
    switch type {
    case TimerApp.stateType: TimerResolver()
    case TimerApp.settingsType: SettingsResolver()
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
      fields: next.fields)
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
