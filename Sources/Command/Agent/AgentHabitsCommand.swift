import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// `lockstep habits`: daily habits.
enum AgentHabitsCommand {
  static let command = Command(
    name: "habits",
    summary: "Tracks habits: add, edit, arrange, check, count, show the week, stats, conflicts.",
    discussion: """
      A habit is checked once a day, or counted. It is named by its number in the list, or by the \
      beginning of its title. If two devices changed a habit itself, both versions are kept until \
      you choose one (conflicts, keep); checks and counts are merged automatically.
      """,
    subcommands: [
      add, edit, remove, archive("archive", "Puts a habit away, with its days.", true),
      archive("unarchive", "Brings an archived habit back.", false), move,
      check("check", "Marks a habit as done.", true),
      check("uncheck", "Removes a check.", false), count, list, day, stats, conflicts, keep,
      AgentHabitsRestoreCommand.command, status, watch,
    ])

  private static let app = HabitsApp().name
  private static let habit = Command.Operands("HABIT", "Its number, or the beginning of its title.")
  private static let on = CommandOption.optional(
    "day", ValueKind.text("DATE"), "The day, such as 2026-03-01; today if not given.")
  private static let isCount = CommandOption.flag("count", "It is counted, not checked.")
  private static let target = CommandOption.optional(
    "target", ValueKind.integer(1...Int(Limits.habitCount)),
    "Goal: times per day; one with more than 1 is counted.")
  private static let title = CommandOption.optional(
    "title", ValueKind.text("TITLE"), "The new title.")
  private static let isArchived = CommandOption.flag(
    "archived", "Show the archived habits instead.")
  private static let isUndone = CommandOption.flag("undo", "Subtract instead.")

  private static func day(_ arguments: Arguments) -> String { arguments[on] ?? AgentApp.today }

  /// Returns the day on which something was done. Throws if it has not begun here.
  private static func dayUntilToday(_ arguments: Arguments) throws(CommandFailure) -> String {
    let (text, today) = (day(arguments), AgentApp.today)
    // The app refuses a text that is no day.
    guard let day = HabitDay(text), let last = HabitDay(today), day > last else { return text }
    throw CommandFailure(
      localized(
        "{day} has not begun yet; give today ({today}) or an earlier day",
        ["day": day.text, "today": today]),
      exitCode: .usage)
  }

  private static let add = Command(
    name: "add", summary: "Adds a habit.",
    options: [isCount.entry, target.entry] + AgentApp.options,
    operands: Command.Operands("TITLE", "Its title.")
  ) { arguments throws(CommandFailure) in
    let goal = Int64(arguments[target] ?? 1)
    let action = HabitAction.add(
      name: AgentApp.newName, title: arguments.operands[0],
      kind: arguments[isCount] || goal > 1 ? .count : .checkbox, target: goal)
    return try AgentApp.order(arguments, app, action.json)
  }

  private static let edit = Command(
    name: "edit", summary: "Changes a habit's title or target.",
    options: [title.entry, target.entry] + AgentApp.options, operands: habit
  ) { arguments throws(CommandFailure) in
    let action = HabitAction.edit(
      habit: arguments.operands[0], title: arguments[title],
      target: arguments[target].map { Int64($0) })
    return try AgentApp.order(arguments, app, action.json)
  }

