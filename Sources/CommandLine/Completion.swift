/// Words that can be typed next on a command line, derived from the table that the parser reads.
package struct Completion: Hashable, Sendable {
  package struct Candidate: Hashable, Sendable {
    package var word: String
    /// Short help for shells that show one; may be empty.
    package var help: String

    package init(_ word: String, _ help: String = "") {
      self.word = word
      self.help = help
    }
  }

  /// Names that the shell completes by itself.
  package enum Paths: String, Sendable {
    case none, files, folders
  }

  package private(set) var candidates: [Candidate] = []
  package private(set) var paths = Paths.none

  /// Finds the completions of the last of these words, which may be empty, of the program's
  /// arguments.
  package init(of words: [String], root: Command) {
    let current = words.last ?? ""
    let before = words.dropLast()
    if before.first == "help" {
      add(Self.subcommands(of: root, before.dropFirst()), beginningWith: current)
      return
    }
    var path = [root]
    var rest = before[...]
    while let command = path.last, let word = rest.first,
      let next = command.subcommands.first(where: { $0.name == word })
    {
      path.append(next)
      rest = rest.dropFirst()
    }
    guard let command = path.last, command.action != nil || rest.isEmpty else { return }
    let line = Line(rest, of: command)
    complete(current, after: line, command, root)
    guard rest.isEmpty, !current.hasPrefix("-") else { return }
    add(command.subcommands.map { Candidate($0.name, $0.summary) }, beginningWith: current)
    if path.count == 1 {
      add([Candidate("help", "Explains a command.")], beginningWith: current)
    }
  }

  /// State of a command's arguments before the word to complete.
  private struct Line {
    var given: Set<String> = []
    var operands: [String] = []
    /// Option whose value is next.
    var pending: CommandOptionEntry?
    /// True after `--`: no options follow.
    var isPastOptions = false

    init(_ words: ArraySlice<String>, of command: Command) {
      for word in words { add(word, command) }
    }

    private mutating func add(_ word: String, _ command: Command) {
      if pending != nil {
        pending = nil
      } else if isPastOptions || !word.hasPrefix("-") || word == "-" {
        operands.append(word)
      } else if word == "--" {
        isPastOptions = true
      } else {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let entry = command.options.first { "--\($0.name)" == parts[0] }
        if let entry, !entry.isRepeatable { given.insert(entry.name) }
        if parts.count == 1, entry?.isFlag == false { pending = entry }
      }
    }
  }

  private mutating func complete(
    _ current: String, after line: Line, _ command: Command, _ root: Command
  ) {
    if let option = line.pending {
      add(option.known, to: current)
    } else if current.hasPrefix("-"), !line.isPastOptions {
      completeOption(current, after: line, command)
    } else if let operands = command.operands, line.operands.count < operands.counts.upperBound {
      let position = min(line.operands.count, operands.known.count - 1)
      guard position >= 0 else { return }
      if operands.known[position] == .commands {
        // Operands of `man` are a path of commands, and only they are before the current word.
        add(Self.subcommands(of: root, line.operands[...]), beginningWith: current)
      } else {
        add(operands.known[position], to: current)
      }
    }
  }

  private mutating func completeOption(
    _ current: String, after line: Line, _ command: Command
  ) {
    let parts = current.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2 {
      guard let entry = command.options.first(where: { "--\($0.name)" == parts[0] }) else { return }
      add(entry.known, to: String(parts[1]), prefix: parts[0] + "=")
      return
    }
    let usual = command.options.filter { !$0.isForTests && !line.given.contains($0.name) }
    add(
      usual.map { Candidate("--\($0.name)", $0.help) }
        + [Candidate(HelpFlag.usual.rawValue, "Print help.")],
      beginningWith: current)
  }

  private mutating func add(_ known: KnownValues, to value: String, prefix: String = "") {
    switch known {
    case .none, .commands: break
    case .files: paths = .files
    case .folders: paths = .folders
    case .words(let words):
      add(words.map { Candidate(prefix + $0) }, beginningWith: prefix + value)
    case .list(let words):
      let parts = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      let others = parts.dropLast()
      let head = prefix + others.map { $0 + "," }.joined()
      let open = words.filter { !others.contains($0) }
      add(open.map { Candidate(head + $0) }, beginningWith: prefix + value)
    }
  }

  private mutating func add(_ found: [Candidate], beginningWith start: String) {
    candidates += found.filter { $0.word.hasPrefix(start) }.map {
      Candidate($0.word, Self.short($0.help))
    }
  }

  /// Returns the subcommands of the command that the words lead to; none if they lead to none.
  private static func subcommands(of root: Command, _ words: ArraySlice<String>) -> [Candidate] {
    var commands = root.subcommands
    for word in words {
      commands = commands.first { $0.name == word }?.subcommands ?? []
    }
    return commands.map { Candidate($0.name, $0.summary) }
  }

  /// Returns the first clause of a help text, which fits beside a word in a list.
  private static func short(_ help: String) -> String {
    var text = help.replacing("\n", with: " ")
    for end in [". ", "; ", ": ", " ("] {
      if let range = text.firstRange(of: end) { text = String(text[..<range.lowerBound]) }
    }
    return text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}

extension Completion {
  /// Joins what bash has split at its word breaks: `--name`, `=`, `value` are one word here. Also
  /// returns the part of the last word that bash keeps.
  package static func joinedAtBreaks(_ words: [String]) -> (words: [String], kept: String) {
    func isBreak(_ word: String) -> Bool {
      !word.isEmpty && word.allSatisfy { $0 == "=" || $0 == ":" }
    }
    var joined: [String] = []
    var kept = ""
    var isOpen = false
    for word in words {
      if let last = joined.last, isBreak(word) || isOpen {
        kept = isBreak(word) ? last + word : last
        joined[joined.count - 1] = last + word
      } else {
        kept = ""
        joined.append(word)
      }
      isOpen = isBreak(word)
    }
    return (joined, kept)
  }
}
