import LockstepModel

/// What the timer shows a person at one instant. Countdowns that reached zero by then are over,
/// whether or not a device has written that yet: all screens turn at the same moment.
package struct TimerScreen: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  package let at: Int64
  package let stateType: String
  package let isPaused: Bool
  /// Milliseconds left at `at`.
  package let remaining: Int64
  package let completedPomodoros: Int64
  /// Whose edit is shown; empty where there was none.
  package let device: String

  package init(_ state: TimerState, at instant: Int64) {
    var state = state
    state.advance(to: instant)
    at = instant
    stateType = state.shown?.stateType ?? TimerPhase.idle.rawValue
    isPaused = state.shown?.isPaused ?? false
    remaining = state.shown?.remaining(at: instant) ?? 0
    completedPomodoros = state.completedPomodoros
    device = state.shown?.deviceID ?? ""
  }

  /// From what `json` wrote; nil for anything else.
  package init?(json: JSONValue) {
    guard let at = json["at"]?.wholeNumber, let stateType = json["stateType"]?.string,
      let isPaused = json["isPaused"]?.bool, let remaining = json["remaining"]?.wholeNumber,
      let completed = json["completedPomodoros"]?.wholeNumber,
      let device = json["device"]?.string
    else { return nil }
    self.at = at
    self.stateType = stateType
    self.isPaused = isPaused
    self.remaining = remaining
    completedPomodoros = completed
    self.device = device
  }

  /// A running countdown; nil where nothing counts down.
  package var zeroAt: Int64? {
    isPaused || stateType == TimerPhase.idle.rawValue ? nil : at + remaining
  }

  /// One JSON object: `{"at","stateType","isPaused","remaining","completedPomodoros","device"}`.
  package var json: JSONValue {
    .object([
      JSONMember("at", .number(JSONNumber(at))),
      JSONMember("stateType", .string(stateType)),
      JSONMember("isPaused", .bool(isPaused)),
      JSONMember("remaining", .number(JSONNumber(remaining))),
      JSONMember("completedPomodoros", .number(JSONNumber(completedPomodoros))),
      JSONMember("device", .string(device)),
    ])
  }

  /// For a person: `focus 24:59, 3 done`. Seconds are rounded up, so that a countdown shows its
  /// full length at first and 00:00 only when it is over.
  package var line: String {
    let done = completedPomodoros > 0 ? ", \(completedPomodoros) done" : ""
    guard stateType != TimerPhase.idle.rawValue else { return "idle\(done)" }
    return "\(title) \(TimerScreen.clock(remaining))\(isPaused ? ", paused" : "")\(done)"
  }

  /// When `line` reads otherwise next, if nobody acts; nil where it stands still.
  package var nextLineAt: Int64? { zeroAt.map { TimerScreen.nextSecond(to: $0, from: at) } }

  /// When a countdown to `zeroAt` shows another second next: the same instant of relay time on
  /// every screen.
  package static func nextSecond(to zeroAt: Int64, from instant: Int64) -> Int64 {
    let remaining = max(0, zeroAt - instant)
    return instant + (remaining == 0 ? 1 : (remaining - 1) % 1_000 + 1)
  }

  /// What stays the same while a countdown merely runs: two screens of one face differ only in the
  /// time that has passed between them.
  package var face: JSONValue {
    .object([
      JSONMember("stateType", .string(stateType)),
      JSONMember("isPaused", .bool(isPaused)),
      JSONMember("zeroAt", zeroAt.map { .number(JSONNumber($0)) } ?? .null),
      JSONMember("remaining", zeroAt == nil ? .number(JSONNumber(remaining)) : .null),
      JSONMember("completedPomodoros", .number(JSONNumber(completedPomodoros))),
      JSONMember("device", .string(device)),
    ])
  }

  /// All of it, for programs and people alike.
  package var view: AppView {
    AppView(json: json, lines: [line], face: face, changesAt: nextLineAt)
  }

  private var title: String {
    switch TimerPhase(rawValue: stateType) {
    case .breakTime: "break"
    case .idle, .focus, .snooze, nil: stateType
    }
  }

  /// `24:59`, or `01:00:00`: seconds are rounded up.
  package static func clock(_ milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds) / 1_000 + (milliseconds % 1_000 > 0 ? 1 : 0)
    let digits = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { part in
      part < 10 ? "0\(part)" : "\(part)"
    }
    return (seconds >= 3_600 ? digits[...] : digits.dropFirst()).joined(separator: ":")
  }
}
