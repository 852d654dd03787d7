/// Finds the command that the words name, and checks what they give it.
package struct ArgumentsParser {
  package enum Outcome {
    /// The commands that lead to the one to be run, the program first.
    case run([Command], Command.Action, Arguments)
    case help([Command])
    case version
  }

  private let root: Command
  private let environment: (String) -> String?

  package init(root: Command, environment: @escaping (String) -> String?) {
    self.root = root
    self.environment = environment
  }

  package func parse(_ words: [String]) throws(ArgumentsFault) -> Outcome {
    if words.first == "--version" { return .version }
    if words.first == "help" { return .help(try path(to: words.dropFirst())) }
    var path = [root]
    var rest = words[...]
    while let command = path.last {
      if let action = command.action {
        return try parseOptions(of: path, action, command, rest)
      }
      guard let word = rest.popFirst() else {
        throw fault(path, .subcommandMissing(command.subcommands.map(\.name)))
      }
      if ArgumentsParser.asksForHelp(word) { return .help(path) }
      path.append(try subcommand(word, of: path))
    }
    return .help([root])
  }

  /// `lockstep help agent timer`.
  private func path(to words: ArraySlice<String>) throws(ArgumentsFault) -> [Command] {
    var path = [root]
    for word in words { path.append(try subcommand(word, of: path)) }
    return path
  }

  private func subcommand(_ word: String, of path: [Command]) throws(ArgumentsFault) -> Command {
    let candidates = path.last?.subcommands ?? []
    if let command = candidates.first(where: { $0.name == word }) { return command }
    if word.hasPrefix("-") { throw fault(path, .optionBeforeSubcommand(word)) }
    throw fault(
      path,
      .subcommandUnknown(
        word, nearest: Suggestion.nearest(to: word, among: candidates.map(\.name))))
  }

  private func parseOptions(
    of path: [Command], _ action: @escaping Command.Action, _ command: Command,
    _ words: ArraySlice<String>
  ) throws(ArgumentsFault) -> Outcome {
    let beforeOperands = words.prefix { $0 != "--" }
    if beforeOperands.contains(where: ArgumentsParser.asksForHelp) { return .help(path) }
    var texts: [String: String] = [:]
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
      texts[entry.name] = text
    }
    try addEnvironment(to: &texts, of: path)
    try check(operands, of: path)
    let known = Set(command.options.map(\.name))
    return .run(path, action, Arguments(texts: texts, known: known, operands: operands))
  }

  /// `--name VALUE`, `--name=VALUE`, or `--flag`; the last of several counts.
  private func option(
    _ word: String, _ rest: inout ArraySlice<String>, of path: [Command]
  ) throws(ArgumentsFault) -> (CommandOptionEntry, String) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0].drop { $0 == "-" })
    let entries = path.last?.options ?? []
    guard word.hasPrefix("--"), let entry = entries.first(where: { $0.name == name }) else {
      let nearest = Suggestion.nearest(to: name, among: entries.map(\.name) + ["help"])
      throw fault(path, .optionUnknown(String(parts[0]), nearest: nearest))
    }
    if parts.count == 2 { return (entry, String(parts[1])) }
    guard let placeholder = entry.placeholder else { return (entry, "true") }
    // The next option is no value: it was forgotten. A lone "-" and a negative number are.
    guard let next = rest.first, !next.hasPrefix("--") else {
      throw fault(path, .valueMissing(name, placeholder: placeholder))
    }
    rest = rest.dropFirst()
    return (entry, next)
  }

  /// An empty variable counts as one that is not set.
  private func addEnvironment(to texts: inout [String: String], of path: [Command])
    throws(ArgumentsFault)
  {
    for entry in path.last?.options ?? [] where texts[entry.name] == nil {
      if let text = environment(entry.environmentName), !text.isEmpty {
        try check(text, of: entry, from: entry.environmentName, path)
        texts[entry.name] = text
      } else if entry.presence == .required {
        throw fault(
          path,
          .optionMissing(
            entry.name, placeholder: entry.placeholder ?? "",
            environmentName: entry.environmentName))
      }
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

  private static func asksForHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }
}
