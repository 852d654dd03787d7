import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// What the commands of all apps do alike: hand an order or a question to the home, and print what
/// comes back.
enum AgentApp {
  static let options = [
    AgentCommand.home.entry, AgentCommand.transport.entry, AgentCommand.json.entry,
  ]

  /// Gives an order, and prints what the app says of it. Where the relay has it not yet, a person
  /// is told so on standard error.
  static func order(
    _ arguments: Arguments, _ app: String, _ order: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let (view, status) = try ordered(session, app, order)
      return try printed(view, status, arguments, app, session)
    }
  }

  /// What the app says of an order, and where sync stands then.
  static func ordered(
    _ session: HomeSession, _ app: String, _ order: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    // A home that nobody held may not know yet what other devices did; a person means what they
    // show. Without a relay in reach, what is known has to do.
    let isInReach = session.isHolder ? try synced(session).isInReach : true
    try askFirst(session, app)
    let view = HomeView(try session.ask(.order(app: app, order)))
    return (view, standing(session, isInReach))
  }

  /// Where sync stands after an order. That is done, and the command has not failed, even where
  /// whoever holds the home cannot say any more how it goes on.
  private static func standing(_ session: HomeSession, _ isInReach: Bool) -> HomeStatus {
    do throws(CommandFailure) {
      return isInReach ? try synced(session) : HomeStatus(json: try session.ask(.status))
    } catch {
      return HomeStatus(json: [
        "state": "failed", "reason": "the process that holds the home does not say how it goes",
      ])
    }
  }

  /// Prints a view in which devices are named.
  static func show(
    _ arguments: Arguments, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A process that holds the home for long learns the names by itself.
      if session.isHolder, try synced(session).isInReach { try learnNames(session) }
      try askFirst(session, app)
      let view = HomeView(try session.ask(.show(app: app, question)))
      let status = HomeStatus(json: try session.ask(.status))
      return try printed(view, status, arguments, app, session)
    }
  }

  /// A view of what the device has, after a little patience with a home that nobody held.
  static func view(
    _ session: HomeSession, _ app: String, _ question: JSONValue
  ) throws(CommandFailure) -> (HomeView, HomeStatus) {
    let status = try settled(session)
    try askFirst(session, app)
    return (HomeView(try session.ask(.show(app: app, question))), status)
  }

  /// Asks the relay what the account's devices are called, and tells the home, which remembers it
  /// for views. Where it cannot be asked, that is no reason to show nothing.
  private static func learnNames(_ session: HomeSession) throws(CommandFailure) {
    let member = try HomeMember(of: session)
    let names = member.call.deviceNames(
      token: member.token, milliseconds: AgentCommand.patienceMilliseconds)
    if let names { _ = try session.ask(.names(names)) }
  }

  /// Where sync stands; a home that nobody held has only just begun to connect.
  private static func settled(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    session.isHolder ? try synced(session) : HomeStatus(json: try session.ask(.status))
  }

  /// Where sync stands after a little patience: at once where no relay is in reach.
  private static func synced(_ session: HomeSession) throws(CommandFailure) -> HomeStatus {
    HomeStatus(json: try session.ask(.sync(milliseconds: AgentCommand.patienceMilliseconds)))
  }

  /// What the person must say before the app is used, where somebody is there to say it.
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

  /// A new record's name, which nobody else draws.
  static var newName: JSONValue {
    var random = Entropy.seededRandom()
    return .string(BatchID(random: &random).text)
  }

  /// The text that stands on the command line, or, without one, on standard input. `noun`: what it
  /// is for.
  static func text(_ operands: [String], _ noun: String) throws(CommandFailure) -> String {
    if let text = operands.first, text != "-" { return text }
    if isatty(STDIN_FILENO) == 1 {
      TerminalOutput.writeToStandardError("Type \(noun); it ends with Ctrl-D.\n")
    }
    return try StandardInput.text(try StandardInput.read(atMost: Limits.recordBytes, noun), noun)
  }

  /// The day that it is where the person is, `2026-03-01`.
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
