import LockstepJSON
import LockstepModel

/// Data for a large timer display: the current screen, plus the device and time of the shown edit,
/// the full length of the phase, and the interval between long breaks.
package struct TimerContents: Hashable, Sendable {
  package var screen: TimerScreen
  /// Display name of the device that made the edit; empty if there was no edit.
  package var deviceName: String
  /// Relay time of the shown edit, milliseconds; nil if there was no edit.
  package var editedAt: Int64?
  /// Full length of the phase in milliseconds; nil if the edit does not have it.
  package var duration: Int64?
  /// Interval of the long break, in pomodoros; 0: never a long break.
  package var longBreakEvery: Int64

  package init(_ state: TimerState, settings: TimerSettings, of app: AppState) {
    var state = state
    state.advance(to: app.now)
    let shown = state.shown
    screen = TimerScreen(state, at: app.now)
    deviceName =
      shown.map { edit in
        DeviceID(text: edit.deviceID).map { app.name(of: $0) } ?? edit.deviceID
      } ?? ""
    editedAt = shown?.timestamp
    duration = shown?.duration
    longBreakEvery =
      shown?.phase == .focus
      ? shown.map { TimerPlan(of: $0).longBreakEvery } ?? settings.longBreakEvery
      : settings.longBreakEvery
  }

  /// Decodes the output of `json`; returns nil for anything else.
  package init?(json: JSONValue) {
    guard let screen = TimerScreen(json: json), let every = json["longBreakEvery"]?.wholeNumber
    else { return nil }
    self.screen = screen
    deviceName = json["deviceName"]?.string ?? ""
    editedAt = json["editedAt"]?.wholeNumber
    duration = json["duration"]?.wholeNumber
    longBreakEvery = every
  }

  package var json: JSONValue {
    screen.json.setting("deviceName", to: .string(deviceName))
      .setting("editedAt", to: editedAt.map { .number(JSONNumber($0)) })
      .setting("duration", to: duration.map { .number(JSONNumber($0)) })
      .setting("longBreakEvery", to: .number(JSONNumber(longBreakEvery)))
  }

  /// Milliseconds left at an instant of relay time. A screen counts down by itself until it
  /// receives the next state.
  package func remaining(at instant: Int64) -> Int64 {
    screen.zeroAt.map { max(0, $0 - instant) } ?? screen.remaining
  }

  package var view: AppView {
    let stableJSON = screen.stableJSON.setting("deviceName", to: .string(deviceName))
      .setting("longBreakEvery", to: .number(JSONNumber(longBreakEvery)))
      .setting("editedAt", to: editedAt.map { .number(JSONNumber($0)) })
    return AppView(
      json: json, lines: [screen.line], stableJSON: stableJSON, changesAt: screen.nextLineAt)
  }
}
