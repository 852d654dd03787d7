import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
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
      let (view, status) = try perform(session, app, order)
      return try printView(view, status, arguments, app, session)
    }
  }

  /// Returns the app's answer to an order, and the sync status afterwards.
  static func perform(
    _ session: HomeSession, _ app: String, _ order: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    // Sync first, so the order applies to the newest state: a home that no process held may lack
    // changes of other devices. If the relay is unreachable, use local state.
    var terms = OrderTerms(
      before: session.isHolder ? HomeSession.patienceMilliseconds : 0,
      after: HomeSession.patienceMilliseconds, asksFirst: RestorePrompt.isPossible)
    var answer = try session.send(.order(app: app, order, terms))
    if answer["view"] == nil, answer["status"] != nil {
      try promptForRestore(session, app)
      terms.asksFirst = false
      answer = try session.send(.order(app: app, order, terms))
    }
    return (HomeView(answer), statusAfterOrder(session, answer))
  }

  /// Returns the sync status after an order. The order is done, so the command does not fail if the
  /// process that holds the home does not report it: one that has ended, or is of an older version.
  private static func statusAfterOrder(_ session: HomeSession, _ answer: JSONValue) -> HomeStatus {
    if answer["statusFollows"]?.bool == true, let status = session.receive() {
      return HomeStatus(json: status)
    }
    do throws(CommandFailure) {
      return try syncBriefly(session)
    } catch {
      return HomeStatus(json: [
        "state": "failed",
        "reason": .string(
          localized("the process that holds the home does not report its status")),
      ])
    }
  }

  /// Prints a view that names devices.
  static func show(
    _ arguments: Arguments, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A process that holds the home for long updates the names itself.
      if session.isHolder, try syncBriefly(session).isInReach { try updateDeviceNames(session) }
      try promptForRestore(session, app)
      let view = HomeView(try session.send(.show(app: app, question)))
      let status = HomeStatus(json: try session.send(.status))
      return try printView(view, status, arguments, app, session)
    }
  }

  /// Returns a view of local data. Waits briefly for sync first if no other process held the home.
  static func view(
    _ session: HomeSession, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    let status = try currentStatus(session)
    try promptForRestore(session, app)
    return (HomeView(try session.send(.show(app: app, question))), status)
  }

  /// Fetches the names of the account's devices from the relay and stores them in the home for
  /// views. Does nothing if the relay cannot be asked, because the view can be shown without them.
  private static func updateDeviceNames(_ session: HomeSession) throws(CommandFailure) {
    let member = try HomeAccess(of: session)
    let names = member.call.deviceNames(
      token: member.token, milliseconds: HomeSession.patienceMilliseconds)
    if let names { _ = try session.send(.names(names)) }
  }

  /// Returns the sync status. Waits briefly if this process has only just opened the home.
  private static func currentStatus(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    session.isHolder ? try syncBriefly(session) : HomeStatus(json: try session.send(.status))
  }

  /// Returns the sync status after a short wait, or at once if no relay is reachable.
  private static func syncBriefly(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    HomeStatus(json: try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds)))
  }

  /// Asks for the decision that the app needs before it is used, if a person is at the terminal.
  static func promptForRestore(_ session: HomeSession, _ app: String) throws(CommandFailure) {
    guard let zone = zone(of: app) else { return }
    try RestorePrompt.askIfNeeded(session, app, zone)
  }

  static func zone(of app: String) -> Name? {
    AppCatalog.all.first { $0.name == app }?.zone
  }

  private static func printView(
    _ view: HomeView, _ status: HomeStatus, _ arguments: Arguments, _ app: String,
    _ session: HomeSession
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] { return try TerminalOutput.printed(view.json.text) }
    let code = try TerminalOutput.printed(view.text)
    if let zone = zone(of: app), status.waitingChanges(inDisabled: zone) != nil {
      TerminalOutput.writeToStandardError(
        "lockstep: "
          + localized(
            "{app} is switched off here and not synced; switch it on with lockstep {app} on",
            ["app": app]) + "\n")
    } else if !status.isInSync {
      TerminalOutput.writeToStandardError(
        "lockstep: \(status.syncNote(syncsFurther: !session.isHolder))\n")
    }
    return code
  }

  /// Random name for a new record, unique across devices.
  static var newName: Name {
    var random = Entropy.seededRandom()
    return Name(trusted: BatchID(random: &random).text)
  }

  /// Returns the text of the operand, or of standard input if there is none. `noun`: name of the
  /// text in prompts and errors.
  static func text(_ operands: [String], _ noun: String) throws(CommandFailure) -> String {
    if let text = operands.first, text != "-" { return text }
    if isatty(STDIN_FILENO) == 1 {
      TerminalOutput.writeToStandardError(
        localized("Type {name}; it ends with Ctrl-D.", ["name": noun]) + "\n")
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
