import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// Common part of all app commands: sends an order or a query to the home and prints the result.
enum AgentApp {
  static let options = [
    AgentCommand.home.entry, AgentCommand.transport.entry, AgentCommand.json.entry,
  ]

  /// Sends an order and prints the app's answer. If the relay does not have the change yet, prints
  /// a note on standard error.
  static func order(
    _ arguments: Arguments, _ app: String, _ order: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let (view, status) = try ordered(session, app, order)
      return try printed(view, status, arguments, app, session)
    }
  }

  /// Returns the app's answer to an order, and the sync status afterwards.
  static func ordered(
    _ session: HomeSession, _ app: String, _ order: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    // Sync first, so the order applies to the newest state: a home that no process held may lack
    // changes of other devices. If the relay is unreachable, use local state.
    let isInReach = session.isHolder ? try synced(session).isInReach : true
    try askFirst(session, app)
    let view = HomeView(try session.ask(.order(app: app, order)))
    return (view, standing(session, isInReach))
  }

  /// Returns the sync status after an order. The order is done, so the command does not fail if the
  /// process that holds the home can no longer report the status.
  private static func standing(_ session: HomeSession, _ isInReach: Bool) -> HomeStatus {
    do throws(CommandFailure) {
      return isInReach ? try synced(session) : HomeStatus(json: try session.ask(.status))
    } catch {
      return HomeStatus(json: [
        "state": "failed", "reason": "the process that holds the home does not say how it goes",
      ])
    }
  }

  /// Prints a view that names devices.
  static func show(
    _ arguments: Arguments, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A process that holds the home for long updates the names itself.
      if session.isHolder, try synced(session).isInReach { try learnNames(session) }
      try askFirst(session, app)
      let view = HomeView(try session.ask(.show(app: app, question)))
      let status = HomeStatus(json: try session.ask(.status))
      return try printed(view, status, arguments, app, session)
    }
  }

  /// Returns a view of local data. Waits briefly for sync first if no other process held the home.
  static func view(
    _ session: HomeSession, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    let status = try settled(session)
    try askFirst(session, app)
    return (HomeView(try session.ask(.show(app: app, question))), status)
  }

  /// Fetches the names of the account's devices from the relay and stores them in the home for
  /// views. Does nothing if the relay cannot be asked, because the view can be shown without them.
  private static func learnNames(_ session: HomeSession) throws(CommandFailure) {
    let member = try HomeMember(of: session)
    let names = member.call.deviceNames(
      token: member.token, milliseconds: AgentCommand.patienceMilliseconds)
    if let names { _ = try session.ask(.names(names)) }
  }

  /// Returns the sync status. Waits briefly if this process has only just opened the home.
  private static func settled(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    session.isHolder ? try synced(session) : HomeStatus(json: try session.ask(.status))
  }

  /// Returns the sync status after a short wait, or at once if no relay is reachable.
  private static func synced(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    HomeStatus(json: try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds)))
  }

  /// Asks for the decision that the app needs before it is used, if a person is at the terminal.
  static func askFirst(_ session: HomeSession, _ app: String) throws(CommandFailure) {
    guard let zone = zone(of: app) else { return }
    try RestorePrompt.settle(session, app, zone)
  }

  private static func zone(of app: String) -> Name? {
    AppCatalog.all.first { $0.name == app }?.zone
  }

  private static func printed(
    _ view: HomeView, _ status: HomeStatus, _ arguments: Arguments, _ app: String,
    _ session: HomeSession
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] { return try TerminalOutput.printed(view.json.text) }
    let code = try TerminalOutput.printed(view.text)
    if let zone = zone(of: app), status.waitingOff(in: zone) != nil {
      TerminalOutput.writeToStandardError(
        "lockstep: \(app) is switched off here: nothing goes out or comes in before "
          + "lockstep agent \(app) on\n")
    } else if !status.isInSync {
      TerminalOutput.writeToStandardError(
        "lockstep: \(AgentCommand.syncNote(status, goesOn: !session.isHolder))\n")
    }
    return code
  }

  /// Random name for a new record, unique across devices.
  static var newName: JSONValue {
    var random = Entropy.seededRandom()
    return .string(BatchID(random: &random).text)
  }

  /// Returns the text of the operand, or of standard input if there is none. `noun`: name of the
  /// text in prompts and errors.
  static func text(_ operands: [String], _ noun: String) throws(CommandFailure) -> String {
    if let text = operands.first, text != "-" { return text }
    if isatty(STDIN_FILENO) == 1 {
      TerminalOutput.writeToStandardError("Type \(noun); it ends with Ctrl-D.\n")
    }
    return try StandardInput.text(try StandardInput.read(atMost: Limits.recordBytes, noun), noun)
  }

  /// Current date in local time, such as `2026-03-01`.
  static var today: String {
    var seconds = time_t(SystemClock.moment().wall / 1_000)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else {
      return UniversalTime(SystemClock.moment().wall).date
    }
    let day = Int64(seconds) + Int64(parts.tm_gmtoff)
    return UniversalTime(day * 1_000).date
  }
}
