import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepModel

/// `lockstep clipboard`: the clipboard that all devices share.
enum AgentClipboardCommand {
  static let command = Command(
    name: "clipboard",
    summary: "Shares a clipboard between all devices: add, list, copy, remove, clear, watch.",
    discussion: """
      The \(Limits.clipboardItems) newest items are kept; older ones are removed. An item is named \
      by its number in the list, from 1, the newest. While the clipboard is switched off, the \
      device neither sends nor receives items.
      """,
    subcommands: [
      add, list, copy, remove, clear, AgentClipboardSyncCommands.on,
      AgentClipboardSyncCommands.off, AgentClipboardSyncCommands.status, watch,
    ])

  private static let app = ClipboardApp().name
  private static let item = Command.Operands("ITEM", "Its number in the list.")

  private static let add = Command(
    name: "add",
    summary: "Adds a text, or standard input.",
    discussion: "On a desktop: wl-paste | lockstep clipboard add",
    options: AgentApp.options,
    operands: Command.Operands(
      "TEXT", "The text to add; standard input if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let text = try AgentApp.text(arguments.operands, "the text")
    return try AgentApp.order(
      arguments, app, ClipboardAction.add(content: text, name: AgentApp.newName).json)
  }

  private static let list = Command(
    name: "list", summary: "Shows the items, the newest first.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, ClipboardQuestion.list.json)
  }

  private static let copy = Command(
    name: "copy",
    summary: "Prints an item, byte for byte.",
    discussion: """
      On a desktop: lockstep clipboard copy 1 | wl-copy

      On a terminal, characters that would control it are printed as escapes.
      """,
    options: AgentApp.options, operands: item
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let question = ClipboardQuestion.item(arguments.operands[0]).json
      let (view, _) = try AgentApp.view(session, app, question)
      if arguments[AgentCommand.json] { return try TerminalOutput.printed(view.json.text) }
      try TerminalOutput.standard.writeForPerson(view.json["content"]?.string ?? "")
      return .success
    }
  }

  private static let remove = Command(
    name: "remove", summary: "Removes an item from all devices.", options: AgentApp.options,
    operands: item
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, ClipboardAction.remove(item: arguments.operands[0]).json)
  }

  private static let clear = Command(
    name: "clear", summary: "Removes all items from all devices.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, ClipboardAction.clear.json)
  }

  private static let watch = HomeWatch.command(
    "Shows the clipboard live; without a terminal, a JSON line per change.", app: app,
    question: { _ throws(CommandFailure) in ClipboardQuestion.list.json })
}

/// `lockstep clipboard on|off|status`.
enum AgentClipboardSyncCommands {
  static let on = switchCommand(
    "on", "Syncs the clipboard again, including the items that were copied meanwhile.",
    isOn: true)
  static let off = switchCommand(
    "off",
    "Stops the sync of this device's clipboard: no items are sent or received.",
    isOn: false)

  static let status = Command(
    name: "status",
    summary: "Shows whether the clipboard is on, its number of items, and the sync status.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let app = ClipboardApp()
      let (view, _) = try AgentApp.view(session, app.name, ClipboardQuestion.list.json)
      let status = HomeStatus(json: try session.send(.status))
      let waiting = status.waitingChanges(inDisabled: app.zone)
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
        waiting.map { $0 == 0 ? "off, \(items)" : "off, \(items); \($0) waiting to be sent" }
        ?? "on, \(items)"
      return try TerminalOutput.printed(
        "clipboard \(state)\n" + status.text(wall: SystemClock.moment().wall))
    }
  }

  private static func switchCommand(_ name: String, _ summary: String, isOn: Bool) -> Command {
    Command(name: name, summary: summary, options: AgentApp.options) {
      arguments throws(CommandFailure) in
      try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        let zone = ClipboardApp().zone
        let answer = try session.send(.setSyncing(zone: zone, isOn))
        let patience = isOn || session.isHolder ? HomeSession.patienceMilliseconds : 0
        let status = HomeStatus(json: try session.send(.sync(milliseconds: patience)))
        if arguments[AgentCommand.json] {
          return try TerminalOutput.printed(
            answer.setting("on", to: .bool(isOn)).text)
        }
        let was = answer["changed"]?.bool == true ? "is now" : "was already"
        let code = try TerminalOutput.printed("the clipboard \(was) \(name)")
        if isOn, !status.isInSync {
          TerminalOutput.writeToStandardError(
            "lockstep: \(status.syncNote(syncsFurther: !session.isHolder))\n")
        }
        return code
      }
    }
  }
}
