import LockstepApps
import LockstepModel

/// `lockstep agent timer settings`: shows or changes the timer's settings.
enum AgentTimerSettingsCommand {
  static let command = Command(
    name: "settings",
    summary: "Shows the timer's settings, or changes them on all devices.",
    discussion: """
      They are merged setting by setting where two devices change them at once, and hold from the \
      next phase on.
      """,
    subcommands: [get, set])

  private static let app = TimerApp().name

  private static let get = Command(
    name: "get", summary: "Shows all settings, as they hold.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in try AgentApp.show(arguments, app, TimerApp.settings) }

  private static let set = Command(
    name: "set", summary: "Changes settings: focusMinutes=50 autoStart=false",
    options: AgentApp.options,
    operands: Command.Operands("NAME=VALUE", "What is to be what; several at once.", counts: 1...10)
  ) { arguments throws(CommandFailure) in
    var settings: [JSONMember] = []
    for word in arguments.operands {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else {
        throw CommandFailure(
          "\"\(Log.oneLine(word))\" is not of the form NAME=VALUE", exitCode: .usage)
      }
      settings.append(JSONMember(String(parts[0]), value(String(parts[1]))))
    }
    let all = JSONValue.null.setting(settings)
    return try AgentApp.order(arguments, app, ["do": "set", "settings": all])
  }

  /// Returns the text as a JSON number or Boolean if it is one, otherwise as a string.
  private static func value(_ text: String) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: Array(text.utf8))
    } catch {
      return .string(text)
    }
  }
}
