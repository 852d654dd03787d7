import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel

/// Full-screen view of an app, drawn again after each message from the home. Times are this
/// machine's wall clock, in milliseconds.
protocol WatchView {
  mutating func take(_ line: JSONValue, at wall: Int64)
  /// Handles the relay's answer about the account's devices, if the view shows them.
  mutating func take(_ found: DeviceProbe.Found, at wall: Int64)
  mutating func pressed(_ key: UInt8) -> WatchPress
  /// Handles the passing of time.
  mutating func pass(at wall: Int64)
  /// Returns a text for a person who is not watching the screen; each text once.
  mutating func takeAlarm() -> String?
  /// Returns true if the relay is to be asked for the devices; once per request.
  mutating func takeWishForDevices(at wall: Int64) -> Bool
  /// Returns the time at which the view changes without any message, or nil if it does not.
  func changesAt(_ wall: Int64) -> Int64?
  func rows(columns: Int, height: Int, at wall: Int64) -> [ScreenRow]
}

extension WatchView {
  mutating func take(_ found: DeviceProbe.Found, at wall: Int64) {}
  mutating func pressed(_ key: UInt8) -> WatchPress { .nothing }
  mutating func pass(at wall: Int64) {}
  mutating func takeAlarm() -> String? { nil }
  mutating func takeWishForDevices(at wall: Int64) -> Bool { false }
  func changesAt(_ wall: Int64) -> Int64? { nil }
}

/// Effect of a key.
enum WatchPress: Equatable {
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
    var view: @Sendable () -> any WatchView = { ListView() }
  }

  /// Returns a command `watch`. `question`: query for the view of the app.
  static func command(
    _ summary: String, discussion: String = "It ends with q, Ctrl-C, or when nobody reads it.",
    options: [CommandOptionEntry] = [], app: String, live: Live = Live(),
    question: @escaping @Sendable (Arguments) throws(CommandFailure) -> JSONValue
  ) -> Command {
    Command(
      name: "watch", summary: summary, discussion: discussion, options: options + AgentApp.options
    ) { arguments throws(CommandFailure) in
      let question = try question(arguments)
      guard TerminalOutput.standard.takesScreens, isatty(STDIN_FILENO) == 1,
        !arguments[AgentCommand.json]
      else {
        return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
          try lines(session, .watch(app: app, question, isTicking: false))
        }
      }
      // These signals end the view in order, so that the terminal is restored first. Before any
      // thread starts: threads inherit the blocked signals.
      let signals = try AgentCommand.signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT])
      let resizes = try AgentCommand.signals([SIGWINCH])
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        try AgentApp.askFirst(session, app)
        var watch = LiveWatch(
          session: session, app: app,
          request: .watch(app: app, live.question ?? question, isTicking: live.isTicking),
          view: live.view(),
          look: try DeviceProbe.asking(HomeMember(of: session)),
          ringsBell: live.ringsBell(arguments),
          notifies: live.notifies(arguments))
        return try watch.run(until: signals, resizes: resizes)
      }
    }
  }

  private static func lines(
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
