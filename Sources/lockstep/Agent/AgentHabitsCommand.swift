import LockstepApps
import LockstepModel

/// `lockstep agent habits`: daily habits.
enum AgentHabitsCommand {
  static let command = Command(
    name: "habits",
    summary: "Keeps habits: add, edit, remove, check, count, see the week, and settle conflicts.",
    discussion: """
      A habit is checked once a day, or counted. It is named by its number in the list, or by the \
      beginning of its title. Where two devices changed a habit itself, both versions stand until \
      a person keeps one (conflicts, keep); checks and counts always add up.
      """,
    subcommands: [
      add, edit, remove, check("check", "Marks a habit as done.", true),
      check("uncheck", "Takes a check back.", false), count, list, day, conflicts, keep,
      AgentHabitsRestoreCommand.command, status, watch,
    ])

  private static let app = HabitsApp().name
  private static let habit = Command.Operands("HABIT", "Its number, or its title's beginning.")
  private static let on = CommandOption.optional(
    "day", ValueKind.text("DATE"), "Which day, as 2026-03-01; today if not given.")
  private static let isCount = CommandOption.flag("count", "It is counted, not checked.")
  private static let target = CommandOption.optional(
    "target", ValueKind.integer(1...Int(Limits.habitCount)), "How often a day is the aim.")
  private static let title = CommandOption.optional(
    "title", ValueKind.text("TITLE"), "What it is called from now on.")
  private static let isUndone = CommandOption.flag("undo", "Take it back instead.")

  private static func day(_ arguments: Arguments) -> JSONValue {
    .string(arguments[on] ?? AgentApp.today)
  }

  private static let add = Command(
    name: "add", summary: "Begins a habit.",
    options: [isCount.entry, target.entry] + AgentApp.options,
    operands: Command.Operands("TITLE", "What it is called.")
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(
      arguments, app,
      [
        "do": "add", "name": AgentApp.newName, "title": .string(arguments.operands[0]),
        "kind": .string(HabitKind(isCounted: arguments[isCount]).rawValue),
        "target": .number(JSONNumber(Int64(arguments[target] ?? 1))),
      ])
  }

  private static let edit = Command(
    name: "edit", summary: "Changes a habit's title or target.",
    options: [title.entry, target.entry] + AgentApp.options, operands: habit
  ) { arguments throws(CommandFailure) in
    let order: JSONValue = ["do": "edit", "habit": .string(arguments.operands[0])]
    return try AgentApp.order(
      arguments, app,
      order.setting("title", to: arguments[title].map { .string($0) })
        .setting("target", to: arguments[target].map { .number(JSONNumber(Int64($0))) }))
  }

  private static let remove = Command(
    name: "remove", summary: "Removes a habit; its days stay, and come back with it.",
    options: AgentApp.options, operands: habit
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, ["do": "remove", "habit": .string(arguments.operands[0])])
  }

  private static func check(_ name: String, _ summary: String, _ isDone: Bool) -> Command {
    Command(
      name: name, summary: summary, options: [on.entry] + AgentApp.options, operands: habit
    ) { arguments throws(CommandFailure) in
      try AgentApp.order(
        arguments, app,
        [
          "do": "check", "habit": .string(arguments.operands[0]), "day": day(arguments),
          "done": .bool(isDone),
        ])
    }
  }

  private static let count = Command(
    name: "count", summary: "Adds to a habit's count of the day.",
    options: [isUndone.entry, on.entry] + AgentApp.options,
    operands: Command.Operands("HABIT +N", "Which, and how many; 1 if not given.", counts: 1...2)
  ) { arguments throws(CommandFailure) in
    let word = arguments.operands.dropFirst().first ?? "1"
    guard let amount = Int64(word) else {
      throw CommandFailure(
        "\"\(Log.oneLine(word))\" is no number to count by; say a whole one, as 3",
        exitCode: .usage)
    }
    return try AgentApp.order(
      arguments, app,
      [
        "do": "count", "habit": .string(arguments.operands[0]), "day": day(arguments),
        "by": .number(JSONNumber(arguments[isUndone] ? 0 - amount : amount)),
      ])
  }

  private static let list = Command(
    name: "list", summary: "Shows all habits with the last seven days.",
    options: [on.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, ["show": "week", "day": day(arguments)])
  }

  private static let day = Command(
    name: "day", summary: "Shows one day.", options: AgentApp.options,
    operands: Command.Operands("DATE", "As 2026-03-01; today if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let date = arguments.operands.first ?? AgentApp.today
    return try AgentApp.show(arguments, app, ["show": "day", "day": .string(date)])
  }

  private static let conflicts = Command(
    name: "conflicts", summary: "Shows habits that were changed on two devices, side by side.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, ["show": "conflicts"])
  }

  private static let keep = Command(
    name: "keep", summary: "Settles a conflict: this device's version stands, or the cloud's.",
    options: AgentApp.options,
    operands: Command.Operands("VERSION HABIT", "local or cloud, and which habit.", counts: 2...2)
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(
      arguments, app,
      [
        "do": "keep", "version": .string(arguments.operands[0]),
        "habit": .string(arguments.operands[1]),
      ])
  }

  private static let status = Command(
    name: "status", summary: "Tells whether habits are in sync, and if not, why.",
    options: AgentApp.options, action: AgentStatusCommand.run)

  private static let watch = HomeWatch.command(
    "Shows the week live; without a terminal, a JSON line a change.", app: app,
    question: { _ throws(CommandFailure) in ["show": "week", "day": .string(AgentApp.today)] })
}

extension HabitKind {
  fileprivate init(isCounted: Bool) { self = isCounted ? .count : .checkbox }
}
