import LockstepApps
import LockstepModel

/// `lockstep agent clipboard`: the clipboard that all devices share.
enum AgentClipboardCommand {
  static let command = Command(
    name: "clipboard",
    summary: "Is a clipboard that all devices share: add, list, copy, remove, clear, and watch it.",
    discussion: """
      The \(Limits.clipboardItems) newest items stand; older ones go. An item is named by its \
      number in the list, from 1, the newest. Switched off, a device keeps what is copied on it to \
      itself, and takes nothing of others, until it is switched on again.
      """,
    subcommands: [
      add, list, copy, remove, clear, AgentClipboardSyncCommands.on,
      AgentClipboardSyncCommands.off, AgentClipboardSyncCommands.status, watch,
    ])

  private static let app = ClipboardApp().name
  private static let item = Command.Operands("ITEM", "Its number in the list.")

  private static let add = Command(
    name: "add",
    summary: "Adds a text, or what comes on standard input.",
    discussion: "On a desktop: wl-paste | lockstep agent clipboard add --home DIR",
    options: AgentApp.options,
    operands: Command.Operands(
      "TEXT", "What is copied; standard input, if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let text = try AgentApp.text(arguments.operands, "the text")
    return try AgentApp.order(
      arguments, app, ["do": "add", "name": AgentApp.newName, "content": .string(text)])
  }

  private static let list = Command(
    name: "list", summary: "Shows what was copied, the newest first.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in try AgentApp.show(arguments, app, ["show": "list"]) }

  private static let copy = Command(
    name: "copy",
    summary: "Prints an item as it is, byte for byte.",
    discussion: """
      On a desktop: lockstep agent clipboard copy --home DIR 1 | wl-copy

      A terminal does not get what would act on it: escapes stand in its place.
      """,
    options: AgentApp.options, operands: item
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let question: JSONValue = ["show": "item", "item": .string(arguments.operands[0])]
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
    try AgentApp.order(arguments, app, ["do": "remove", "item": .string(arguments.operands[0])])
  }

  private static let clear = Command(
    name: "clear", summary: "Removes all items from all devices.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in try AgentApp.order(arguments, app, ["do": "clear"]) }

  private static let watch = HomeWatch.command(
    "Shows the clipboard live; without a terminal, a JSON line a change.", app: app,
    question: { _ throws(CommandFailure) in ["show": "list"] })
}
