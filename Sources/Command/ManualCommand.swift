import Glibc
import LockstepCommandLine
import LockstepModel

/// `lockstep man`: the program's manual pages.
enum ManualCommand {
  static let output = CommandOption.optional(
    "output", ValueKind.folder,
    "Write the pages of the command, and of all commands below it, as files into this folder.")

  static let command: Command = Command(
    name: "man",
    summary: "Prints the manual page of a command, or writes all pages into a folder.",
    discussion: """
      To read a page that is not installed: lockstep man agent pair | man -l -

      To install all pages: lockstep man --output /usr/local/share/man/man1
      """,
    options: [output.entry],
    operands: Command.Operands(
      "COMMAND", "Words that lead to the command, such as agent pair; lockstep if not given.",
      counts: 0...10, known: .commands)
  ) { arguments throws(CommandFailure) in
    let path = try path(to: arguments.operands)
    guard let folder = arguments[output] else {
      return try TerminalOutput.printed(page(of: path).text)
    }
    let pages = ManualPage.all(
      below: path, version: LockstepVersion.current, day: LockstepVersion.day)
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw PlainFile.failure(folder, "be made", errno)
    }
    for page in pages { try write(page, to: folder) }
    let count = pages.count == 1 ? "1 page is" : "\(pages.count) pages are"
    return try TerminalOutput.printed("\(count) in \(folder)")
  }

  private static func page(of path: [Command]) -> ManualPage {
    ManualPage(of: path, version: LockstepVersion.current, day: LockstepVersion.day)
  }

  private static func path(to words: [String]) throws(CommandFailure) -> [Command] {
    var path = [RootCommand.root]
    for word in words {
      let commands = path.last?.subcommands ?? []
      guard let next = commands.first(where: { $0.name == word }) else {
        let nearest = Suggestion.nearest(to: word, among: commands.map(\.name))
        throw CommandFailure(
          "there is no command \"\(Log.oneLine(HelpText.name(of: path))) \(Log.oneLine(word))\""
            + (nearest.map { "; did you mean \($0)?" } ?? "; lockstep --help lists the commands"),
          exitCode: .usage)
      }
      path = (next.hasShortForm ? [RootCommand.root] : path) + [next]
    }
    return path
  }

  /// Writes a page as a file that all users can read, in the place of an older one.
  private static func write(_ page: ManualPage, to folder: String) throws(CommandFailure) {
    let path = folder + "/" + page.fileName
    guard unlink(path) == 0 || errno == ENOENT else {
      throw PlainFile.failure(path, "be replaced", errno)
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be made", errno) }
    try PlainFile(path: path, descriptor: descriptor).write(Array(page.text.utf8))
  }
}
