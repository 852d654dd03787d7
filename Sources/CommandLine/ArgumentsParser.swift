import LockstepModel

/// Finds the command that the words name, and checks its arguments.
package struct ArgumentsParser {
  package enum Outcome {
    /// Commands that lead to the one to run, the program first.
    case run([Command], Command.Action, Arguments)
    /// `isFull`: with the options that only tests need.
    case help([Command], isFull: Bool)
    case version
  }

  private let root: Command
  private let environment: (String) -> String?
  private let readFile: (String) throws(CommandFailure) -> [UInt8]

  /// `readFile`: returns the bytes of the named config file.
  package init(
    root: Command, environment: @escaping (String) -> String?,
    readFile: @escaping (String) throws(CommandFailure) -> [UInt8] = ConfigFile.bytes
  ) {
    self.root = root
    self.environment = environment
    self.readFile = readFile
  }

  /// Option values that are known so far.
  private struct Values {
    var texts: [String: [String]] = [:]
    var sources: [String: Arguments.Source] = [:]

    /// Adds a value of lower precedence than those before. Of a list, adds the names that are not
    /// set yet.
    mutating func add(_ text: String, to option: CommandOptionEntry, from source: Arguments.Source)
    {
      if let before = texts[option.name]?.last {
        if option.isList { texts[option.name] = [CommandOptionEntry.merged(before, over: text)] }
      } else {
        texts[option.name] = [text]
        sources[option.name] = source
      }
    }
  }

  package func parse(_ words: [String]) throws(ArgumentsFault) -> Outcome {
    if words.first == "--version" || words.first == "-V" { return .version }
    if words.first == "help" { return .help(try path(to: words.dropFirst()), isFull: false) }
    var path = [root]
    var rest = words[...]
    while let command = path.last {
      if let action = command.action, !isSubcommand(command, rest.first) {
        return try parseOptions(of: path, action, command, rest)
      }
      guard let word = rest.popFirst() else {
        throw fault(path, .subcommandMissing(command.subcommands.map(\.name)))
      }
      if let help = HelpFlag(rawValue: word) { return .help(path, isFull: help == .all) }
      path.append(try subcommand(word, of: path))
    }
    return .help([root], isFull: false)
  }

  /// True if the word is a subcommand of a command that also has an action.
  private func isSubcommand(_ command: Command, _ word: String?) -> Bool {
    guard let word, !command.subcommands.isEmpty else { return false }
    return command.operands == nil && !word.hasPrefix("-")
  }

  /// Resolves the words after `help`, as in `lockstep help agent timer`.
  private func path(to words: ArraySlice<String>) throws(ArgumentsFault) -> [Command] {
    var path = [root]
    for word in words { path.append(try subcommand(word, of: path)) }
    return path
  }

  private func subcommand(_ word: String, of path: [Command]) throws(ArgumentsFault) -> Command {
    let candidates = path.last?.subcommands ?? []
    if let command = candidates.first(where: { $0.name == word }) { return command }
    if word.hasPrefix("-") {
      let name = word.split(separator: "=", maxSplits: 1).first.map(String.init) ?? word
      throw fault(path, .optionBeforeSubcommand(name, candidates.map(\.name)))
    }
    let names = candidates.map(\.name)
    let nearest =
      CommandWords.usual(for: word, among: names)
      ?? Suggestion.nearest(to: word, among: names)
    let group = candidates.first { $0.subcommands.contains { $0.name == word } }
    throw fault(
      path, .subcommandUnknown(word, nearest: group.map { "\($0.name) \(word)" } ?? nearest))
  }

  private func parseOptions(
    of path: [Command], _ action: @escaping Command.Action, _ command: Command,
    _ words: ArraySlice<String>
  ) throws(ArgumentsFault) -> Outcome {
    let beforeOperands = words.prefix { $0 != "--" }
    if let help = beforeOperands.lazy.compactMap(HelpFlag.init).first {
      return .help(path, isFull: help == .all)
    }
    var values = Values()
    var operands: [String] = []
    var rest = words
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let (entry, text) = try option(word, &rest, of: path)
      try check(text, of: entry, from: "--\(entry.name)", path)
      values.texts[entry.name] =
        entry.isRepeatable ? (values.texts[entry.name] ?? []) + [text] : [text]
      values.sources[entry.name] = .commandLine
    }
    try addEnvironment(to: &values, of: path)
    try addFile(to: &values, of: path)
    try addFallbacks(to: &values, of: path)
    try checkPresence(of: values.texts, path)
    try check(operands, of: path)
    return .run(
      path, action,
      Arguments(
        texts: values.texts, sources: values.sources, options: command.options,
        operands: operands))
  }

  /// Parses `--name VALUE`, `--name=VALUE` or `--flag`. The last of several counts, unless the
  /// option is repeatable.
  private func option(
    _ word: String, _ rest: inout ArraySlice<String>, of path: [Command]
  ) throws(ArgumentsFault) -> (CommandOptionEntry, String) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0].drop { $0 == "-" })
    let entries = path.last?.options ?? []
    guard word.hasPrefix("--"), let entry = entries.first(where: { $0.name == name }) else {
      let nearest = Suggestion.nearest(to: name, among: entries.map(\.name) + HelpFlag.names)
      throw fault(path, .optionUnknown(String(parts[0]), nearest: nearest))
    }
    if parts.count == 2 { return (entry, String(parts[1])) }
    guard let placeholder = entry.placeholder else { return (entry, "true") }
    // The next option is no value: the value was forgotten. A lone "-" and a negative number are
    // values.
    guard let next = rest.first, !next.hasPrefix("--") else {
      throw fault(path, .valueMissing(name, placeholder: placeholder))
    }
    rest = rest.dropFirst()
    return (entry, next)
  }

  /// Adds values from the environment. An empty variable counts as not set.
  private func addEnvironment(to values: inout Values, of path: [Command]) throws(ArgumentsFault) {
    for entry in path.last?.options ?? [] where values.texts[entry.name] == nil || entry.isList {
      guard let text = environment(entry.environmentName), !text.isEmpty else { continue }
      try check(text, of: entry, from: entry.environmentName, path)
      values.add(text, to: entry, from: .environment(entry.environmentName))
    }
  }

  /// Adds values from the file that the line or the environment names, if the command accepts one.
  private func addFile(to values: inout Values, of path: [Command]) throws(ArgumentsFault) {
    let options = path.last?.options ?? []
    guard options.contains(where: { $0.name == ConfigFile.option.entry.name }),
      let name = values.texts[ConfigFile.option.entry.name]?.last
    else { return }
    let file: ConfigFile
    do throws(CommandFailure) {
      file = ConfigFile(try readFile(name), options: options)
    } catch {
      throw fault(path, .fileUnreadable(error.message ?? name))
    }
    guard file.faults.isEmpty else { throw fault(path, .fileBad(name, file.faults)) }
    for option in options {
      guard let entry = file.entries[option.name] else { continue }
      values.add(entry.text, to: option, from: .file(name, line: entry.line))
    }
  }

  /// Adds defaults that depend on the environment.
  private func addFallbacks(to values: inout Values, of path: [Command]) throws(ArgumentsFault) {
    for entry in path.last?.options ?? [] where values.texts[entry.name] == nil {
      guard let fallback = entry.fallback else { continue }
      do throws(ValueFault) {
        values.add(try fallback(environment), to: entry, from: .defaultValue)
      } catch {
        throw fault(
          path,
          .optionWithoutDefault(
            entry.name, placeholder: entry.placeholder ?? "", reason: error.reason))
      }
    }
  }

  private func checkPresence(of texts: [String: [String]], _ path: [Command])
    throws(ArgumentsFault)
  {
    for entry in path.last?.options ?? [] where entry.presence == .required {
      guard texts[entry.name] == nil else { continue }
      throw fault(
        path,
        .optionMissing(
          entry.name, placeholder: entry.placeholder ?? "",
          environmentName: entry.environmentName))
    }
  }

  private func check(
    _ text: String, of entry: CommandOptionEntry, from source: String, _ path: [Command]
  ) throws(ArgumentsFault) {
    do throws(ValueFault) {
      try entry.check(text)
    } catch {
      throw fault(path, .valueBad(source: source, reason: error.reason))
    }
  }

  private func check(_ operands: [String], of path: [Command]) throws(ArgumentsFault) {
    let wanted = path.last?.operands
    let counts = wanted?.counts ?? 0...0
    if operands.count > counts.upperBound {
      throw fault(path, .operandSurplus(operands[counts.upperBound]))
    }
    if let wanted, operands.count < counts.lowerBound {
      let names = wanted.names
      throw fault(path, .operandMissing(names[min(operands.count, names.count - 1)]))
    }
  }

  private func fault(_ path: [Command], _ reason: ArgumentsFault.Reason) -> ArgumentsFault {
    ArgumentsFault(path: path.map(\.name), reason: reason)
  }
}

/// Words that ask for a command's help instead of running it.
package enum HelpFlag: String, CaseIterable, Sendable {
  case usual = "--help"
  case short = "-h"
  /// Also the options that only tests need.
  case all = "--help-all"

  /// Names without the dashes, of those that are options by name.
  package static var names: [String] {
    allCases.map(\.rawValue).filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
  }
}
