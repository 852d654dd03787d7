import LockstepModel

/// Settings as a person reads and writes them.
extension TimerSettings {
  /// Settings by name, with their meaning. Names that end with `Minutes` are lengths in minutes.
  package static let words: [(name: String, meaning: String)] = [
    ("focusMinutes", "how long a focus is"), ("shortBreakMinutes", "how long a break is"),
    ("longBreakMinutes", "how long the long break is"),
    ("longBreakEvery", "after how many pomodoros it comes; 0 for never"),
    ("snoozeMinutes", "how long a break waits when it is put off"),
    ("autoStart", "whether a break runs by itself: true or false"),
  ]

  /// Validates the requested changes and returns them.
  package static func changes(_ wanted: JSONValue?) throws(EditRefusal) -> [JSONMember] {
    let members = wanted?.members ?? []
    if members.isEmpty { throw EditRefusal("say what is to change") }
    for member in members {
      guard isGood(member) else {
        guard let word = words.first(where: { $0.name == member.name }) else {
          let names = words.map(\.name).joined(separator: ", ")
          throw EditRefusal(
            "there is no setting \u{201C}\(RowText.line(member.name))\u{201D}; there are \(names)")
        }
        throw EditRefusal(
          "\u{201C}\(RowText.line(member.value.text))\u{201D} is no \(word.name) (\(word.meaning))")
      }
    }
    return members
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
