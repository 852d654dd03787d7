import Changes
import Glibc

/// A command's way into a home: through the process that holds it, or, where none does, by holding
/// it itself for as long as the command takes.
final class HomeSession {
  private(set) var connection: HomeConnection
  private let folder: HomeFolder
  private let log: Log
  private var holder: HomeHolder?

  /// Attempts, 25 ms apart, while another process is just opening or closing the home.
  private static let attemptsMax = 200

  init(_ folder: HomeFolder, log: Log) throws(CommandFailure) {
    self.folder = folder
    self.log = log
    (connection, holder) = try Self.open(folder, log: log)
  }

  private static func open(_ folder: HomeFolder, log: Log)
    throws(CommandFailure) -> (HomeConnection, HomeHolder?)
  {
    guard folder.exists else { throw noHome(folder) }
    for _ in 0..<attemptsMax {
      if let connection = HomeConnection(socket: folder.socket) { return (connection, nil) }
      if let holder = try HomeHolder.hold(folder, log: log) {
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
    (connection, holder) = try Self.open(folder, log: log)
  }

  /// Asks, and gives the answer's value; a refusal is a failure in the answer's own words.
  func ask(_ request: HomeRequest, milliseconds: Int32 = 10_000) throws(CommandFailure) -> JSONValue
  {
    switch connection.ask(request, milliseconds: milliseconds) {
    case .success(let value): return value
    case .failure(let reason): throw CommandFailure(reason)
    case nil:
      throw CommandFailure(
        "the process that holds the home \(folder.path) did not answer; try again")
    }
  }

  func close() throws(CommandFailure) {
    try holder?.stop()
    holder = nil
  }
}
