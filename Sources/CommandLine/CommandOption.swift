import LockstepLanguage

/// An option of a command, `--name VALUE`, with the type of its value. Its name in the environment
/// is `LOCKSTEP_NAME`. The command line takes precedence over the environment, and the environment
/// over the default.
package struct CommandOption<Value: Sendable>: Sendable {
  package private(set) var entry: CommandOptionEntry
  /// Returns the value of the given texts, or of the default if there are none. Only a repeatable
  /// option has several.
  fileprivate let read: @Sendable ([String]) throws(ValueFault) -> Value

  /// Returns the value of texts that the parser has checked.
  package func value(of texts: [String]) -> Value {
    do throws(ValueFault) {
      return try read(texts)
    } catch {
      preconditionFailure("--\(entry.name) was not checked before it was read: \(error.reason)")
    }
  }
}

/// Properties of an option that parser and help need, independent of its type.
package struct CommandOptionEntry: Sendable {
  /// Name without the dashes, in lowercase words with hyphens.
  package let name: String
  /// Form of the value, such as `HOST:PORT`; nil for a flag, which needs none.
  package let placeholder: String?
  package let help: String
  package fileprivate(set) var presence: Presence
  package let check: @Sendable (String) throws(ValueFault) -> Void
  /// Values that a shell can complete.
  package var known = KnownValues.none
  /// Returns the default that depends on the environment; worded to follow "--name is missing: " if
  /// there is none.
  package fileprivate(set) var fallback: Fallback?
  /// True for an option that only tests need; the usual help leaves it out.
  package var isForTests = false
  /// True if the option may be given more than once.
  package var isRepeatable = false

  /// `environment`: returns a variable's value.
  package typealias Fallback =
    @Sendable (
      _ environment: (String) -> String?
    ) throws(ValueFault) -> String

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

/// Reason why a text is not a valid value; worded to follow "--name: ".
package struct ValueFault: Error, Hashable, Sendable {
  package let reason: String
  package init(_ reason: String) { self.reason = reason }
}

extension CommandOption {
  /// The same option, left out of the usual help because only tests need it.
  package var forTests: CommandOption {
    var option = self
    option.entry.isForTests = true
    return option
  }

  /// Option that must be given.
  package static func required(
    _ name: String, _ kind: ValueKind<Value>, _ help: String
  ) -> CommandOption {
    CommandOption(
      entry: entry(name, kind, help, .required),
      read: { texts throws(ValueFault) in
        guard let text = texts.last else { throw ValueFault("it is missing") }
        return try kind.parse(text)
      })
  }

  /// Option with a default. `default` is written as a person would give it, and the help shows it
  /// so.
  package static func defaulted(
    _ name: String, _ kind: ValueKind<Value>, default text: String, _ help: String
  ) -> CommandOption {
    CommandOption(
      entry: entry(name, kind, help, .default(text)),
      read: { texts throws(ValueFault) in try kind.parse(texts.last ?? text) })
  }

  /// Option with a default that depends on the environment. `default`: its form in the help.
  package static func defaulted(
    _ name: String, _ kind: ValueKind<Value>, default text: String,
    fallback: @escaping CommandOptionEntry.Fallback, _ help: String
  ) -> CommandOption {
    var option = required(name, kind, help)
    option.entry.presence = .default(text)
    option.entry.fallback = fallback
    return option
  }

  /// Option that is nil if not given.
  package static func optional<Wrapped>(
    _ name: String, _ kind: ValueKind<Wrapped>, _ help: String
  ) -> CommandOption where Value == Wrapped? {
    CommandOption(
      entry: CommandOption<Wrapped>.entry(name, kind, help, .optional),
      read: { texts throws(ValueFault) in
        guard let text = texts.last else { return nil }
        return try kind.parse(text)
      })
  }

  /// Option that may be given any number of times; empty if not given.
  package static func repeatable<Element>(
    _ name: String, _ kind: ValueKind<Element>, _ help: String
  ) -> CommandOption where Value == [Element] {
    var entry = CommandOption<Element>.entry(name, kind, help, .optional)
    entry.isRepeatable = true
    return CommandOption(
      entry: entry,
      read: { texts throws(ValueFault) in
        var values: [Element] = []
        for text in texts { values.append(try kind.parse(text)) }
        return values
      })
  }

  private static func entry(
    _ name: String, _ kind: ValueKind<Value>, _ help: String,
    _ presence: CommandOptionEntry.Presence
  ) -> CommandOptionEntry {
    CommandOptionEntry(
      name: name, placeholder: kind.placeholder, help: help, presence: presence,
      check: { text throws(ValueFault) in _ = try kind.parse(text) }, known: kind.known)
  }
}

extension CommandOption where Value == Bool {
  /// Option that is true if given; `--name=false` overrides the environment.
  package static func flag(_ name: String, _ help: String) -> CommandOption {
    CommandOption(
      entry: CommandOptionEntry(
        name: name, placeholder: nil, help: help, presence: .optional,
        check: { text throws(ValueFault) in _ = try parseBool(text) }),
      read: { texts throws(ValueFault) in
        guard let text = texts.last else { return false }
        return try parseBool(text)
      })
  }

  private static func parseBool(_ text: String) throws(ValueFault) -> Bool {
    switch text.lowercased() {
    case "1", "true", "yes", "on": true
    case "0", "false", "no", "off": false
    default:
      throw ValueFault(localized("\"{text}\" is neither true nor false", ["text": text]))
    }
  }
}
