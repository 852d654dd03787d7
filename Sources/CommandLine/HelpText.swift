/// Text of `--help`, made from the same table that the parser reads.
package enum HelpText {
  /// Maximum columns of a line: the narrowest terminal that people use.
  private static let columns = 80

  /// Returns the help of a command. `path`: commands that lead to it, the program first. `isFull`:
  /// with the options that only tests need. `documents`: those that the texts name.
  package static func text(
    for path: [Command], isFull: Bool = false,
    documents: Documentation = Documentation(folders: [])
  ) -> String {
    func paragraph(_ text: String) -> String { Self.paragraph(documents.located(text)) }
    func row(_ entry: CommandOptionEntry) -> (String, String) {
      (usage(of: entry), documents.located(help(of: entry)))
    }
    guard let command = path.last else { return "" }
    let usageLine = lines(of: ["Usage: \(name(of: path))"] + usageWords(command), indent: 7)
    var blocks = [usageLine, paragraph(command.summary)]
    blocks += command.discussion.split(separator: "\n\n").map { paragraph(String($0)) }
    if let operands = command.operands {
      blocks.append(list("Arguments:", [(operands.placeholder, operands.help)]))
    }
    if !command.subcommands.isEmpty {
      let own = command.subcommands.filter { !$0.hasShortForm }
      let short = command.subcommands.filter(\.hasShortForm)
      blocks.append(list("Commands:", own.map { ($0.name, $0.summary) }))
      if !short.isEmpty {
        blocks.append(
          list("Also without \(command.name):", short.map { ($0.name, $0.summary) }))
      }
      blocks.append("`\(name(of: path)) COMMAND --help` explains each.\n")
    }
    let usual = command.options.filter { !$0.isForTests }
    let forTests = command.options.filter(\.isForTests)
    if command.action != nil {
      blocks.append(list("Options:", usual.map(row) + helpRows(forTests)))
    } else if path.count == 1 {
      blocks.append(list("Options:", [helpRow, ("--version, -V", "Print the version.")]))
    }
    if isFull, !forTests.isEmpty { blocks.append(list("For tests:", forTests.map(row))) }
    return blocks.joined(separator: "\n")
  }

  package static func name(of path: [Command]) -> String {
    path.map(\.name).joined(separator: " ")
  }

  private static let helpRow = (HelpFlag.usual.rawValue, "Print this.")

  private static func helpRows(_ forTests: [CommandOptionEntry]) -> [(String, String)] {
    guard !forTests.isEmpty else { return [helpRow] }
    let names = forTests.map { "--\($0.name)" }.joined(separator: ", ")
    return [helpRow, (HelpFlag.all.rawValue, "Print also what only tests need: \(names).")]
  }

  /// Words of the usage line after the command.
  static func usageWords(_ command: Command) -> [String] {
    var words: [String] = []
    if command.action == nil {
      words.append("COMMAND")
    } else if !command.subcommands.isEmpty {
      words.append("[COMMAND]")
    }
    for entry in command.options where entry.presence == .required {
      words.append(usage(of: entry))
    }
    if command.options.contains(where: { $0.presence != .required }) { words.append("[OPTIONS]") }
    if let operands = command.operands {
      let dots = operands.counts.upperBound > operands.names.count ? "…" : ""
      words.append(
        operands.counts.lowerBound == 0
          ? "[\(operands.placeholder)\(dots)]" : operands.placeholder + dots)
    }
    return words
  }

  /// Joins words by spaces; a line that would be too long is continued on an indented one.
  private static func lines(of words: [String], indent: Int) -> String {
    var text = ""
    var width = 0
    for word in words {
      if width > 0, width + 1 + word.count > columns {
        text += "\n" + String(repeating: " ", count: indent)
        width = indent
      } else if width > 0 {
        text += " "
        width += 1
      }
      text += word
      width += word.count
    }
    return text + "\n"
  }

  /// Returns an option's help with its default and its variable in the environment.
  static func help(of entry: CommandOptionEntry) -> String {
    let defaultNote =
      switch entry.presence {
      case .optional: ""
      case .required: " Required."
      case .default(let text): " Default: \(text)."
      }
    return "\(entry.help)\(defaultNote) [\(entry.environmentName)]"
  }

  private static func usage(of entry: CommandOptionEntry) -> String {
    "--\(entry.name)" + (entry.placeholder.map { " \($0)" } ?? "")
  }

  /// Formats two columns; a left part that is too wide gets its own line.
  private static func list(_ title: String, _ rows: [(left: String, right: String)]) -> String {
    let width = min(26, rows.map(\.left.count).max() ?? 0)
    var text = title + "\n"
    for (left, right) in rows {
      let lines = wrap(right, to: columns - width - 4)
      let pad = String(repeating: " ", count: width + 4)
      if left.count > width {
        text += "  \(left)\n" + lines.map { pad + $0 + "\n" }.joined()
      } else {
        let gap = String(repeating: " ", count: width - left.count + 2)
        text += "  \(left)\(gap)" + lines.joined(separator: "\n" + pad) + "\n"
      }
    }
    return text
  }

  private static func paragraph(_ text: String) -> String {
    wrap(text, to: columns).map { $0 + "\n" }.joined()
  }

  /// Wraps the text, and keeps its line breaks.
  static func wrap(_ text: String, to width: Int) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
      var lines = [""]
      for word in line.split(separator: " ") {
        let current = lines[lines.count - 1]
        if current.isEmpty {
          lines[lines.count - 1] = String(word)
        } else if current.count + word.count < width {
          lines[lines.count - 1] = "\(current) \(word)"
        } else {
          lines.append(String(word))
        }
      }
      return lines
    }
  }
}
