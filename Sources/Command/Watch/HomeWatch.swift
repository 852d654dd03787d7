import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal
import LockstepWire

/// Full-screen view of an app, drawn again after each message from the home. Times are this
/// machine's wall clock, in milliseconds.
protocol WatchView {
  mutating func handleLine(_ line: JSONValue, at wall: Int64)
  /// Handles the relay's answer about the account's devices, if the view shows them.
  mutating func handleDevices(_ result: DeviceProbe.Result, at wall: Int64)
  mutating func handleKey(_ key: UInt8) -> WatchKeyAction
  /// Advances the view's time.
  mutating func advance(to wall: Int64)
  /// Returns a text for a person who is not watching the screen; each text once.
  mutating func nextAlarm() -> String?
  /// Returns true if the relay is to be asked for the devices; once per request.
  mutating func consumeDeviceRequest(at wall: Int64) -> Bool
  /// Returns the time at which the view changes without any message, or nil if it does not.
  func nextChange(after wall: Int64) -> Int64?
  /// Adapts the view to the screen before its rows are asked for.
  mutating func layOut(columns: Int, height: Int, at wall: Int64)
  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow]
}

extension WatchView {
  mutating func layOut(columns: Int, height: Int, at wall: Int64) {}
  mutating func handleDevices(_ result: DeviceProbe.Result, at wall: Int64) {}
  mutating func handleKey(_ key: UInt8) -> WatchKeyAction { .nothing }
  mutating func advance(to wall: Int64) {}
  mutating func nextAlarm() -> String? { nil }
  mutating func consumeDeviceRequest(at wall: Int64) -> Bool { false }
  func nextChange(after wall: Int64) -> Int64? { nil }
}

/// Effect of a key.
enum WatchKeyAction: Equatable {
  case order(JSONValue)
  case nothing
}

/// Shows an app live, until q or Ctrl-C, or until the output has no reader.
enum HomeWatch {
  /// Settings for the view on a terminal.
  struct Live: Sendable {
    /// Query for the view; nil for the same view of the app that programs get.
    var question: JSONValue?
    /// True if the view is to be sent whenever it changes because time passes.
    var isTicking = false
    var ringsBell: @Sendable (Arguments) -> Bool = { _ in false }
    var notifies: @Sendable (Arguments) -> Bool = { _ in false }
    /// View of the app; nil: a list.
    var view: (@Sendable () -> any WatchView)?
  }

  static let discussion = """
    On a terminal it uses the full screen; ? lists the keys. It ends with q, with Ctrl-C, or when \
    its output is closed.
    """

  /// Returns a command `watch`. `question`: query for the view of the app.
  static func command(
    _ summary: String,
    discussion: String = HomeWatch.discussion,
    options: [CommandOptionEntry] = [], app: String, live: Live = Live(),
    question: @escaping @Sendable (Arguments) throws(CommandFailure) -> JSONValue
  ) -> Command {
    Command(
      name: "watch", summary: summary, discussion: discussion, options: options + AgentApp.options
    ) { arguments throws(CommandFailure) in
      try run(arguments, app: app, live: live, question: try question(arguments))
    }
  }

  /// Shows the view on a terminal, otherwise prints a line per change.
  static func run(
    _ arguments: Arguments, app: String, live: Live = Live(), question: JSONValue
  ) throws(CommandFailure) -> ExitCode {
    guard TerminalOutput.standard.supportsFullScreen, isatty(STDIN_FILENO) == 1,
      !arguments[AgentCommand.json]
    else {
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        try printLines(session, .watch(app: app, question, isTicking: false))
      }
    }
    // These signals end the view in order, so that the terminal is restored first. Before any
    // thread starts: threads inherit the blocked signals.
    let signals = try Interruption.signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    let resizes = try Interruption.signals([SIGWINCH])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      if let zone = AgentApp.zone(of: app) {
        try session.requireScope(zone, forChanges: false)
      }
      try AgentApp.promptForRestore(session, app)
      var watch = LiveWatch(
        session: session, app: app,
        request: .watch(app: app, live.question ?? question, isTicking: live.isTicking),
        view: live.view?() ?? ListView(title: AgentApp.zone(of: app)?.text ?? app),
        query: try DeviceProbe.query(HomeAccess(of: session)),
        ringsBell: live.ringsBell(arguments),
        notifies: live.notifies(arguments))
      return try watch.run(until: signals, resizes: resizes)
    }
  }

  private static func printLines(
    _ session: HomeSession, _ watch: HomeRequest
  ) throws(CommandFailure) -> ExitCode {
    while true {
      guard session.connection.send(watch) else {
        try session.reopen()
        continue
      }
      lines: while true {
        // A process that only waits does not notice that its reader is gone, so the wait is
        // limited.
        switch session.connection.next(milliseconds: 1_000) {
        case .line(let line):
          if let view = line["view"] { _ = try TerminalOutput.printed(view.text) }
          if let reason = line["error"]?.string { throw CommandFailure(reason) }
        case .timeout:
          if TerminalOutput.standard.hasNoReader { return .success }
        case .closed: break lines
        case .other: break
        }
      }
      try session.reopen()
    }
  }
}

/// Query for the account's devices at the relay.
enum DeviceProbe {
  enum Result: Sendable {
    case devices([Device])
    /// The relay could not be asked, for this reason.
    case unknown(String)
  }

  static func query(_ member: HomeAccess) throws(CommandFailure) -> BackgroundQuery<Result> {
    // A thread begins with English texts.
    let language = Language.current
    return try BackgroundQuery("devices") { language { fetchDevices(member) } }
  }

  private static func fetchDevices(_ member: HomeAccess) -> Result {
    do throws(CommandFailure) {
      return .devices(try member.call.devices(token: member.token).devices)
    } catch {
      return .unknown(error.message ?? localized("the relay cannot be asked"))
    }
  }
}
