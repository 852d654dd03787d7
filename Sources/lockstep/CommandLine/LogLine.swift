import LockstepModel

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
  package func text(_ format: Format, takesColours: Bool = false) -> String {
    switch format {
    case .plain: plain(takesColours: takesColours)
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

  private func plain(takesColours: Bool) -> String {
    let details = fields.map { "\($0.name) \(LogLine.words($0.value))" }.joined(separator: ", ")
    return "\(source): \(title(takesColours))"
      + Log.oneLine(message + (details.isEmpty ? "" : " (\(details))"))
  }

  private func title(_ takesColours: Bool) -> String {
    if level == .info { return "" }
    guard takesColours else { return "\(level.rawValue): " }
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
