import Glibc
import LockstepApps
import LockstepModel

/// `lockstep agent habits restore`: decides about habits that existed before this device joined.
enum AgentHabitsRestoreCommand {
  static let isSure = CommandOption.flag("yes", "Wipe without asking once more.")

  static let command = Command(
    name: "restore",
    summary: "Says what becomes of the account's habits on a device that began with none.",
    discussion: """
      yes takes them. wipe deletes them on all devices, as far as this one has read them, and \
      starts anew; it asks once more, or wants --yes. Until it is said nothing is shown here, and \
      nothing written over.
      """,
    options: [isSure.entry] + AgentApp.options,
    operands: Command.Operands("ANSWER", "yes or wipe.")
  ) { arguments throws(CommandFailure) in
    let word = arguments.operands[0]
    guard ["yes", "wipe"].contains(word) else {
      throw CommandFailure(
        "\"\(Log.oneLine(word))\" is neither yes nor wipe", exitCode: .usage)
    }
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let app = HabitsApp()
      if session.isHolder {
        _ = try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds))
      }
      let count = HomeStatus(json: try session.ask(.status)).restoreCount(of: app.name)
      if word == "wipe" {
        guard let count else {
          throw CommandFailure(
            "nothing waits for that answer: this device's habits are its own; "
              + "remove single ones with lockstep agent habits remove")
        }
        guard try isMeant(arguments, app.name, count) else {
          throw CommandFailure("nothing was deleted")
        }
        try RestorePrompt.wipe(session, app.name, app.zone)
      } else if count != nil {
        try RestorePrompt.keep(session, app.name)
      }
      return try printed(arguments, word, count ?? 0)
    }
  }

  private static func isMeant(
    _ arguments: Arguments, _ app: String, _ count: Int64
  ) throws(CommandFailure) -> Bool {
    if arguments[isSure] { return true }
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        "this deletes \(count) habits on all devices; say --yes if that is meant")
    }
    return RestorePrompt.isSure(app, count)
  }

  private static func printed(
    _ arguments: Arguments, _ word: String, _ count: Int64
  ) throws(CommandFailure) -> ExitCode {
    let number = JSONValue.number(JSONNumber(count))
    if arguments[AgentCommand.json] {
      let json: JSONValue = ["restore": .string(word), "habits": number]
      return try TerminalOutput.printed(json.text)
    }
    let habits = count == 1 ? "1 habit" : "\(count) habits"
    return try TerminalOutput.printed(
      word == "wipe"
        ? "\(habits) deleted on all devices"
        : count == 0 ? "nothing waits for that answer" : "\(habits) taken")
  }
}
