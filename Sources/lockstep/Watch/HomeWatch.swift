import Glibc
import LockstepApps
import LockstepEventLoop
import LockstepModel

/// What a person sees of an app on a full screen, drawn anew with whatever the home tells. Times
/// are this machine's wall clock, in milliseconds.
protocol WatchView {
  mutating func take(_ line: JSONValue, at wall: Int64)
  /// What the relay says of the account's devices, where the view shows them.
  mutating func take(_ found: DeviceProbe.Found, at wall: Int64)
  mutating func pressed(_ key: UInt8) -> WatchPress
  /// Time has passed.
  mutating func pass(at wall: Int64)
  /// What a person who looks elsewhere should hear of; told once.
  mutating func takeAlarm() -> String?
  /// Whether the relay is to be asked for the devices; told once.
  mutating func takeWishForDevices(at wall: Int64) -> Bool
  /// When it looks otherwise though nobody tells it anything; nil where it stands still.
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

/// What a key means.
enum WatchPress: Equatable {
  case order(JSONValue)
  case nothing
}

/// Shows an app live, until q, Ctrl-C, or nobody reads it any more.
enum HomeWatch {
  /// What a terminal gets.
  struct Live: Sendable {
    /// nil: the same view of the app that programs get.
    var question: JSONValue?
    /// The view is told anew whenever time makes it look otherwise.
    var isTicking = false
    var ringsBell: @Sendable (Arguments) -> Bool = { _ in false }
    var notifies: @Sendable (Arguments) -> Bool = { _ in false }
    var view: @Sendable () -> any WatchView = { ListView() }
  }

  /// A command `watch`. `question`: what of the app is shown.
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
      // Whatever ends it, the terminal is put back first. Before any thread is started: they
      // inherit that the signals are held back.
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
        // A reader that has gone is noticed only by writing, so the wait is bounded.
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
