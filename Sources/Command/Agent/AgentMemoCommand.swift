import LockstepApps
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage

/// `lockstep memo`: notes.
enum AgentMemoCommand {
  static let command = Command(
    name: "memo",
    summary: "Stores notes: add, edit, show, remove, list, search, watch.",
    discussion: """
      A memo is named by its number in the list, or by the beginning of its title. If two \
      devices edit the same memo, the newer text stays, and the other one is kept as a separate \
      memo, marked as another version.
      """,
    subcommands: [add, edit, show, remove, list, search, watch])

  private static let app = MemosApp().name
  private static let memo = Command.Operands("MEMO", "Its number, or the beginning of its title.")

  private static let add = Command(
    name: "add",
    summary: "Adds a memo; its first line is its title.",
    options: AgentApp.options,
    operands: Command.Operands("TEXT", "Its text; standard input if not given.", counts: 0...1)
  ) { arguments throws(CommandFailure) in
    let text = try AgentApp.text(arguments.operands, localized("the memo"))
    return try AgentApp.order(
      arguments, app, MemoAction.add(content: text, name: AgentApp.newName).json)
  }

  private static let edit = Command(
    name: "edit",
    summary: "Opens a memo in $EDITOR, or reads its new text from standard input.",
    discussion: """
      If another device changes it meanwhile, both texts are kept. Without a terminal, the new \
      text is read from standard input.
      """,
    options: AgentApp.options, operands: memo
  ) { arguments throws(CommandFailure) in
    let question = MemoQuestion.memo(arguments.operands[0]).json
    // The home is closed while the person writes, so that other commands can use it.
    let before = try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try AgentApp.view(session, app, question).0.json
    }
    let (name, was) = (before["name"]?.string ?? "", before["content"]?.string ?? "")
    return try Editor.edit(was, suffix: ".md", localized("the memo")) {
      text throws(CommandFailure) in
      if text.utf8.elementsEqual(was.utf8) {
        return try TerminalOutput.printed(localized("nothing was changed"))
      }
      return try AgentApp.order(
        arguments, app, MemoAction.edit(memo: name, content: text, was: was).json)
    }
  }

  private static let show = Command(
    name: "show", summary: "Prints a memo.", options: AgentApp.options, operands: memo
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let question = MemoQuestion.memo(arguments.operands[0]).json
      let (view, _) = try AgentApp.view(session, app, question)
      // Escaped on a terminal, so that the text cannot move the cursor; a file gets it byte for
      // byte.
      let isForPerson = TerminalOutput.standard.isTerminal
      return try TerminalOutput.printed(
        arguments[AgentCommand.json]
          ? view.json.text : isForPerson ? view.text : view.json["content"]?.string ?? "")
    }
  }

  private static let remove = Command(
    name: "remove", summary: "Removes a memo from all devices.", options: AgentApp.options,
    operands: memo
  ) { arguments throws(CommandFailure) in
    try AgentApp.order(arguments, app, MemoAction.remove(memo: arguments.operands[0]).json)
  }

  private static let list = Command(
    name: "list", summary: "Shows all memos, the most recent first.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in try AgentApp.show(arguments, app, MemoQuestion.list.json)
  }

  private static let search = Command(
    name: "search", summary: "Shows the memos that contain all words.",
    options: AgentApp.options,
    operands: Command.Operands("WORDS", "Words, in upper or lower case.", counts: 1...50)
  ) { arguments throws(CommandFailure) in
    let words = arguments.operands.joined(separator: " ")
    return try AgentApp.show(arguments, app, MemoQuestion.search(words: words).json)
  }

  private static let watch = HomeWatch.command(
    "Shows the memos live; without a terminal, a JSON line per change.", app: app,
    question: { _ throws(CommandFailure) in MemoQuestion.list.json })
}
