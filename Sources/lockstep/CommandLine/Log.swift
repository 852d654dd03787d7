/// What a long-running command says of itself, a line at a time, on standard error:
/// `lockstep relay: warning: …`. It has no time of its own, which whoever collects it adds.
///
/// No secret may stand in a message: no token, no pairing code, no payload.
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
  }

  package let level: Level
  private let source: String
  private let takesColours: Bool
  private let write: @Sendable (String) -> Void

  /// `source`: the command, as in `lockstep relay`.
  package init(_ source: String, level: Level) {
    self.init(
      source, level: level, takesColours: TerminalOutput.standardError.takesColours,
      write: TerminalOutput.writeToStandardError)
  }

  package init(
    _ source: String, level: Level, takesColours: Bool, write: @escaping @Sendable (String) -> Void
  ) {
    self.source = source
    self.level = level
    self.takesColours = takesColours
    self.write = write
  }

  package func error(_ message: @autoclosure () -> String) { say(.error, message) }
  package func warning(_ message: @autoclosure () -> String) { say(.warning, message) }
  package func info(_ message: @autoclosure () -> String) { say(.info, message) }
  package func debug(_ message: @autoclosure () -> String) { say(.debug, message) }
  package func trace(_ message: @autoclosure () -> String) { say(.trace, message) }

  /// One call of the system a line, so that lines of several threads do not mix.
  private func say(_ level: Level, _ message: () -> String) {
    guard level <= self.level else { return }
    write("\(source): \(title(of: level))\(Log.oneLine(message()))\n")
  }

  private func title(of level: Level) -> String {
    if level == .info { return "" }
    guard takesColours else { return "\(level.rawValue): " }
    return "\u{1B}[\(colour(of: level))m\(level.rawValue):\u{1B}[0m "
  }

  private func colour(of level: Level) -> Int {
    switch level {
    case .error: 31
    case .warning: 33
    case .info: 0
    case .debug, .trace: 2
    }
  }

  /// What others chose (a device's name) may stand in a message: it must not forge a line of its
  /// own, nor drive the terminal.
  static func oneLine(_ message: String) -> String {
    guard message.unicodeScalars.contains(where: isControl) else { return message }
    return message.unicodeScalars.map { scalar in
      isControl(scalar) ? scalar.escaped(asASCII: true) : String(scalar)
    }.joined()
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar == "\u{2028}" || scalar == "\u{2029}"
  }
}
