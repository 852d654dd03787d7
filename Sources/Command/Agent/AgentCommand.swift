import Glibc
import Lockstep
import LockstepBench
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel

/// `lockstep agent`: a device.
enum AgentCommand {
  static let command = Command(
    name: "agent",
    summary: "Runs a device: joins an account, syncs a home, and runs its apps.",
    discussion: """
      A home is a folder that holds one device's data. All commands but join and pair work \
      without a relay; changes are synced when it is reachable. One process holds a home at a \
      time; other commands send their requests to that process. Without --home or LOCKSTEP_HOME, \
      it is \(DefaultHome.text) (in XDG_DATA_HOME, if that is set).
      """,
    subcommands: [
      AgentJoinCommand.command, AgentPairCommand.command, AgentStatusCommand.command,
      AgentSyncCommand.command, AgentRunCommand.command, AgentWakeCommand.command,
      AgentKeyCommand.command, AgentSealCommand.command, AgentDevicesCommand.command,
      AgentRenameCommand.command, AgentRevokeCommand.command, AgentExportCommand.command,
      AgentLeaveCommand.command, AgentSimulateCommand.command,
    ].map(withCommonOptions) + [AgentLanguageCommand.command] + apps.map(\.inGroup))

  /// The apps, which are also commands of the program: `lockstep timer`.
  static let apps = [
    AgentTimerCommand.command, AgentClipboardCommand.command, AgentMemoCommand.command,
    AgentHabitsCommand.command, AgentVaultCommand.command,
  ].map(withCommonOptions)

  private static func withCommonOptions(_ command: Command) -> Command {
    AgentClock.settable(command).withOption(LanguageSetting.option.entry)
  }

  static let home = CommandOption.defaulted(
    "home", .folder, default: DefaultHome.text,
    fallback: { environment throws(ValueFault) in try DefaultHome.path(environment) },
    "The device's home.")
  static let transport = CommandOption.optional(
    "transport", ValueKind<Transport>.choice,
    "Transport of changes, if this command holds the home; the best one that works if not given."
  ).forTests
  static let json = CommandOption.flag("json", "Print one JSON object.")
  static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "warning",
    "Lowest level that is logged on standard error.")
  static let logFormat = CommandOption.defaulted(
    "log-format", ValueKind<LogLine.Format>.choice, default: "plain",
    "Format of the log: plain for people, logfmt or json for programs.")

  /// Returns the configuration of the agent, if this command runs one.
  static func configuration(_ arguments: Arguments) -> AgentConfiguration {
    var configuration = AgentConfiguration()
    if let transport = arguments[transport] { configuration.transports = [transport] }
    return configuration
  }

  static func folder(_ arguments: Arguments) -> HomeFolder {
    HomeFolder(path: arguments[home])
  }

  /// Opens the home, runs `body`, and closes the home.
  static func inHome<Result>(
    _ arguments: Arguments, _ body: (HomeSession) throws(CommandFailure) -> Result
  ) throws(CommandFailure) -> Result {
    let log = Log("lockstep agent", level: .warning)
    let session = try HomeSession(
      folder(arguments), configuration: configuration(arguments), log: log)
    do throws(CommandFailure) {
      let result = try body(session)
      try session.close()
      return result
    } catch {
      try session.close()
      throw error
    }
  }
}

/// Deliberately wrong clock of one device, for tests. The machine's clock stays correct.
enum AgentClock {
  /// Largest offset, in seconds: a century in either direction.
  private static let farthestSeconds = 3_155_760_000

  static let offset = CommandOption.optional(
    "clock-offset", ValueKind.integer(-farthestSeconds...farthestSeconds, "SECONDS"),
    "Offset of this device's clock; negative if it is slow."
  ).forTests

  /// Returns the command with that option, or the group with the option on all its commands.
  static func settable(_ command: Command) -> Command {
    command.withOption(offset.entry) { arguments in
      guard let seconds = arguments[offset] else { return }
      SystemClock.setWall(aheadMilliseconds: Int64(seconds) * 1_000)
    }
  }
}
