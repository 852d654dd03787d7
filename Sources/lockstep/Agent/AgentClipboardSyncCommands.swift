import LockstepApps
import LockstepEventLoop
import LockstepModel

/// `lockstep agent clipboard on|off|status`.
enum AgentClipboardSyncCommands {
  static let on = switching(
    "on", "Syncs the clipboard again; what was copied meanwhile, here and there, meets.",
    isOn: true)
  static let off = switching(
    "off",
    "Keeps this device's clipboard to itself: nothing goes out, and what others copy stays out.",
    isOn: false)

  static let status = Command(
    name: "status",
    summary: "Tells whether the clipboard is on, how much is in it, and whether it is in sync.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let app = ClipboardApp()
      let (view, _) = try AgentApp.view(session, app.name, ["show": "list"])
      let status = HomeStatus(json: try session.ask(.status))
      let waiting = status.waitingOff(in: app.zone)
      let count = Int64(view.json["items"]?.array?.count ?? 0)
      if arguments[AgentCommand.json] {
        let clipboard: JSONValue = [
          "on": .bool(waiting == nil), "items": .number(JSONNumber(count)),
          "waiting": .number(JSONNumber(waiting ?? 0)),
        ]
        return try TerminalOutput.printed(status.json.setting("clipboard", to: clipboard).text)
      }
      let items = count == 1 ? "1 item" : "\(count) items"
      let state =
        waiting.map { $0 == 0 ? "off, \(items)" : "off, \(items); \($0) to go out once it is on" }
        ?? "on, \(items)"
      return try TerminalOutput.printed(
        "clipboard \(state)\n" + status.text(wall: SystemClock.moment().wall))
    }
  }

  private static func switching(_ name: String, _ summary: String, isOn: Bool) -> Command {
    Command(name: name, summary: summary, options: AgentApp.options) {
      arguments throws(CommandFailure) in
      try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        let zone = ClipboardApp().zone
        let answer = try session.ask(.setSyncing(zone: zone, isOn))
        let patience = isOn || session.isHolder ? AgentCommand.patienceMilliseconds : 0
        let status = HomeStatus(json: try session.ask(.sync(milliseconds: patience)))
        if arguments[AgentCommand.json] {
          return try TerminalOutput.printed(
            answer.setting("on", to: .bool(isOn)).text)
        }
        let was = answer["changed"]?.bool == true ? "is now" : "was already"
        let code = try TerminalOutput.printed("the clipboard \(was) \(name)")
        if isOn, !status.isInSync {
          TerminalOutput.writeToStandardError(
            "lockstep: \(AgentCommand.syncNote(status, goesOn: !session.isHolder))\n")
        }
        return code
      }
    }
  }
}
