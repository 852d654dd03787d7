import Glibc
import LockstepEventLoop
import LockstepModel

/// Log of a long-running command: one line per message, on standard error, in a format of
/// `LogLine`.
///
/// Messages and fields must not contain secrets: no token, no pairing code, no payload.
package struct Log: Sendable {
  package enum Level: String, CaseIterable, Comparable, Sendable {
    case error, warning, info, debug, trace

    package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

    private var rank: Int {
      switch self {
      case .error: 0
      case .warning: 1
      case .info: 2
      case .debug: 3
      case .trace: 4
      }
    }

    /// Priority of the journal (sd-daemon(3)).
    fileprivate var priority: Int {
      switch self {
      case .error: 3
      case .warning: 4
      case .info: 6
      case .debug, .trace: 7
      }
    }
  }

  /// Destination of log lines, and its properties.
  package struct Sink: Sendable {
    package var takesColours = false
    /// True for the journal, which reads a level in front of a plain line.
    package var takesPriorities = false
    package var write: @Sendable (String) -> Void

    package init(
      takesColours: Bool = false, takesPriorities: Bool = false,
      write: @escaping @Sendable (String) -> Void
    ) {
      self.takesColours = takesColours
      self.takesPriorities = takesPriorities
      self.write = write
    }

    package static var standardError: Sink {
      Sink(
        takesColours: TerminalOutput.standardError.takesColours,
        takesPriorities: TerminalOutput.isErrorJournal,
        write: TerminalOutput.writeToStandardError)
    }
  }

  package let level: Level
  package let format: LogLine.Format
  private let source: String
  private let sink: Sink
  private let wall: @Sendable () -> Int64

  /// `source`: the command, as in `lockstep relay`. `wall`: milliseconds since the Unix epoch.
  package init(
    _ source: String, level: Level, format: LogLine.Format = .plain, sink: Sink = .standardError,
    wall: @escaping @Sendable () -> Int64 = { SystemClock.moment().wall }
  ) {
    self.source = source
    self.level = level
    self.format = format
    self.sink = sink
    self.wall = wall
  }

  package typealias Fields = [LogLine.Field]

  package func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { say(.error, message, fields) }

  package func warning(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = []
  ) { say(.warning, message, fields) }

  package func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { say(.info, message, fields) }

  package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { say(.debug, message, fields) }

  package func trace(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { say(.trace, message, fields) }

  /// Logs at any level, for what a person has asked for or must know. `block`: the whole text in
  /// plain format, of any number of lines; without it, the message is logged.
  package func tell(_ message: String, _ fields: Fields = [], block: String? = nil) {
    guard format == .plain, let block else {
      write(line(.info, message, fields))
      return
    }
    sink.write(block + "\n")
  }

  private func say(_ level: Level, _ message: () -> String, _ fields: () -> Fields) {
    guard level <= self.level else { return }
    write(line(level, message(), fields()))
  }

  private func line(_ level: Level, _ message: String, _ fields: Fields) -> LogLine {
    LogLine(
      source: source, level: level, wall: format == .plain ? 0 : wall(), message: message,
      fields: fields)
  }

  /// Writes each line with one system call, so that lines of several threads do not mix.
  private func write(_ line: LogLine) {
    let isMarked = format == .plain && sink.takesPriorities
    let mark = isMarked ? "<\(line.level.priority)>" : ""
    sink.write(mark + line.text(format, takesColours: sink.takesColours) + "\n")
  }

  /// Escapes control characters. A message may contain text that others chose (a device's name),
  /// which must not forge a log line or control the terminal.
  static func oneLine(_ message: String) -> String {
    guard message.unicodeScalars.contains(where: isControl) else { return message }
    return message.unicodeScalars.map { scalar in
      isControl(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }.joined()
  }

  static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar == "\u{2028}" || scalar == "\u{2029}"
      || isDirection(scalar)
  }

  /// True for marks that change the order in which letters are shown (UAX #9).
  private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
