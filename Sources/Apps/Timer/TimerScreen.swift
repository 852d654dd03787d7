import LockstepJSON
import LockstepLanguage
import LockstepModel

/// The timer's display at one instant. Countdowns that reached zero by then have ended, even if no
/// device has written that yet, so that all screens change at the same moment.
package struct TimerScreen: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  package let at: Int64
  package let stateType: String
  package let isPaused: Bool
  /// Milliseconds left at `at`.
  package let remaining: Int64
  package let completedPomodoros: Int64
  /// Device that made the shown edit; empty if there was none.
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

  /// Decodes the output of `json`; returns nil for anything else.
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

  /// Relay time at which the running countdown ends, milliseconds; nil if none runs.
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

  /// Text for a person: `focus 24:59, 3 done`. Seconds are rounded up, so that a countdown shows
  /// its full length at first and 00:00 only at its end.
  package var line: String {
    let values = [
      "phase": title, "time": TimerScreen.clock(remaining), "count": String(completedPomodoros),
    ]
    guard stateType != TimerPhase.idle.rawValue else {
      return completedPomodoros > 0 ? localized("idle, {count} done", values) : localized("idle")
    }
    guard completedPomodoros > 0 else {
      return isPaused
        ? localized("{phase} {time}, paused", values) : localized("{phase} {time}", values)
    }
    return isPaused
      ? localized("{phase} {time}, paused, {count} done", values)
      : localized("{phase} {time}, {count} done", values)
  }

  /// Relay time of the next change of `line` without any event; nil if it does not change.
  package var nextLineAt: Int64? { zeroAt.map { TimerScreen.nextSecond(to: $0, from: at) } }

  /// Returns the instant at which a countdown to `zeroAt` shows its next second: the same instant
  /// of relay time on every screen.
  package static func nextSecond(to zeroAt: Int64, from instant: Int64) -> Int64 {
    let remaining = max(0, zeroAt - instant)
    return instant + (remaining == 0 ? 1 : (remaining - 1) % 1_000 + 1)
  }

  /// The part that stays the same while a countdown runs: two screens with equal parts differ
  /// only in elapsed time.
  package var stableJSON: JSONValue {
    .object([
      JSONMember("stateType", .string(stateType)),
      JSONMember("isPaused", .bool(isPaused)),
      JSONMember("zeroAt", zeroAt.map { .number(JSONNumber($0)) } ?? .null),
      JSONMember("remaining", zeroAt == nil ? .number(JSONNumber(remaining)) : .null),
      JSONMember("completedPomodoros", .number(JSONNumber(completedPomodoros))),
      JSONMember("device", .string(device)),
    ])
  }

  /// Complete view, for programs and people.
  package var view: AppView {
    AppView(json: json, lines: [line], stableJSON: stableJSON, changesAt: nextLineAt)
  }

  private var title: String {
    switch TimerPhase(rawValue: stateType) {
    case .focus: localized("focus")
    case .breakTime: localized("break")
    case .snooze: localized("snooze")
    case .idle, nil: stateType
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
