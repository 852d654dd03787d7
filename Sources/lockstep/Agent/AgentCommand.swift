import Glibc
import LockstepClient
import LockstepEventLoop
import LockstepModel

/// `lockstep agent`: a device.
enum AgentCommand {
  static let command = Command(
    name: "agent",
    summary: "Is a device: joins an account, keeps a home in sync, and does what its apps do.",
    discussion: """
      A home is a folder that holds one device's data. Everything but join and pair works with no \
      relay in reach, and syncs when it returns. One process holds a home at a time; a command \
      that finds it held hands its order to that process.
      """,
    subcommands: [
      AgentJoinCommand.command, AgentPairCommand.command, AgentStatusCommand.command,
      AgentSyncCommand.command, AgentRunCommand.command, AgentDevicesCommand.command,
      AgentRenameCommand.command, AgentRevokeCommand.command, AgentExportCommand.command,
      AgentLeaveCommand.command,
      AgentTimerCommand.command, AgentClipboardCommand.command, AgentMemoCommand.command,
      AgentHabitsCommand.command, AgentVaultCommand.command, AgentSimulateCommand.command,
    ].map(AgentClock.settable))

  static let home = CommandOption.required("home", .folder, "The device's home.")
  static let transport = CommandOption.optional(
    "transport", ValueKind<Transport>.choice,
    "How changes reach this device, where this command holds its home; the best way that works if "
      + "not given.")
  static let json = CommandOption.flag("json", "Print one JSON object.")
  static let logLevel = CommandOption.defaulted(
    "log-level", ValueKind<Log.Level>.choice, default: "warning",
    "How much to say on standard error.")
  static let logFormat = CommandOption.defaulted(
    "log-format", ValueKind<LogLine.Format>.choice, default: "plain",
    "How the log looks: plain for people, logfmt or json for programs.")

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

  static func signals(_ numbers: [Int32] = [SIGTERM, SIGINT]) throws(CommandFailure) -> Signals {
    do throws(SystemFault) {
      return try Signals(numbers)
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// Returns a note on the sync status, for a command that changed something and waited briefly.
  /// `goesOn`: another process holds the home and continues to sync.
  static func syncNote(_ status: HomeStatus, goesOn: Bool) -> String {
    if status.isInSync { return "synced" }
    // The status may contain text from the relay.
    let line = Log.oneLine(status.line(wall: SystemClock.moment().wall))
    if status.needsPerson || goesOn { return line }
    return line + "; it will be synced with the next command, or by lockstep agent run"
  }

  /// Maximum wait for the relay, in milliseconds, of a command that changes something.
  static let patienceMilliseconds: Int64 = 2_000
}
