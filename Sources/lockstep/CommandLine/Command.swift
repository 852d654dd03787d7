/// One command of the program: a word, what it takes, and what it does; or a group of such. The
/// help text, the parser and the names in the environment all come from here.
///
/// A command is written in a file of its own:
///
/// ```
/// enum GreetCommand {
///   static let name = CommandOption.required("name", .text("NAME"), "Whom to greet.")
///   static let loud = CommandOption.flag("loud", "Shout.")
///   static let command = Command(
///     name: "greet", summary: "Greets somebody.", options: [name.entry, loud.entry]
///   ) { arguments throws(CommandFailure) in
///     try TerminalOutput.standard.write("hello, \(arguments[name])\n")
///     return .success
///   }
/// }
/// ```
package struct Command: Sendable {
  package typealias Action = @Sendable (Arguments) throws(CommandFailure) -> ExitCode

  package let name: String
  /// One line for the list that the command stands in.
  package let summary: String
  /// What a person wants to know before using it; may be empty.
  package let discussion: String
  package let options: [CommandOptionEntry]
  /// What stands on the line besides options; nil where nothing may.
  package let operands: Operands?
  /// Besides an action too: the word that follows says which is meant.
  package let subcommands: [Command]
  /// nil for a group, which is only a way to its subcommands.
  package let action: Action?

  /// Words that are no options, such as a name or files.
  package struct Operands: Sendable {
    /// As in the usage line: `NAME`, or `FROM TO` for several.
    package let placeholder: String
    package let help: String
    package let counts: ClosedRange<Int>

    package init(_ placeholder: String, _ help: String, counts: ClosedRange<Int> = 1...1) {
      self.placeholder = placeholder
      self.help = help
      self.counts = counts
    }

    package var names: [String] { placeholder.split(separator: " ").map(String.init) }
  }

  package init(
    name: String, summary: String, discussion: String = "", options: [CommandOptionEntry] = [],
    operands: Operands? = nil, subcommands: [Command] = [], action: @escaping Action
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options
    self.operands = operands
    self.subcommands = subcommands
    self.action = action
  }

  package init(name: String, summary: String, discussion: String = "", subcommands: [Command]) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    options = []
    operands = nil
    self.subcommands = subcommands
    action = nil
  }
}

/// What the program's caller is told.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// It was tried, and it did not work out.
  case failure = 1
  /// It was not understood.
  case usage = 2
}

/// Why a command ends early.
package struct CommandFailure: Error, Hashable, Sendable {
  /// One sentence, or more, with the next step; nil where there is nothing left to say.
  package let message: String?
  package let exitCode: ExitCode

  package init(_ message: String, exitCode: ExitCode = .failure) {
    self.message = message
    self.exitCode = exitCode
  }

  private init() {
    message = nil
    exitCode = .failure
  }

  /// Nobody reads what the command prints any more (`lockstep … | head`): it ends without a word.
  package static let nobodyReads = CommandFailure()
}
