import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Fields of the record `settings`, for the state machine. Missing, malformed or out-of-range
/// fields have their defaults.
package struct TimerSettings: Hashable, Sendable {
  /// `focusMinutes`, default 25.
  package var focusMilliseconds = minutes(25)
  /// `shortBreakMinutes`, default 5.
  package var shortBreakMilliseconds = minutes(5)
  /// `longBreakMinutes`, default 15.
  package var longBreakMilliseconds = minutes(15)
  /// Interval of the long break, in pomodoros: `longBreakEvery`, default 4; 0: never.
  package var longBreakEvery: Int64 = 4
  /// Time for which snooze postpones a break: `snoozeMinutes`, default 5.
  package var snoozeMilliseconds = minutes(5)
  /// True if a break starts to count down by itself; false if it stays paused until a person
  /// resumes it: `autoStart`, default true.
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

  /// Converts a length in minutes, which may be fractional. Returns nil if it is under a
  /// millisecond or over `Limits.timerMilliseconds`.
  package static func milliseconds(minutes: Double) -> Int64? {
    let milliseconds = minutes * 60_000
    guard milliseconds >= 1, milliseconds <= Double(Limits.timerMilliseconds) else { return nil }
    return Int64(milliseconds + 0.5)
  }

  private static func minutes(_ count: Int64) -> Int64 { count * 60_000 }
}

/// Plan for the phase that follows when a countdown reaches zero. It is written into the edit that
/// begins the phase: `"plan": {"autoStart","break"}` for snooze, with
/// `"longBreak","longBreakEvery"` for focus; lengths in milliseconds.
///
/// Every device makes the edit at zero by itself, and all must make the same bytes. So the edit may
/// depend only on the record, not on the current settings, which may not have reached every device.
/// Changed settings take effect with the next phase.
package struct TimerPlan: Hashable, Sendable {
  package var breakMilliseconds: Int64
  package var longBreakMilliseconds: Int64
  /// Interval of the long break, in pomodoros; 0: never a long break.
  package var longBreakEvery: Int64
  package var autoStart: Bool

  /// Plan for a focus.
  package init(_ settings: TimerSettings) {
    breakMilliseconds = settings.shortBreakMilliseconds
    longBreakMilliseconds = settings.longBreakMilliseconds
    longBreakEvery = settings.longBreakEvery
    autoStart = settings.autoStart
  }

  /// Plan for a snooze: the break that was postponed.
  package init(postponing breakMilliseconds: Int64, autoStart: Bool) {
    self.breakMilliseconds = breakMilliseconds
    longBreakMilliseconds = breakMilliseconds
    longBreakEvery = 0
    self.autoStart = autoStart
  }

  /// The plan in an edit. An edit from another program may have none; then the defaults apply,
  /// which are the same on every device.
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

  /// Returns the length of the break that follows the `count`-th pomodoro.
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

/// Settings as a person reads and writes them.
extension TimerSettings {
  package struct Word: Sendable {
    package let name: String
    package let meaning: String
  }

  /// Settings with their meaning. Names that end with `Minutes` are lengths in minutes.
  package static var words: [Word] {
    [
      Word(name: "focusMinutes", meaning: localized("how long a focus is")),
      Word(name: "shortBreakMinutes", meaning: localized("how long a break is")),
      Word(name: "longBreakMinutes", meaning: localized("how long the long break is")),
      Word(
        name: "longBreakEvery",
        meaning: localized("after how many pomodoros it comes; 0 for never")),
      Word(
        name: "snoozeMinutes", meaning: localized("how long a break waits when it is put off")),
      Word(
        name: "autoStart", meaning: localized("whether a break runs by itself: true or false")),
    ]
  }

  /// Validates the requested changes and returns them.
  package static func changes(_ wanted: JSONValue?) throws(EditRefusal) -> [JSONMember] {
    let members = wanted?.members ?? []
    if members.isEmpty { throw EditRefusal(localized("say what is to change")) }
    for member in members {
      guard isGood(member) else { throw EditRefusal(refusal(of: member)) }
    }
    return members
  }

  /// One sentence, with the next step.
  private static func refusal(of member: JSONMember) -> String {
    let values = [
      "value": RowText.line(member.value.text),
      "most": String(Limits.timerMilliseconds / 60_000),
    ]
    switch member.name {
    case "focusMinutes":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the length of a focus; "
          + "give minutes, more than 0 and at most {most}", values)
    case "shortBreakMinutes":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the length of a break; "
          + "give minutes, more than 0 and at most {most}", values)
    case "longBreakMinutes":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the length of the long break; "
          + "give minutes, more than 0 and at most {most}", values)
    case "longBreakEvery":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the number of pomodoros until the long break; "
          + "give a whole number from 0 to 1000", values)
    case "snoozeMinutes":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the time for which a break is put off; "
          + "give minutes, more than 0 and at most {most}", values)
    case "autoStart":
      return localized(
        "\u{201C}{value}\u{201D} is no value for the automatic start of a break; "
          + "give true or false", values)
    default:
      return localized(
        "there is no setting \u{201C}{name}\u{201D}; there are {names}",
        [
          "name": RowText.line(member.name),
          "names": words.map(\.name).joined(separator: ", "),
        ])
    }
  }

  private static func isGood(_ member: JSONMember) -> Bool {
    switch member.name {
    case "autoStart": member.value.bool != nil
    case "longBreakEvery": (0...1_000).contains(member.value.int64 ?? -1)
    default:
      words.contains { $0.name == member.name }
        && member.value.number.flatMap { Double($0.text) }.flatMap {
          milliseconds(minutes: $0)
        } != nil
    }
  }

  /// View of all current settings.
  package var view: AppView {
    func minutes(_ milliseconds: Int64) -> JSONValue {
      let text =
        milliseconds % 60_000 == 0
        ? "\(milliseconds / 60_000)" : "\(Double(milliseconds) / 60_000)"
      return JSONNumber(text).map { .number($0) } ?? .null
    }
    let values: [String: JSONValue] = [
      "focusMinutes": minutes(focusMilliseconds),
      "shortBreakMinutes": minutes(shortBreakMilliseconds),
      "longBreakMinutes": minutes(longBreakMilliseconds),
      "longBreakEvery": .number(JSONNumber(longBreakEvery)),
      "snoozeMinutes": minutes(snoozeMilliseconds), "autoStart": .bool(autoStart),
    ]
    let members = TimerSettings.words.map { JSONMember($0.name, values[$0.name] ?? .null) }
    return AppView(
      json: .object(members),
      lines: zip(members, TimerSettings.words).map { member, word in
        RowText.left(member.name, 18) + RowText.right(member.value.text, 6) + "  " + word.meaning
      })
  }
}
