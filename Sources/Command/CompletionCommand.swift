import LockstepCommandLine

/// `lockstep completion`: scripts with which shells complete the program's command lines.
enum CompletionCommand {
  static let command: Command = Command(
    name: "completion",
    summary: "Prints a script with which bash, zsh or fish completes commands and options.",
    discussion: """
      In bash, add to ~/.bashrc: source <(lockstep completion bash)

      In zsh, add to ~/.zshrc, after compinit: source <(lockstep completion zsh)

      In fish: lockstep completion fish > ~/.config/fish/completions/lockstep.fish

      The packages of distributions install these scripts already.
      """,
    subcommands: CompletionShell.allCases.map(script) + [words])

  private static func script(_ shell: CompletionShell) -> Command {
    Command(
      name: shell.rawValue, summary: "Prints the script for \(shell.rawValue)."
    ) { _ throws(CommandFailure) in
      try TerminalOutput.printed(shell.script(of: RootCommand.root.name))
    }
  }

  private static let words: Command = Command(
    name: "words",
    summary: "Prints the words that can follow; the scripts use it.",
    discussion: """
      The first line is none, files or folders: names that the shell completes by itself. Each \
      further line is a word, with a tab before its help.
      """,
    operands: Command.Operands(
      "SHELL WORD", "The shell; then, after --, the words after lockstep, the last one unfinished.",
      counts: 1...10_000, known: .words(CompletionShell.allCases.map(\.rawValue)), .none)
  ) { arguments throws(CommandFailure) in
    guard let shell = CompletionShell(rawValue: arguments.operands[0]) else {
      let shells = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
      throw CommandFailure(
        "\"\(Log.oneLine(arguments.operands[0]))\" is no shell that is known here; name one of "
          + shells, exitCode: .usage)
    }
    return try TerminalOutput.printed(
      shell.answer(to: Array(arguments.operands.dropFirst()), root: RootCommand.root))
  }
}
