import Changes
import Glibc
import Loop

/// What a person sees of an app in a terminal, drawn anew with whatever the home tells.
protocol WatchView {
  mutating func take(_ line: JSONValue)
  mutating func pressed(_ key: UInt8) -> WatchPress
  /// The shell goes on below: what is of no more use to anybody is left out.
  mutating func end()
  /// The view over the one drawn before.
  mutating func drawn(columns: Int, rows: Int) -> String
}

/// Rows of a terminal that are drawn over again and again.
struct DrawnArea {
  private var linesDrawn = 0

  /// The lines over those drawn before. None may go on in the next row: rows are what the cursor
  /// goes up by.
  mutating func drawn(_ lines: [String]) -> String {
    let up = linesDrawn > 1 ? "\u{1B}[\(linesDrawn - 1)A" : ""
    linesDrawn = lines.count
    return "\r" + up + "\u{1B}[J" + lines.joined(separator: "\r\n")
  }
}

/// What a key means.
enum WatchPress: Equatable {
  case order(JSONValue)
  case nothing
}

/// Shows an app live, until q, Ctrl-C, or nobody reads it any more.
enum HomeWatch {
  /// A command `watch`. `view`: what a terminal shows, told whether it takes colours.
  static func command(
    _ summary: String, discussion: String = "It ends with q, Ctrl-C, or when nobody reads it.",
    app: String, isTicking: Bool = false,
    view: @escaping @Sendable (Bool) -> any WatchView = { ListView(takesColours: $0) },
    question: @escaping @Sendable (Arguments) throws(CommandFailure) -> JSONValue
  ) -> Command {
    Command(name: "watch", summary: summary, discussion: discussion, options: AgentApp.options) {
      arguments throws(CommandFailure) in
      let question = try question(arguments)
      let isLive =
        TerminalOutput.standard.isTerminal && isatty(STDIN_FILENO) == 1
        && !arguments[AgentCommand.json]
      guard isLive else {
        return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
          try lines(session, .watch(app: app, question, isTicking: false))
        }
      }
      // Whatever ends it, the terminal is put back first. Before any thread is started: they
      // inherit that the signals are held back.
      let signals = try AgentCommand.signals([SIGTERM, SIGINT, SIGHUP])
      return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
        if HomeStatus(json: try session.ask(.status)).isInReach {
          try AgentApp.learnNames(session)
        }
        return try live(
          session, app, .watch(app: app, question, isTicking: isTicking),
          view(TerminalOutput.standard.takesColours), until: signals)
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

  private static func live(
    _ session: HomeSession, _ app: String, _ watch: HomeRequest, _ first: any WatchView,
    until signals: Signals
  ) throws(CommandFailure) -> ExitCode {
    let output = TerminalOutput.standard
    var view = first
    let keys = try RawKeys()
    defer { keys.restore() }
    while true {
      guard session.connection.send(watch) else {
        try session.reopen()
        continue
      }
      lines: while true {
        try output.write(view.drawn(columns: output.columns, rows: output.rows))
        let others = [signals.rawValue, STDIN_FILENO]
        switch session.connection.next(milliseconds: 1_000, others: others) {
        case .line(let line): view.take(line)
        case .timeout: break
        case .closed: break lines
        case .other(signals.rawValue): return leave(output)
        case .other:
          guard let key = keys.read(), !RawKeys.quits.contains(key) else {
            view.end()
            try output.write(view.drawn(columns: output.columns, rows: output.rows) + "\r\n")
            return .success
          }
          if case .order(let order) = view.pressed(key) {
            guard session.connection.send(.order(app: app, order)) else { break lines }
          }
        }
      }
      try session.reopen()
    }
  }

  /// The shell goes on below the view, where the terminal is still there.
  private static func leave(_ output: TerminalOutput) -> ExitCode {
    do throws(CommandFailure) {
      try output.write("\r\n")
      return .success
    } catch {
      return error.exitCode
    }
  }
}

/// Keys as they are pressed, without waiting for a whole line.
struct RawKeys {
  private var before = termios()

  /// q, Ctrl-C and Ctrl-D.
  static let quits: [UInt8] = [UInt8(ascii: "q"), 3, 4]

  init() throws(CommandFailure) {
    guard tcgetattr(STDIN_FILENO, &before) == 0 else {
      throw CommandFailure("the terminal cannot be used; try --json")
    }
    var raw = before
    // Ctrl-C comes as a key too, so that the terminal is always put back.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &raw)
  }

  func restore() {
    var before = before
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }

  /// nil where nobody presses any more.
  func read() -> UInt8? {
    var byte: UInt8 = 0
    return Glibc.read(STDIN_FILENO, &byte, 1) == 1 ? byte : nil
  }
}
