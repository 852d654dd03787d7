import Apps
import Changes
import Glibc
import Loop

/// `lockstep agent timer watch`: the timer, live.
enum AgentTimerWatchCommand {
  static let command = Command(
    name: "watch",
    summary: "Shows the timer live, with keys to press; without a terminal, a JSON line a change.",
    discussion: """
      A line is {"at", "stateType", "isPaused", "remaining", "completedPomodoros", "device"}: \
      relay time and milliseconds left at that time. It ends with q, Ctrl-C, or when nobody reads \
      it any more.
      """,
    options: [
      AgentCommand.home.entry, AgentCommand.transport.entry, AgentCommand.json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let isLive =
      TerminalOutput.standard.isTerminal && isatty(STDIN_FILENO) == 1
      && !arguments[AgentCommand.json]
    guard isLive else { return try AgentCommand.inHome(arguments, watchLines) }
    // Whatever ends it, the terminal is put back first. Before any thread is started: they inherit
    // that the signals are held back.
    let signals = try AgentCommand.signals([SIGTERM, SIGINT, SIGHUP])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      try watchLive(session, until: signals)
    }
  }

  private static func watchLines(_ session: HomeSession) throws(CommandFailure) -> ExitCode {
    while true {
      guard
        session.connection.send(
          .watch(app: "timer", TimerApp.screen, isTicking: false))
      else {
        try session.reopen()
        continue
      }
      lines: while true {
        // A reader that has gone is noticed only by writing, so the wait is bounded.
        switch session.connection.next(milliseconds: 1_000) {
        case .line(let line):
          if let screen = line["view"] { _ = try TerminalOutput.printed(screen.text) }
        case .timeout:
          if TerminalOutput.standard.hasNoReader { return .success }
        case .closed: break lines
        case .other: break
        }
      }
      try session.reopen()
    }
  }

  private static func watchLive(_ session: HomeSession, until signals: Signals)
    throws(CommandFailure) -> ExitCode
  {
    let output = TerminalOutput.standard
    var view = TimerView(takesColours: output.takesColours)
    let keys = try RawKeys()
    defer { keys.restore() }
    while true {
      guard
        session.connection.send(
          .watch(app: "timer", TimerApp.screen, isTicking: true))
      else {
        try session.reopen()
        continue
      }
      lines: while true {
        try output.write(view.drawn(columns: output.columns))
        let others = [signals.rawValue, STDIN_FILENO]
        switch session.connection.next(milliseconds: 1_000, others: others) {
        case .line(let line): view.take(line)
        case .timeout: break
        case .closed: break lines
        case .other(signals.rawValue): return leave(output)
        case .other:
          switch keys.read() {
          case .event(let event):
            guard session.connection.send(.order(app: "timer", event.order)) else { break lines }
          case .help: view.showsKeys.toggle()
          case .quit:
            view.showsKeys = false
            try output.write(view.drawn(columns: output.columns) + "\r\n")
            return .success
          case .nothing: break
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

/// The live view: a line for the timer, one for sync and what just happened, and the keys.
struct TimerView {
  let takesColours: Bool
  var showsKeys = true
  private var timer = "…"
  private var status: HomeStatus?
  private var note = ""
  private var linesDrawn = 0

  init(takesColours: Bool) { self.takesColours = takesColours }

  mutating func take(_ line: JSONValue) {
    if line["view"] != nil { timer = HomeView(line).text }
    if let status = line["status"] { self.status = HomeStatus(json: status) }
    if let reason = line["error"]?.string { note = reason }
    if line["answer"] != nil { note = "" }
  }

  /// It grows old while nobody tells anything new: how long a device is offline goes on, and one
  /// that is in sync is so all the time.
  private var sync: String {
    guard let status else { return "" }
    return status.isInSync ? "in sync" : status.line(now: SystemClock.moment().wall)
  }

  /// The view over the one drawn before. A line that would go on in the next row is cut: rows are
  /// what the cursor goes up by.
  mutating func drawn(columns: Int) -> String {
    var lines = [timer, sync]
    if !note.isEmpty { lines.append(note) }
    if showsKeys {
      lines.append("s start  p pause  r resume  x stop  k skip  z snooze  ? keys  q quit")
    }
    lines = lines.map { $0.count < columns ? $0 : $0.prefix(max(0, columns - 2)) + "…" }
    if takesColours { lines[0] = "\u{1B}[1m\(lines[0])\u{1B}[0m" }
    let up = linesDrawn > 1 ? "\u{1B}[\(linesDrawn - 1)A" : ""
    linesDrawn = lines.count
    return "\r" + up + "\u{1B}[J" + lines.joined(separator: "\r\n")
  }
}

/// Keys as they are pressed, without waiting for a whole line.
struct RawKeys {
  private var before = termios()

  enum Key {
    case event(TimerEvent)
    case help
    case quit
    case nothing
  }

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

  func read() -> Key {
    var byte: UInt8 = 0
    guard Glibc.read(STDIN_FILENO, &byte, 1) == 1 else { return .quit }
    return switch byte {
    case UInt8(ascii: "s"): .event(.start(length: nil))
    case UInt8(ascii: "p"): .event(.pause)
    case UInt8(ascii: "r"): .event(.resume)
    case UInt8(ascii: "x"): .event(.stop)
    case UInt8(ascii: "k"): .event(.skip)
    case UInt8(ascii: "z"): .event(.snooze(length: nil))
    case UInt8(ascii: "?"), UInt8(ascii: "h"): .help
    case UInt8(ascii: "q"), 3, 4: .quit
    default: .nothing
    }
  }
}
