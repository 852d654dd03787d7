import Glibc
import LockstepEventLoop
import LockstepJSON
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
    package var supportsColours = false
    /// True for the journal, which reads a level in front of a plain line.
    package var supportsPriorities = false
    package var write: @Sendable (String) -> Void

    package init(
      supportsColours: Bool = false, supportsPriorities: Bool = false,
      write: @escaping @Sendable (String) -> Void
    ) {
      self.supportsColours = supportsColours
      self.supportsPriorities = supportsPriorities
      self.write = write
    }

    package static var standardError: Sink {
      Sink(
        supportsColours: TerminalOutput.standardError.supportsColours,
        supportsPriorities: TerminalOutput.isErrorJournal,
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
  { writeIfEnabled(.error, message, fields) }

  package func warning(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = []
  ) { writeIfEnabled(.warning, message, fields) }

  /// Logs that a long-running command has stopped; `endings`: those of its nodes.
  package func reportEnd(_ endings: [NodeEnding]) {
    if endings.contains(where: { $0 != .done }) {
      warning("stopped before all requests were completed")
    }
    info("stopped")
  }

  package func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { writeIfEnabled(.info, message, fields) }

  package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { writeIfEnabled(.debug, message, fields) }

  package func trace(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [])
  { writeIfEnabled(.trace, message, fields) }

  /// Logs at every level, for output that was requested or must not be lost. `block`: the whole
  /// text in plain format, of any number of lines; without it, the message is logged.
  package func announce(_ message: String, _ fields: Fields = [], block: String? = nil) {
    guard format == .plain, let block else {
      write(line(.info, message, fields))
      return
    }
    sink.write(block + "\n")
  }

  private func writeIfEnabled(_ level: Level, _ message: () -> String, _ fields: () -> Fields) {
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
    let isMarked = format == .plain && sink.supportsPriorities
    let mark = isMarked ? "<\(line.level.priority)>" : ""
    sink.write(mark + line.text(format, supportsColours: sink.supportsColours) + "\n")
  }

  /// Escapes control characters. A message may contain text that others chose (a device's name),
  /// which must not forge a log line or control the terminal.
  package static func oneLine(_ message: String) -> String {
    guard message.unicodeScalars.contains(where: isControl) else { return message }
    return message.unicodeScalars.map { scalar in
      isControl(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }.joined()
  }

  package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
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

/// One entry of a log, independent of its format. `text` formats it as a single line, which no
/// message or field can break or forge.
package struct LogLine: Sendable {
  /// Format of the log.
  package enum Format: String, CaseIterable, Sendable {
    /// For people: `lockstep relay: warning: …`. Contains no time; the program that collects it
    /// adds one.
    case plain
    /// `time=… level=… msg=… account=…`, for programs and people.
    case logfmt
    /// One object per line, for programs.
    case json
  }

  /// Searchable detail of a line, apart from its message.
  package struct Field: Sendable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }

    package init(_ name: String, _ text: String) { self.init(name, .string(text)) }
    package init(_ name: String, _ number: Int) {
      self.init(name, .number(JSONNumber(Int64(number))))
    }
    package init(_ name: String, _ number: Int64) { self.init(name, .number(JSONNumber(number))) }
  }

  package var source: String
  package var level: Log.Level
  /// Time of the entry, in milliseconds since the Unix epoch.
  package var wall: Int64
  package var message: String
  package var fields: [Field]

  /// Returns the line without its line feed.
  package func text(_ format: Format, supportsColours: Bool = false) -> String {
    switch format {
    case .plain: plain(supportsColours: supportsColours)
    case .logfmt:
      all.map { "\($0.name)=\(LogLine.logfmt($0.value))" }.joined(separator: " ")
    case .json:
      // In this order, because people read these too; an object of `JSONValue` would not keep it.
      LogLine.escaped(
        "{" + all.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ",") + "}")
    }
  }

  /// Fields that every line has, followed by its own.
  private var all: [Field] {
    [
      Field("time", UniversalTime(wall).timestamp), Field("level", level.rawValue),
      Field("source", source), Field("msg", message),
    ] + fields
  }

  // MARK: plain

  private func plain(supportsColours: Bool) -> String {
    let details = fields.map { "\($0.name) \(LogLine.words($0.value))" }.joined(separator: ", ")
    return "\(source): \(title(supportsColours))"
      + Log.oneLine(message + (details.isEmpty ? "" : " (\(details))"))
  }

  private func title(_ supportsColours: Bool) -> String {
    if level == .info { return "" }
    guard supportsColours else { return "\(level.rawValue): " }
    return "\u{1B}[\(colour)m\(level.rawValue):\u{1B}[0m "
  }

  private var colour: Int {
    switch level {
    case .error: 31
    case .warning: 33
    case .info: 0
    case .debug, .trace: 2
    }
  }

  /// Returns JSON text in which other characters that may control a terminal are escaped too.
  private static func escaped(_ json: String) -> String {
    guard json.unicodeScalars.contains(where: Log.isControl) else { return json }
    return json.unicodeScalars.map { scalar in
      guard Log.isControl(scalar) else { return String(scalar) }
      let digits = String(scalar.value, radix: 16)
      return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }.joined()
  }

  private static func words(_ value: JSONValue) -> String {
    if case .string(let text) = value { return text }
    return value.text
  }

  // MARK: logfmt

  /// Returns the value, quoted with the escapes of JSON if it is not one plain word.
  private static func logfmt(_ value: JSONValue) -> String {
    let text = words(value)
    let isWord =
      !text.isEmpty
      && text.unicodeScalars.allSatisfy { scalar in
        scalar.isASCII && scalar.value > 0x20 && scalar.value != 0x7F
          && !["=", "\"", "\\"].contains(scalar)
      }
    return isWord ? text : escaped(JSONValue.string(text).text)
  }
}
