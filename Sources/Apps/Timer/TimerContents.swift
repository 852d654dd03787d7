import LockstepModel

/// All that a large screen shows of the timer: beside the screen of the moment whose edit it is,
/// since when it stands, how long the phase is in full, and how far the long break is.
package struct TimerContents: Hashable, Sendable {
  package var screen: TimerScreen
  /// What a person calls the device of the edit; empty where there was none.
  package var deviceName: String
  /// Relay time of the edit that is shown, milliseconds; nil where there was none.
  package var editedAt: Int64?
  /// The phase's full length in milliseconds, where the edit says it.
  package var duration: Int64?
  /// A long break follows every so many pomodoros; 0: never.
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

  /// From what `json` wrote; nil for anything else.
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

  /// Milliseconds left at an instant of relay time. A screen goes on counting by itself until it
  /// is told what follows.
  package func remaining(at instant: Int64) -> Int64 {
    screen.zeroAt.map { max(0, $0 - instant) } ?? screen.remaining
  }

  package var view: AppView {
    let face = screen.face.setting("deviceName", to: .string(deviceName))
      .setting("longBreakEvery", to: .number(JSONNumber(longBreakEvery)))
      .setting("editedAt", to: editedAt.map { .number(JSONNumber($0)) })
    return AppView(
      json: json, lines: [screen.line], face: face, changesAt: screen.nextLineAt)
  }
}
