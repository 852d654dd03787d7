import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// `lockstep clipboard`: the clipboard that all devices share.
enum AgentClipboardCommand {
  static let command = Command(
    name: "clipboard",
    summary: "Shares a clipboard between all devices: add, list, copy, get, pin, remove, watch.",
    discussion: """
      Up to \(Limits.clipboardItems) items are kept: the pinned ones, and the newest others. An \
      item is named by its number in the list, which begins with the pinned items. While the \
      clipboard is switched off, the device neither sends nor receives items.
      """,
    subcommands: [
      add, list, copy, AgentClipboardGetCommand.command, pin, unpin, remove, clear,
      AgentClipboardSyncCommands.on,
      AgentClipboardSyncCommands.off, AgentClipboardSyncCommands.status, watch,
    ])

  private static let app = ClipboardApp().name
  static let item = Command.Operands("ITEM", "Its number in the list.")

  private static let add = Command(
    name: "add",
    summary: "Adds a text, or standard input.",
    discussion: "On a desktop: wl-paste | lockstep clipboard add",
    options: AgentApp.options,
    operands: Command.Operands(
      "TEXT", "The text to add; standard input if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let text = try AgentApp.text(arguments.operands, localized("the text"))
    return try AgentApp.order(
      arguments, app, ClipboardAction.add(content: text, name: AgentApp.newName).json)
  }

  private static let list = Command(
    name: "list",
    summary: "Shows the items: the pinned ones first, then the newest.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, ClipboardQuestion.list.json)
  }

  private static let copy = Command(
    name: "copy",
    summary: "Prints the text of an item, byte for byte.",
    discussion: """
      On a desktop: lockstep clipboard copy 1 | wl-copy

      On a terminal, characters that would control it are printed as escapes. An image is written \
      by lockstep clipboard get.
      """,
    options: AgentApp.options, operands: item
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let question = ClipboardQuestion.item(arguments.operands[0]).json
      let (view, _) = try AgentApp.view(session, app, question)
      if arguments[AgentCommand.json] { return try TerminalOutput.printed(view.json.text) }
      if view.json["image"] != nil {
        throw CommandFailure(
          localized(
            "this item is an image; write it to a file with lockstep clipboard get ITEM --output "
              + "FILE"))
      }
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

  private static let pin = Command(
    name: "pin",
    summary: "Pins an item: it is listed first, and stays when older items are removed.",
    discussion: """
      At most \(Limits.clipboardPins) items can be pinned. A device with an earlier version of the \
      program does not know pins, and may remove a pinned item that is older than \
      \(Limits.clipboardItems) others.
      """,
    options: AgentApp.options, operands: item
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, ClipboardAction.pin(item: arguments.operands[0]).json)
  }

  private static let unpin = Command(
    name: "unpin", summary: "Returns a pinned item to its place among the others.",
    options: AgentApp.options, operands: item
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, ClipboardAction.unpin(item: arguments.operands[0]).json)
  }

  private static let all = CommandOption.flag("all", "Removes the pinned items as well.")

  private static let clear = Command(
    name: "clear", summary: "Removes all items that are not pinned from all devices.",
    options: [all.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(
      arguments, app, ClipboardAction.clear(includesPinned: arguments[all]).json)
  }

  private static let isMirrored = CommandOption.flag(
    "sync", "Mirror the clipboard of this desktop instead, both ways.")

  private static let watch = Command(
    name: "watch",
    summary: "Shows the clipboard live, or mirrors that of the desktop (--sync).",
    discussion: """
      \(HomeWatch.discussion) Without a terminal, it prints a JSON line per change.

      \(ClipboardSync.discussion)
      """,
    options: [isMirrored.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    if arguments[isMirrored] { return try ClipboardSync.run(arguments) }
    return try HomeWatch.run(arguments, app: app, question: ClipboardQuestion.list.json)
  }
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
      return try TerminalOutput.printed(
        text(items: count, waiting: waiting) + "\n" + status.text(wall: SystemClock.moment().wall))
    }
  }

  /// Returns the state in one line. `waiting`: changes that wait while it is off; nil: it is on.
  static func text(items: Int64, waiting: Int64?) -> String {
    guard let waiting else {
      return localized(
        count: items, one: "clipboard on, {count} item", many: "clipboard on, {count} items")
    }
    if waiting == 0 {
      return localized(
        count: items, one: "clipboard off, {count} item", many: "clipboard off, {count} items")
    }
    return localized(
      count: items, one: "clipboard off, {count} item; {waiting} waiting to be sent",
      many: "clipboard off, {count} items; {waiting} waiting to be sent",
      ["waiting": String(waiting)])
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
        let code = try TerminalOutput.printed(
          switchText(isOn: isOn, hasChanged: answer["changed"]?.bool == true))
        if isOn, !status.isInSync {
          TerminalOutput.writeToStandardError(
            "lockstep: \(status.syncNote(syncsFurther: !session.isHolder))\n")
        }
        return code
      }
    }
  }

  private static func switchText(isOn: Bool, hasChanged: Bool) -> String {
    switch (isOn, hasChanged) {
    case (true, true): localized("the clipboard is now on")
    case (true, false): localized("the clipboard was already on")
    case (false, true): localized("the clipboard is now off")
    case (false, false): localized("the clipboard was already off")
    }
  }
}