  private static let remove = Command(
    name: "remove",
    summary: "Removes a habit; its days are kept, and shown again if it is restored.",
    options: AgentApp.options, operands: habit
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, HabitAction.remove(habit: arguments.operands[0]).json)
  }

  private static func archive(_ name: String, _ summary: String, _ isArchived: Bool) -> Command {
    Command(
      name: name, summary: summary,
      discussion: """
        An archived habit is left out of the list, the day, the figures and the watch view, on all \
        devices. list --archived shows it, with its number.
        """,
      options: AgentApp.options, operands: habit
    ) { arguments throws(CommandFailure) in
      let action = HabitAction.archive(habit: arguments.operands[0], isArchived: isArchived)
      return try AgentApp.order(arguments, app, action.json)
    }
  }

  private static let move = Command(
    name: "move", summary: "Moves a habit to another place in the list, on all devices.",
    options: AgentApp.options,
    operands: Command.Operands(
      "HABIT PLACE", "The habit, and its new number; 1 is the first.", counts: 2...2)
  ) { arguments throws(CommandFailure) in
    let word = arguments.operands[1]
    guard let place = Int64(word), place >= 1 else {
      throw CommandFailure(
        localized(
          "\"{word}\" is not a place in the list; give a number, such as 1",
          ["word": Log.oneLine(word)]),
        exitCode: .usage)
    }
    let action = HabitAction.move(habit: arguments.operands[0], place: place)
    return try AgentApp.order(arguments, app, action.json)
  }

  private static func check(_ name: String, _ summary: String, _ isDone: Bool) -> Command {
    Command(
      name: name, summary: summary, options: [on.entry] + AgentApp.options, operands: habit
    ) { arguments throws(CommandFailure) in
      let action = try HabitAction.check(
        habit: arguments.operands[0],
        // What another device has marked by mistake can be taken back.
        day: isDone ? dayUntilToday(arguments) : day(arguments), isDone: isDone)
      return try AgentApp.order(arguments, app, action.json)
    }
  }

  private static let count = Command(
    name: "count", summary: "Adds to a habit's count of the day.",
    options: [isUndone.entry, on.entry] + AgentApp.options,
    operands: Command.Operands(
      "HABIT +N", "The habit, and the number to add; 1 if not given.", counts: 1...2)
  ) { arguments throws(CommandFailure) in
    let word = arguments.operands.dropFirst().first ?? "1"
    guard let amount = Int64(word) else {
      throw CommandFailure(
        localized(
          "\"{word}\" is not a number to count by; give a whole number, such as 3",
          ["word": Log.oneLine(word)]),
        exitCode: .usage)
    }
    let action = HabitAction.count(
      habit: arguments.operands[0],
      day: arguments[isUndone] ? day(arguments) : try dayUntilToday(arguments),
      by: arguments[isUndone] ? 0 - amount : amount)
    return try AgentApp.order(arguments, app, action.json)
  }

  private static let list = Command(
    name: "list", summary: "Shows all habits with the last seven days.",
    options: [isArchived.entry, on.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    let question = HabitQuestion.week(day: day(arguments), isArchived: arguments[isArchived])
    return try AgentApp.show(arguments, app, question.json)
  }

  private static let day = Command(
    name: "day", summary: "Shows one day.", options: AgentApp.options,
    operands: Command.Operands("DATE", "Such as 2026-03-01; today if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let date = arguments.operands.first ?? AgentApp.today
    return try AgentApp.show(arguments, app, HabitQuestion.day(date).json)
  }

  private static let stats = Command(
    name: "stats", summary: "Shows streaks, and how often each habit was done in thirty days.",
    discussion: """
      A streak is the days in a row on which the goal was reached, until today, or until yesterday \
      if it is not reached yet today. The rate is that of the last thirty days, or of the days \
      since the first one on which something was done, if they are fewer.
      """,
    options: [on.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, HabitQuestion.statistics(day: day(arguments)).json)
  }

  private static let conflicts = Command(
    name: "conflicts", summary: "Shows habits that were changed on two devices, side by side.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, HabitQuestion.conflicts.json)
  }

  private static let keep = Command(
    name: "keep", summary: "Resolves a conflict: keeps this device's version, or the cloud's.",
    options: AgentApp.options,
    operands: Command.Operands(
      "VERSION HABIT", "local or cloud, and the habit.", counts: 2...2,
      known: .words(["local", "cloud"]), .none)
  ) { arguments throws(CommandFailure) in
    let (version, habit) = (arguments.operands[0], arguments.operands[1])
    return try AgentApp.order(
      arguments, app, HabitAction.keep(habit: habit, version: version).json)
  }

  private static let status = Command(
    name: "status", summary: "Shows the sync status, and the reason if habits are not in sync.",
    options: AgentApp.options, action: AgentStatusCommand.run)

  private static let watch = HomeWatch.command(
    "Shows the week live; without a terminal, a JSON line per change.", app: app,
    question: { _ throws(CommandFailure) in HabitQuestion.week(day: AgentApp.today).json })
}

/// `lockstep habits restore`: decides about habits that existed before this device joined.
enum AgentHabitsRestoreCommand {
  static let isSure = CommandOption.flag("yes", "Wipe without a confirmation.")

  static let command = Command(
    name: "restore",
    summary: "Accepts or deletes the account's habits, on a device that started without any.",
    discussion: """
      yes accepts them. wipe deletes them on all devices, as far as this one has read them; it \
      asks for a confirmation, or needs --yes. Until you decide, nothing is shown here, and \
      nothing is overwritten.
      """,
    options: [isSure.entry] + AgentApp.options,
    operands: Command.Operands("ANSWER", "yes or wipe.", known: .words(["yes", "wipe"]))
  ) { arguments throws(CommandFailure) in
    let word = arguments.operands[0]
    guard ["yes", "wipe"].contains(word) else {
      throw CommandFailure(
        localized("\"{word}\" is neither yes nor wipe", ["word": Log.oneLine(word)]),
        exitCode: .usage)
    }
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let app = HabitsApp()
      if session.isHolder {
        _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      }
      let count = HomeStatus(json: try session.send(.status)).restoreCount(of: app.name)
      if word == "wipe" {
        guard let count else {
          throw CommandFailure(
            localized(
              "no decision is pending on this device; remove single habits with "
                + "lockstep habits remove"))
        }
        guard try isConfirmed(arguments, app.name, count) else {
          throw CommandFailure(localized("nothing was deleted"))
        }
        try RestorePrompt.deleteRecords(session, app.name, app.zone)
      } else if count != nil {
        try RestorePrompt.acceptRecords(session, app.name)
      }
      return try printResult(arguments, word, count ?? 0)
    }
  }

  private static func isConfirmed(
    _ arguments: Arguments, _ app: String, _ count: Int64
  ) throws(CommandFailure) -> Bool {
    if arguments[isSure] { return true }
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        localized(
          "this deletes {count} habits on all devices; confirm with --yes",
          ["count": String(count)]))
    }
    return RestorePrompt.confirmDeletion(app, count)
  }

  private static func printResult(
    _ arguments: Arguments, _ word: String, _ count: Int64
  ) throws(CommandFailure) -> ExitCode {
    let number = JSONValue.number(JSONNumber(count))
    if arguments[AgentCommand.json] {
      let json: JSONValue = ["restore": .string(word), "habits": number]
      return try TerminalOutput.printed(json.text)
    }
    if word == "wipe" {
      return try TerminalOutput.printed(
        localized(
          count: count, one: "{count} habit deleted on all devices",
          many: "{count} habits deleted on all devices"))
    }
    return try TerminalOutput.printed(
      count == 0
        ? localized("no decision is pending")
        : localized(
          count: count, one: "{count} habit accepted", many: "{count} habits accepted"))
  }
}
