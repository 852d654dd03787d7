import LockstepModel

/// One thing that a log says, before it has a form. `LogLine.text` gives it one: a line each, that
/// nothing in a message or a field can break or forge.
package struct LogLine: Sendable {
  /// How a log looks.
  package enum Format: String, CaseIterable, Sendable {
    /// For people: `lockstep relay: warning: …`. It has no time; whoever collects it adds one.
    case plain
    /// `time=… level=… msg=… account=…`, for programs and people.
    case logfmt
    /// An object a line, for programs.
    case json
  }

  /// What a line is about, apart from its words, so that it can be searched for.
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
  /// Milliseconds since the Unix epoch.
  package var wall: Int64
  package var message: String
  package var fields: [Field]

  /// Without its line feed.
  package func text(_ format: Format, takesColours: Bool = false) -> String {
    switch format {
    case .plain: plain(takesColours: takesColours)
    case .logfmt:
      all.map { "\($0.name)=\(LogLine.logfmt($0.value))" }.joined(separator: " ")
    case .json:
      // In this order, which an object of `JSONValue` would not keep: people read these too.
      LogLine.escaped(
        "{" + all.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ",") + "}")
    }
  }

  /// What a line of any program has, and then what is its own.
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

  /// JSON text, in which what else may drive a terminal is escaped too.
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

  /// Quoted where it is not one plain word, with the escapes of JSON.
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
