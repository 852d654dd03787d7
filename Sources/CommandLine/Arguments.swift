import LockstepLanguage

/// Checked arguments of a command; the subscript returns an option's value.
package struct Arguments: Sendable {
  /// Origin of a value.
  package enum Source: Hashable, Sendable {
    case commandLine
    /// A variable of the environment.
    case environment(String)
    /// A line of the file that --config names.
    case file(String, line: Int)
    case defaultValue

    package var text: String {
      switch self {
      case .commandLine: "flag"
      case .environment(let name): "environment \(name)"
      case .file(let path, let line): "\(path):\(line)"
      case .defaultValue: "default"
      }
    }
  }

  /// An option with the value in force.
  package struct Setting: Hashable, Sendable {
    package let name: String
    /// Text of the value; nil if none was given and there is no default.
    package let text: String?
    package let source: Source
  }

  /// Texts of each given option: several only of a repeatable one.
  private var texts: [String: [String]] = [:]
  private var sources: [String: Source] = [:]
  /// All options of the command.
  private var options: [CommandOptionEntry] = []
  private var known: Set<String> = []
  /// Words that are not options, in their order.
  package private(set) var operands: [String] = []

  package init() {}

  package init(
    texts: [String: [String]], sources: [String: Source], options: [CommandOptionEntry],
    operands: [String]
  ) {
    self.texts = texts
    self.sources = sources
    self.options = options
    known = Set(options.map(\.name))
    self.operands = operands
  }

  package subscript<Value>(_ option: CommandOption<Value>) -> Value {
    precondition(
      known.contains(option.entry.name),
      "--\(option.entry.name) is not an option of this command")
    return option.value(of: texts[option.entry.name] ?? [])
  }

  /// All settings that a file can set, in the order of the table.
  package var settings: [Setting] {
    options.filter { !ConfigFile.commandLineOnly.contains($0.name) }.map { option in
      var fallback: String?
      if case .default(let text) = option.presence { fallback = text }
      if option.isFlag { fallback = "false" }
      return Setting(
        name: option.name, text: texts[option.name]?.joined(separator: ", ") ?? fallback,
        source: sources[option.name] ?? .defaultValue)
    }
  }

  /// Options given by any source but defaults, in the order of the table. A command line made of
  /// them does the same again: a flag has no value, and a repeated option occurs as often as given.
  package var given: [(name: String, value: String?)] {
    options.filter { option in
      !ConfigFile.commandLineOnly.contains(option.name) && sources[option.name] != .defaultValue
    }.flatMap { option in
      (texts[option.name] ?? []).map { text in
        guard option.isFlag else { return (option.name, text) }
        return (text == "true" ? option.name : "\(option.name)=\(text)", nil)
      }
    }
  }
}

/// Fault in a command line.
package struct ArgumentsFault: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// A group's name without a subcommand.
    case subcommandMissing([String])
    case subcommandUnknown(String, nearest: String?)
    /// An option where one of these subcommands must be.
    case optionBeforeSubcommand(String, [String])
    case optionUnknown(String, nearest: String?)
    case valueMissing(String, placeholder: String)
    /// `source`: the option, or the environment variable that it came from.
    case valueBad(source: String, reason: String)
    case optionMissing(String, placeholder: String, environmentName: String)
    /// The default cannot be found; the reason in words.
    case optionWithoutDefault(String, placeholder: String, reason: String)
    case operandMissing(String)
    case operandSurplus(String)
    /// The config file cannot be read; the reason in words.
    case fileUnreadable(String)
    /// All faults in that file.
    case fileBad(String, [ConfigFile.Fault])
  }

  /// Words that lead to the command, the program's name first.
  package let path: [String]
  package let reason: Reason

  package var commandName: String { path.joined(separator: " ") }

  /// One sentence and the next step; for a file, one line per fault.
  package var explanation: String {
    let values = ["sentence": sentence, "command": commandName]
    return sentence.hasSuffix("?") || sentence.hasSuffix("？")
      ? localized("{sentence} `{command} --help` shows its usage", values)
      : localized("{sentence}; `{command} --help` shows its usage", values)
  }

  private var sentence: String {
    switch reason {
    case .subcommandMissing(let names):
      localized("give a subcommand: {names}", ["names": names.joined(separator: ", ")])
    case .subcommandUnknown(let word, nil):
      localized("there is no command \"{word}\"", ["word": word])
    case .subcommandUnknown(let word, let nearest?):
      localized(
        "there is no command \"{word}\"; did you mean {nearest}?",
        ["word": word, "nearest": nearest])
    case .optionBeforeSubcommand(let word, let names):
      localized(
        "a subcommand is missing before {word}: {names}",
        ["word": word, "names": ArgumentsFault.choice(of: names)])
    case .optionUnknown(let word, nil):
      localized("there is no option {word}", ["word": word])
    case .optionUnknown(let word, let nearest?):
      localized(
        "there is no option {word}; did you mean {nearest}?",
        ["word": word, "nearest": "--\(nearest)"])
    case .valueMissing(let name, let placeholder):
      localized(
        "--{name} needs a value: --{name} {form}", ["name": name, "form": placeholder])
    case .valueBad(let source, let reason):
      localized("{source}: {reason}", ["source": source, "reason": reason])
    case .optionMissing(let name, let placeholder, let environmentName):
      localized(
        "--{name} {form} is missing (or {variable} in the environment)",
        ["name": name, "form": placeholder, "variable": environmentName])
    case .optionWithoutDefault(let name, let placeholder, let reason):
      localized(
        "--{name} {form} is missing: {reason}",
        ["name": name, "form": placeholder, "reason": reason])
    case .operandMissing(let placeholder):
      localized("{name} is missing", ["name": placeholder])
    case .operandSurplus(let word):
      localized("unexpected argument \"{word}\"", ["word": word])
    case .fileUnreadable(let words): "--config: \(words)"
    case .fileBad(let name, let faults):
      (faults.map { fault in
        (fault.line > 0 ? "\(name):\(fault.line): " : "\(name): ") + fault.reason
      } + [localized("nothing was done")]).joined(separator: "\n")
    }
  }

  /// Returns `get or set`, or `get, set or watch`.
  private static func choice(of names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.last ?? "" }
    return localized(
      "{others} or {last}",
      ["others": names.dropLast().joined(separator: ", "), "last": last])
  }
}
