/// Manual page of a command, in the man macros of roff, derived from the same table as `--help`.
package struct ManualPage: Sendable {
  /// Commands that lead to the page's command, the program first.
  package let path: [Command]
  /// Version and day of the release; a page is the same whenever it is made.
  private let version: String
  private let day: String

  package init(of path: [Command], version: String, day: String) {
    self.path = path
    self.version = version
    self.day = day
  }

  /// Pages of the command at the end of the path and of all commands below it, each command once.
  package static func all(below path: [Command], version: String, day: String) -> [ManualPage] {
    let subcommands = path.last?.subcommands.filter { !$0.hasShortForm } ?? []
    return [ManualPage(of: path, version: version, day: day)]
      + subcommands.flatMap { all(below: path + [$0], version: version, day: day) }
  }

  /// Name such as `lockstep-agent-pair`.
  package var name: String { path.map(\.name).joined(separator: "-") }

  /// Name of the file, in section 1 of the manual.
  package var fileName: String { name + ".1" }

  package var text: String {
    guard let command = path.last, let program = path.first else { return "" }
    var page = Roff()
    page.add(
      ".TH \(Roff.word(name.uppercased())) 1 \"\(day)\" \"\(program.name) \(version)\" "
        + "\"Manual of \(program.name)\"")
    // Neither hyphens nor wide spaces in names of options and variables.
    page.add(".nh")
    page.add(".ad l")
    page.add(".SH NAME")
    page.add(text: name + " - " + nameLine(command.summary))
    page.add(".SH SYNOPSIS")
    for row in HelpText.wrap(synopsis(command), to: Roff.columns) { page.add(row) }
    page.add(".SH DESCRIPTION")
    page.add(text: command.summary)
    for paragraph in command.discussion.split(separator: "\n\n") {
      page.add(".PP")
      page.add(text: String(paragraph))
    }
    if let operands = command.operands {
      page.add(".SH ARGUMENTS")
      page.add(term: "\\fI\(Roff.word(operands.placeholder))\\fR", operands.help)
    }
    if !command.subcommands.isEmpty {
      page.add(".SH COMMANDS")
      for each in command.subcommands {
        page.add(term: "\\fB\(Roff.word(each.name))\\fR", each.summary)
      }
    }
    addOptions(command, to: &page)
    page.add(".SH EXIT STATUS")
    for code in [ExitCode.success, .failure, .usage] {
      page.add(term: "\\fB\(code.rawValue)\\fR", code.meaning)
    }
    if page.text.contains("docs/") {
      page.add(".SH FILES")
      page.add(
        term: "\\fIdocs/\\fR",
        "The documents that this page names. A package has them in "
          + "/usr/share/doc/\(program.name), the source and the archive of a release in docs.")
    }
    addReferences(command, to: &page)
    return page.text
  }

  private func addOptions(_ command: Command, to page: inout Roff) {
    let usual = command.options.filter { !$0.isForTests }
    let forTests = command.options.filter(\.isForTests)
    page.add(".SH OPTIONS")
    for entry in usual { page.add(term: Self.option(entry), HelpText.help(of: entry)) }
    page.add(term: "\\fB\\-\\-help\\fR", "Print a summary of this page.")
    if path.count == 1 {
      page.add(term: "\\fB\\-\\-version\\fR, \\fB\\-V\\fR", "Print the version.")
    }
    guard !forTests.isEmpty else { return }
    page.add(".SH OPTIONS FOR TESTS")
    for entry in forTests { page.add(term: Self.option(entry), HelpText.help(of: entry)) }
  }

  private func addReferences(_ command: Command, to page: inout Roff) {
    let parent = path.dropLast()
    var names = command.subcommands.map { each in
      let above = each.hasShortForm ? path.prefix(1) : path[...]
      return (above + [each]).map(\.name).joined(separator: "-")
    }
    if !parent.isEmpty { names.insert(parent.map(\.name).joined(separator: "-"), at: 0) }
    guard !names.isEmpty else { return }
    page.add(".SH SEE ALSO")
    for (index, name) in names.enumerated() {
      page.add(".BR \(Roff.word(name)) (1)" + (index < names.count - 1 ? "," : ""))
    }
  }

  private func synopsis(_ command: Command) -> String {
    let words = HelpText.usageWords(command).map { "\\fI\(Roff.word($0))\\fR" }
    let names = "\\fB\(Roff.word(HelpText.name(of: path)))\\fR"
    return ([names] + words).joined(separator: " ")
  }

  private static func option(_ entry: CommandOptionEntry) -> String {
    let value = entry.placeholder.map { " \\fI\(Roff.word($0))\\fR" } ?? ""
    return "\\fB\(Roff.word("--" + entry.name))\\fR" + value
  }

  /// Returns a summary as it follows a name: on one line, in lowercase, without a full stop.
  private func nameLine(_ summary: String) -> String {
    let line = summary.prefix(1).lowercased() + summary.dropFirst().replacing("\n", with: " ")
    return line.hasSuffix(".") ? String(line.dropLast()) : line
  }
}

extension ExitCode {
  /// Meaning for the manual.
  fileprivate var meaning: String {
    switch self {
    case .success: "The command has done what it was asked for."
    case .failure: "The command was tried and failed; standard error says why."
    case .usage: "The command line was not understood; nothing was done."
    }
  }
}

/// Text in roff, line by line.
private struct Roff {
  /// Maximum columns of a line of text.
  static let columns = 78

  private(set) var text = ""

  mutating func add(_ line: String) { text += line + "\n" }

  /// Adds a paragraph; its line breaks stay.
  mutating func add(text paragraph: String) {
    let lines = paragraph.split(separator: "\n").map(String.init)
    for (index, line) in lines.enumerated() {
      if index > 0 { add(".br") }
      // A line that begins with a full stop would be a request.
      for row in HelpText.wrap(Self.word(line), to: Self.columns) {
        add((row.hasPrefix(".") ? "\\&" : "") + row)
      }
    }
  }

  mutating func add(term: String, _ help: String) {
    add(".TP")
    add(term)
    add(text: help)
  }

  /// Returns the text with escapes for what roff would read otherwise, in ASCII.
  static func word(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      default: scalar.isASCII ? String(scalar) : "\\[u\(hex(scalar))]"
      }
    }.joined()
  }

  /// Returns at least four digits.
  private static func hex(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
