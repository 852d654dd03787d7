/// An option of a command, `--name VALUE`, with the type of what it gives. Its name in the
/// environment is `LOCKSTEP_NAME`; a flag on the line goes before the environment, and the
/// environment before the default.
package struct CommandOption<Value: Sendable>: Sendable {
  package let entry: CommandOptionEntry
  /// From the text that was given, or that stands as the default; nil where there is neither.
  fileprivate let read: @Sendable (String?) throws(ValueFault) -> Value

  /// The value of a text that the parser has checked.
  package func value(of text: String?) -> Value {
    do throws(ValueFault) {
      return try read(text)
    } catch {
      preconditionFailure("--\(entry.name) was read without being checked: \(error.reason)")
    }
  }
}

/// What parser and help need to know of an option, whatever its type.
package struct CommandOptionEntry: Sendable {
  /// Without the dashes, in lowercase words with hyphens.
  package let name: String
  /// What the value looks like: `HOST:PORT`; nil for a flag, which needs none.
  package let placeholder: String?
  package let help: String
  package let presence: Presence
  package let check: @Sendable (String) throws(ValueFault) -> Void
  /// Whether it may stand on the line more than once. Its texts are kept as one, with a NUL between
  /// them, which no argument of a program can hold.
  package var isRepeatable = false

  package enum Presence: Hashable, Sendable {
    case optional
    case required
    case `default`(String)
  }

  package var isFlag: Bool { placeholder == nil }

  package var environmentName: String {
    "LOCKSTEP_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }
}

/// Why a text is not the value that is wanted: goes on from "--name: ".
package struct ValueFault: Error, Hashable, Sendable {
  package let reason: String
  package init(_ reason: String) { self.reason = reason }
}

extension CommandOptionEntry {
  /// One more text of an option, behind those before it.
  package static func joined(_ text: String, behind before: String?) -> String {
    before.map { $0 + "\0" + text } ?? text
  }

  package static func parts(of text: String) -> [String] {
    text.split(separator: "\0").map(String.init)
  }
}

extension CommandOption {
  /// Must be given.
  package static func required(
    _ name: String, _ kind: ValueKind<Value>, _ help: String
  ) -> CommandOption {
    CommandOption(
      entry: entry(name, kind, help, .required),
      read: { text throws(ValueFault) in
        guard let text else { throw ValueFault("it is missing") }
        return try kind.parse(text)
      })
  }

  /// `default` is a text like one that is given, so that the help shows it as it is written.
  package static func defaulted(
    _ name: String, _ kind: ValueKind<Value>, default usual: String, _ help: String
  ) -> CommandOption {
    CommandOption(
      entry: entry(name, kind, help, .default(usual)),
      read: { text throws(ValueFault) in try kind.parse(text ?? usual) })
  }

  /// nil where it is not given.
  package static func optional<Wrapped>(
    _ name: String, _ kind: ValueKind<Wrapped>, _ help: String
  ) -> CommandOption where Value == Wrapped? {
    CommandOption(
      entry: CommandOption<Wrapped>.entry(name, kind, help, .optional),
      read: { text throws(ValueFault) in
        guard let text else { return nil }
        return try kind.parse(text)
      })
  }

  /// As often as one likes; empty where it is not given.
  package static func repeatable<Element>(
    _ name: String, _ kind: ValueKind<Element>, _ help: String
  ) -> CommandOption where Value == [Element] {
    var entry = CommandOption<Element>.entry(name, kind, help, .optional)
    entry.isRepeatable = true
    return CommandOption(
      entry: entry,
      read: { text throws(ValueFault) in
        var values: [Element] = []
        for part in CommandOptionEntry.parts(of: text ?? "") {
          values.append(try kind.parse(part))
        }
        return values
      })
  }

  private static func entry(
    _ name: String, _ kind: ValueKind<Value>, _ help: String,
    _ presence: CommandOptionEntry.Presence
  ) -> CommandOptionEntry {
    CommandOptionEntry(
      name: name, placeholder: kind.placeholder, help: help, presence: presence,
      check: { text throws(ValueFault) in _ = try kind.parse(text) })
  }
}

extension CommandOption where Value == Bool {
  /// True where it stands on the line; `--name=false` takes back what the environment says.
  package static func flag(_ name: String, _ help: String) -> CommandOption {
    CommandOption(
      entry: CommandOptionEntry(
        name: name, placeholder: nil, help: help, presence: .optional,
        check: { text throws(ValueFault) in _ = try truth(text) }),
      read: { text throws(ValueFault) in
        guard let text else { return false }
        return try truth(text)
      })
  }

  private static func truth(_ text: String) throws(ValueFault) -> Bool {
    switch text.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default: throw ValueFault("\"\(text)\" is neither true nor false")
    }
  }
}
