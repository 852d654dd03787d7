import LockstepModel

/// The fields of the record `settings`, read for the state machine. What is missing, malformed or
/// out of range has its default.
package struct TimerSettings: Hashable, Sendable {
  /// `focusMinutes`, 25 where not said.
  package var focusMilliseconds = minutes(25)
  /// `shortBreakMinutes`, 5 where not said.
  package var shortBreakMilliseconds = minutes(5)
  /// `longBreakMinutes`, 15 where not said.
  package var longBreakMilliseconds = minutes(15)
  /// A long break follows every so many pomodoros: `longBreakEvery`, 4 where not said, 0 for never.
  package var longBreakEvery: Int64 = 4
  /// `snoozeMinutes`, 5 where not said: how long a break waits when it is put off.
  package var snoozeMilliseconds = minutes(5)
  /// Whether a break starts to count down by itself, or stands paused until a person resumes it:
  /// `autoStart`, true where not said.
  package var autoStart = true

  package init() {}

  package init(fields: JSONValue?) {
    func milliseconds(_ name: String, default usual: Int64) -> Int64 {
      guard let text = fields?[name]?.number?.text, let minutes = Double(text) else {
        return usual
      }
      return TimerSettings.milliseconds(minutes: minutes) ?? usual
    }
    focusMilliseconds = milliseconds("focusMinutes", default: focusMilliseconds)
    shortBreakMilliseconds = milliseconds("shortBreakMinutes", default: shortBreakMilliseconds)
    longBreakMilliseconds = milliseconds("longBreakMinutes", default: longBreakMilliseconds)
    snoozeMilliseconds = milliseconds("snoozeMinutes", default: snoozeMilliseconds)
    if let every = fields?["longBreakEvery"]?.wholeNumber, every >= 0 { longBreakEvery = every }
    autoStart = fields?["autoStart"]?.bool ?? autoStart
  }

  /// A phase's length from minutes, which need not be whole; nil where it would be under a
  /// millisecond or over `Limits.timerMilliseconds`.
  package static func milliseconds(minutes: Double) -> Int64? {
    let milliseconds = minutes * 60_000
    guard milliseconds >= 1, milliseconds <= Double(Limits.timerMilliseconds) else { return nil }
    return Int64(milliseconds + 0.5)
  }

  private static func minutes(_ count: Int64) -> Int64 { count * 60_000 }
}

/// What follows a phase when its countdown reaches zero, written into the edit that begins the
/// phase: `"plan": {"autoStart","break"}` for snooze, with `"longBreak","longBreakEvery"` for
/// focus; lengths in milliseconds.
///
/// Every device makes the edit at zero by itself, and all must make the same bytes. So it may
/// depend on nothing but the record: the settings of the moment, which may be on their way to
/// another device just then, must not play a part. They take effect with the next phase.
package struct TimerPlan: Hashable, Sendable {
  package var breakMilliseconds: Int64
  package var longBreakMilliseconds: Int64
  /// 0: never a long break.
  package var longBreakEvery: Int64
  package var autoStart: Bool

  /// What follows a focus.
  package init(_ settings: TimerSettings) {
    breakMilliseconds = settings.shortBreakMilliseconds
    longBreakMilliseconds = settings.longBreakMilliseconds
    longBreakEvery = settings.longBreakEvery
    autoStart = settings.autoStart
  }

  /// What follows a snooze: the break that was put off.
  package init(postponing breakMilliseconds: Int64, autoStart: Bool) {
    self.breakMilliseconds = breakMilliseconds
    longBreakMilliseconds = breakMilliseconds
    longBreakEvery = 0
    self.autoStart = autoStart
  }

  /// The plan in an edit. An edit from another program may have none: then the defaults hold,
  /// which are the same on every device too.
  package init(of edit: TimerEdit) {
    let object = edit.object["plan"]
    self.init(TimerSettings())
    if let length = TimerPlan.length(object?["break"]) { breakMilliseconds = length }
    if let length = TimerPlan.length(object?["longBreak"]) { longBreakMilliseconds = length }
    if edit.phase == .snooze { longBreakEvery = 0 }
    if let every = object?["longBreakEvery"]?.wholeNumber, every >= 0 { longBreakEvery = every }
    autoStart = object?["autoStart"]?.bool ?? autoStart
  }

  package var object: JSONValue {
    var members = [
      JSONMember("autoStart", .bool(autoStart)),
      JSONMember("break", .number(JSONNumber(breakMilliseconds))),
    ]
    if longBreakEvery > 0 {
      members.append(JSONMember("longBreak", .number(JSONNumber(longBreakMilliseconds))))
      members.append(JSONMember("longBreakEvery", .number(JSONNumber(longBreakEvery))))
    }
    return .object(members)
  }

  /// How long the break is that follows the `count`-th pomodoro.
  package func breakMilliseconds(afterPomodoro count: Int64) -> Int64 {
    longBreakEvery > 0 && count % longBreakEvery == 0 ? longBreakMilliseconds : breakMilliseconds
  }

  private static func length(_ value: JSONValue?) -> Int64? {
    guard let length = value?.wholeNumber, length >= 1, length <= Limits.timerMilliseconds else {
      return nil
    }
    return length
  }
}
