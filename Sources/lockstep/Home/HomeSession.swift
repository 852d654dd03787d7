import Glibc
import LockstepClient
import LockstepModel

/// A command's way into a home: through the process that holds it, or, where none does, by holding
/// it itself for as long as the command takes.
final class HomeSession {
  private(set) var connection: HomeConnection
  let folder: HomeFolder
  /// Of the agent, where this command comes to hold the home.
  private let configuration: AgentConfiguration
  private let log: Log
  private var holder: HomeHolder?

  /// Attempts, 25 ms apart, while another process is just opening or closing the home.
  private static let attemptsMax = 200
  /// Processes that are asked one after the other, each having gone away before it answered.
  private static let holdersMax = 3

  init(
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
      "the home \(folder.path) is held by another process that does not answer; "
        + "stop it, then try again")
  }

  static func noHome(_ folder: HomeFolder) -> CommandFailure {
    CommandFailure(
      "there is no home at \(folder.path); make one with lockstep agent join --home "
        + folder.path)
  }

  /// Whether this very command holds the home.
  var isHolder: Bool { holder != nil }

  /// After the process that held the home went away.
  func reopen() throws(CommandFailure) {
    try close()
    (connection, holder) = try Self.open(folder, configuration, log: log)
  }

  /// Asks, and gives the answer's value; a refusal is a failure in the answer's own words. Where
  /// the process that holds the home goes away meanwhile, whoever holds it then is asked, unless
  /// the request may have been done: a press that is repeated would be two.
  func ask(_ request: HomeRequest, milliseconds: Int32 = 10_000) throws(CommandFailure) -> JSONValue
  {
    for _ in 0..<Self.holdersMax {
      if connection.send(request) {
        switch connection.next(milliseconds: milliseconds) {
        case .line(let line): return try Self.value(of: line)
        case .closed: if !request.mayBeRepeated { throw maybeDone }
        case .timeout, .other: throw request.mayBeRepeated ? noAnswer : notYetDone
        }
      }
      try reopen()
    }
    throw noAnswer
  }

  private static func value(of line: JSONValue) throws(CommandFailure) -> JSONValue {
    switch HomeReply(line) {
    case .success(let value): return value
    case .failure(let reason): throw CommandFailure(reason)
    case nil:
      throw CommandFailure("the process that holds the home is of another version; stop it")
    }
  }

  private var noAnswer: CommandFailure {
    CommandFailure("the process that holds the home \(folder.path) did not answer; try again")
  }

  private var maybeDone: CommandFailure {
    CommandFailure(
      "the process that held the home \(folder.path) ended before it said whether that was done; "
        + "look before you do it again")
  }

  /// It stands still, and takes the request where it goes on.
  private var notYetDone: CommandFailure {
    CommandFailure(
      "the process that holds the home \(folder.path) did not answer; what you wanted may still be "
        + "done: look before you do it again")
  }

  func close() throws(CommandFailure) {
    try holder?.stop()
    holder = nil
  }
}
