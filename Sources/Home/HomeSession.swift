import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// A command's access to a home: through the process that holds it; if there is none, by holding it
/// for as long as the command runs.
package final class HomeSession {
  /// Maximum wait for the relay, in milliseconds, of a command that changes something.
  package static let patienceMilliseconds: Int64 = 2_000

  package private(set) var connection: HomeConnection
  package let folder: HomeFolder
  /// Configuration of the agent, if this command holds the home.
  private let configuration: AgentConfiguration
  private let log: Log
  private var holder: HomeHolder?

  /// Maximum attempts, 25 ms apart, while another process is opening or closing the home.
  private static let attemptsMax = 200
  /// Maximum number of processes asked in turn, if each ends before it answers.
  private static let holdersMax = 3

  package init(
    _ folder: HomeFolder, configuration: AgentConfiguration = AgentConfiguration(), log: Log
  ) throws(CommandFailure) {
    self.folder = folder
    self.configuration = configuration
    self.log = log
    (connection, holder) = try Self.open(folder, configuration, log: log)
  }

  private static func open(_ folder: HomeFolder, _ configuration: AgentConfiguration, log: Log)
    throws(CommandFailure) -> (HomeConnection, HomeHolder?)
  {
    guard folder.exists else { throw noHome(folder) }
    for _ in 0..<attemptsMax {
      if let connection = HomeConnection(socket: folder.socket) { return (connection, nil) }
      if let holder = try HomeHolder.hold(folder, configuration, log: log) {
        try holder.start()
        if let connection = HomeConnection(socket: folder.socket) { return (connection, holder) }
        try holder.stop()
      }
      usleep(25_000)
    }
    throw CommandFailure(
      localized(
        "the home {home} is held by another process that does not answer; stop "
          + "it, then try again", ["home": folder.path]))
  }

  package static func noHome(_ folder: HomeFolder) -> CommandFailure {
    let path = ["home": folder.path]
    guard DefaultHome.isDefault(folder) else {
      return CommandFailure(
        localized(
          "there is no home at {home}; create one with lockstep agent join --home {home}", path))
    }
    do throws(CommandFailure) {
      let others = try DefaultHome.homes(in: folder).map { "--home " + $0.path }
      guard others.isEmpty else {
        return CommandFailure(
          localized(
            "there is no home at {home}; create one with lockstep agent join, or name one: {others}",
            ["home": folder.path, "others": others.joined(separator: ", ")]))
      }
      return CommandFailure(
        localized("there is no home at {home}; create one with lockstep agent join", path))
    } catch {
      return error
    }
  }

  /// True if this command itself holds the home.
  package var isHolder: Bool { holder != nil }

  /// Opens the home again after the process that held it has ended.
  package func reopen() throws(CommandFailure) {
    try close()
    (connection, holder) = try Self.open(folder, configuration, log: log)
  }

  /// Sends a request and returns the answer's value; a refusal throws the answer's text. If the
  /// process that holds the home ends meanwhile, retries with the next one, unless the first may
  /// have applied a request that must not be applied twice.
  package func send(_ request: HomeRequest, milliseconds: Int32 = 10_000) throws(CommandFailure)
    -> JSONValue
  {
    for _ in 0..<Self.holdersMax {
      if connection.send(request) {
        switch connection.next(milliseconds: milliseconds) {
        case .line(let line): return try Self.value(of: line)
        case .closed: if !request.mayBeRepeated { throw maybeApplied }
        case .timeout, .other: throw request.mayBeRepeated ? noAnswer : mayStillApply
        }
      }
      try reopen()
    }
    throw noAnswer
  }

  /// Returns the value of another line that answers the same request; nil if there is none, because
  /// the process that holds the home has ended or stopped, or is not able to.
  package func receive(milliseconds: Int32 = 10_000) -> JSONValue? {
    guard case .line(let line) = connection.next(milliseconds: milliseconds),
      case .success(let value) = HomeReply(line)
    else { return nil }
    return value
  }

  private static func value(of line: JSONValue) throws(CommandFailure) -> JSONValue {
    switch HomeReply(line) {
    case .success(let value): return value
    case .failure(let reason): throw CommandFailure(translated(reason))
    case nil:
      throw Self.otherVersion
    }
  }

  private static var otherVersion: CommandFailure {
    CommandFailure(localized("the process that holds the home has another version; stop it"))
  }

  private var noAnswer: CommandFailure {
    CommandFailure(
      localized(
        "the process that holds the home {home} did not answer; try again", ["home": folder.path]))
  }

  private var maybeApplied: CommandFailure {
    CommandFailure(
      localized(
        "the process that held the home {home} ended before it answered; the "
          + "command may have been applied: check before you repeat it", ["home": folder.path]))
  }

  /// The process is stopped, and will handle the request when it continues.
  private var mayStillApply: CommandFailure {
    CommandFailure(
      localized(
        "the process that holds the home {home} did not answer; the command may "
          + "still be applied: check before you repeat it", ["home": folder.path]))
  }

  /// Returns the part of the account for which this device is paired.
  package func scope() throws(CommandFailure) -> DeviceScope {
    guard let scope = HomeStatus(json: try send(.status)).scope else {
      throw Self.otherVersion
    }
    return scope
  }

  /// Returns the account that this device belongs to.
  package func account() throws(CommandFailure) -> AccountID {
    guard let account = try send(.status)["account"]?.string.flatMap({ AccountID(text: $0) }) else {
      throw Self.otherVersion
    }
    return account
  }

  /// Throws, with the next step, unless this device is paired for the zone. For what a command does
  /// at the relay itself; the home refuses other edits by itself.
  package func requireScope(_ zone: Name, forChanges: Bool) throws(CommandFailure) {
    let scope = try scope()
    guard forChanges ? scope.includesWrites(to: zone) : scope.includes(zone) else {
      throw CommandFailure(scope.explanation(ofEditIn: zone))
    }
  }

  package func close() throws(CommandFailure) {
    try holder?.stop()
    holder = nil
  }
}
