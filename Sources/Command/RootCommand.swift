import Glibc
import LockstepBench
import LockstepCommandLine
import LockstepDashboard
import LockstepDoctor
import LockstepGateway
import LockstepLanguage
import LockstepRelayService

/// The program: its command tree, and the dispatch to the requested command.
package enum RootCommand {
  /// Each top-level command has its own file and one line here.
  package static let root: Command = Command(
    name: "lockstep",
    summary: "Keeps a person's devices in lockstep.",
    discussion: """
      A relay stores each account's records durably and pushes changes to the account's devices; \
      each device keeps working without it and catches up.
      """,
    subcommands: [
      SetupCommand.command, RelayCommand.command, AccountCommand.command, AgentCommand.command,
    ] + AgentCommand.apps + [
      DoctorCommand.command, TopCommand.command, TraceCommand.command, BenchCommand.command,
      ResolveCommand.command, GatewayCommand.command, CompletionCommand.command,
      ManualCommand.command, VersionCommand.command,
    ])

  /// Runs the process's command line. Rejects arguments that are not UTF-8, because decoding them
  /// would change the text that is stored.
  package static func start() -> ExitCode {
    let arguments = CommandLine.unsafeArgv
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = arguments[index] else { continue }
      guard String(validatingCString: argument) != nil else {
        complain("\(root.name): word \(index) of the command is not UTF-8 text; nothing was done")
        return .usage
      }
    }
    let words = Array(CommandLine.arguments.dropFirst())
    let language = LanguageSetting(environment: environment).language(for: words)
    return language { run(words) }
  }

  /// Runs the command in `words`, the arguments after the program's name. Faults go to standard
  /// error, each with its next step.
  package static func run(_ words: [String]) -> ExitCode {
    // A write to a closed pipe then returns an error instead of killing the process.
    signal(SIGPIPE, SIG_IGN)
    let parser = ArgumentsParser(root: root, environment: environment)
    do throws(ArgumentsFault) {
      switch try parser.parse(words) {
      case .run(let path, let action, let arguments):
        let language =
          path.dropFirst().first.map(hasLanguages) == true ? .current : Language.english
        return language {
          perform(as: HelpText.name(of: path)) { () throws(CommandFailure) in
            try action(arguments)
          }
        }
      case .help(let path, let isFull):
        return perform(as: root.name) { () throws(CommandFailure) in
          try TerminalOutput.printed(
            HelpText.text(for: path, isFull: isFull, documents: .installed))
        }
      case .version:
        return perform(as: root.name, VersionCommand.printVersion)
      }
    } catch {
      complain("\(error.commandName): \(error.explanation)")
      return .usage
    }
  }

  /// True for the commands of a person's devices. Those of a relay and of operators are English, as
  /// their logs are.
  private static func hasLanguages(_ command: Command) -> Bool {
    ([AgentCommand.command, ResolveCommand.command] + AgentCommand.apps)
      .contains { $0.name == command.name }
  }

  private static func perform(
    as name: String, _ work: () throws(CommandFailure) -> ExitCode
  ) -> ExitCode {
    do throws(CommandFailure) {
      return try work()
    } catch {
      if let message = error.message { complain("\(name): \(message)") }
      return error.exitCode
    }
  }

  /// Writes a fault to standard error. It may contain text from a relay or another device, so it is
  /// escaped for a terminal.
  private static func complain(_ line: String) {
    let line = Documentation.installed.located(line)
    let isTerminal = TerminalOutput.standardError.isTerminal
    TerminalOutput.writeToStandardError((isTerminal ? TerminalOutput.escaped(line) : line) + "\n")
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}
