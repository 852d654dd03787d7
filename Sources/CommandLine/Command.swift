import LockstepLanguage

/// One command of the program with its name, arguments and action, or a group of commands. The help
/// text, the parser and the names in the environment are derived from it.
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
  /// One line for the parent command's list.
  package let summary: String
  /// Details for a person who is about to use it; may be empty.
  package let discussion: String
  package let options: [CommandOptionEntry]
  /// Words besides options; nil if none are allowed.
  package let operands: Operands?
  /// Subcommands. If there is an action too, the next word selects between them.
  package let subcommands: [Command]
  /// Nil for a group, which only leads to its subcommands.
  package let action: Action?
  /// True for a command of a group that is also a command of the program itself, where help and
  /// manual describe it.
  package private(set) var hasShortForm = false

  /// The same command in a group, as another form of a command of the program.
  package var inGroup: Command {
    var command = self
    command.hasShortForm = true
    return command
  }

  /// Words that are not options, such as a name or files.
  package struct Operands: Sendable {
    /// Text in the usage line: `NAME`, or `FROM TO` for several.
    package let placeholder: String
    package let help: String
    package let counts: ClosedRange<Int>
    /// Values that a shell can complete, by position; the last stands for all that follow.
    package let known: [KnownValues]

    package init(
      _ placeholder: String, _ help: String, counts: ClosedRange<Int> = 1...1,
      known: KnownValues...
    ) {
      self.placeholder = placeholder
      self.help = help
      self.counts = counts
      self.known = known
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

  /// Returns the command with one more option, or the group with the option on all its commands.
  /// `begin`: called with the arguments before the command's action.
  package func withOption(
    _ entry: CommandOptionEntry, _ begin: @escaping @Sendable (Arguments) -> Void = { _ in }
  ) -> Command {
    guard let action else {
      return Command(
        name: name, summary: summary, discussion: discussion,
        subcommands: subcommands.map { $0.withOption(entry, begin) })
    }
    return Command(
      name: name, summary: summary, discussion: discussion, options: options + [entry],
      operands: operands, subcommands: subcommands
    ) { arguments throws(CommandFailure) in
      begin(arguments)
      return try action(arguments)
    }
  }
}

/// Exit code of the program.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// The command was tried and failed.
  case failure = 1
  /// The command line was not understood.
  case usage = 2
}

/// Failure that ends a command early.
package struct CommandFailure: Error, Hashable, Sendable {
  /// One or more sentences with the next step; nil if there is nothing left to say.
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

  /// The reader of standard output has closed it (`lockstep … | head`): the command ends without a
  /// message.
  package static let outputClosed = CommandFailure()
}

extension CommandFailure {
  /// Runs `work`. Throws its error as a failure with the error's text, in the person's language if
  /// the tables have it.
  package static func wrap<Result, Failure: Error>(
    _ work: () throws(Failure) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(Failure) {
      return try work()
    } catch {
      throw CommandFailure(translated("\(error)"))
    }
  }
}
