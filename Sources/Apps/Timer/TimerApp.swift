import LockstepModel

/// The pomodoro timer: zone `Timer`, the record `current` with what the timer does, the record
/// `settings` with how long its phases are.
package struct TimerApp: App {
  package static let zone = Name(trusted: "Timer")
  package static let stateKey = RecordKey(zone: zone, name: Name(trusted: "current"))
  package static let stateType = Name(trusted: "TimerState")
  package static let settingsKey = RecordKey(zone: zone, name: Name(trusted: "settings"))
  package static let settingsType = Name(trusted: "Settings")

  /// How long connected devices leave an edit at zero to the device whose edit ran out.
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

  /// Moves the timestamps of the edits that a local change brought. An edit at zero of a countdown
  /// that the base holds stays: its instant follows from the record, and no clock of this device
  /// had a part in it.
  package func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue {
    guard type == TimerApp.stateType else { return fields }
    var known = TimerState(fields: base)
    var identities = Set(known.edits.map(\.identity))
    // An earlier version of the app wrote what follows from the record without `act`.
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

  /// A person's edit: the fields of `current` once `event` has happened to it at `stamp`, which is
  /// the record's `modifiedAt` as well as the edit's timestamp.
  ///
  /// `current` and `settings` are the records as the device holds them; nil, a tombstone, or
  /// fields that are no JSON object read as never started and as the defaults.
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
