import LockstepCommandLine
import Testing

/// A person presses Tab; the words after the program's name are given, the last one unfinished.
struct CompletionTests {
  private static let serve = Command(
    name: "serve", summary: "Serves: for all.",
    options: [
      CommandOption.optional("home", ValueKind.folder, "Where it is. Required.").entry,
      CommandOption.optional("config", ValueKind.file, "Settings.").entry,
      CommandOption.optional("colour", .word(of: ["red", "blue"]), "Its colour.").entry,
      CommandOption<[String]>.repeatable("zone", .text("ZONE"), "A zone.").entry,
      CommandOption.optional("limits", .text("LIST", known: .list(["a=", "b="])), "Limits.").entry,
      CommandOption.flag("open", "For all.").entry,
      CommandOption.flag("clock", "Clock.").forTests.entry,
    ],
    operands: Command.Operands(
      "FILE WORD", "What.", counts: 1...2, known: .files, .words(["clean"]))
  ) { _ throws(CommandFailure) in .success }
  private static let keep = Command(name: "keep", summary: "Keeps.") { _ throws(CommandFailure) in
    .success
  }
  private static let manual = Command(
    name: "man", summary: "Prints a page.",
    operands: Command.Operands("COMMAND", "Whose.", counts: 0...9, known: .commands)
  ) { _ throws(CommandFailure) in .success }
  private static let root = Command(
    name: "program", summary: "Does.",
    subcommands: [serve, Command(name: "box", summary: "Group.", subcommands: [keep]), manual])

  private func completion(_ words: [String]) -> Completion {
    Completion(of: words, root: Self.root)
  }

  private func words(_ line: String) -> [String] {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    return completion(words).candidates.map(\.word)
  }

  @Test func commandsAreCompletedAtEveryLevel() {
    #expect(words("") == ["serve", "box", "man", "help"])
    #expect(words("s") == ["serve"])
    #expect(words("box ") == ["keep"])
    #expect(words("help b") == ["box"])
    #expect(words("help box k") == ["keep"])
    #expect(words("man ") == ["serve", "box", "man"])
    #expect(words("man box ") == ["keep"])
    #expect(words("bax k").isEmpty)
    #expect(words("box keep ").isEmpty)
  }

  @Test func optionsAreCompletedOnceAndThoseForTestsNever() {
    #expect(
      words("serve --") == [
        "--home", "--config", "--colour", "--zone", "--limits", "--open", "--help",
      ])
    #expect(
      words("serve --zone a --open --home=x --") == [
        "--config", "--colour", "--zone", "--limits", "--help",
      ])
    #expect(words("serve -- --").isEmpty)
  }

  @Test func valuesOfAClosedSetAreCompleted() {
    #expect(words("serve --colour ") == ["red", "blue"])
    #expect(words("serve --colour r") == ["red"])
    #expect(words("serve --colour=b") == ["--colour=blue"])
    #expect(words("serve --limits ") == ["a=", "b="])
    #expect(words("serve --limits a=3,") == ["a=3,a=", "a=3,b="])
    #expect(words("serve file c") == ["clean"])
    #expect(words("serve file clean c").isEmpty)
    #expect(words("serve --zone ").isEmpty)
  }

  @Test func namesOfFilesAreLeftToTheShell() {
    #expect(completion(["serve", "--home", ""]).paths == .folders)
    #expect(completion(["serve", "--config=x"]).paths == .files)
    #expect(completion(["serve", "x"]).paths == .files)
    #expect(completion(["serve", "--", "x"]).paths == .files)
    #expect(completion(["serve", "--colour", "x"]).paths == .none)
  }

  @Test func helpIsCutToItsFirstClause() {
    #expect(completion(["serve", "--ho"]).candidates == [.init("--home", "Where it is")])
    #expect(completion(["se"]).candidates == [.init("serve", "Serves")])
  }

  @Test func bashSplitsWordsWhichAreJoinedAgain() {
    for (words, joined, kept) in [
      (["relay", "--colour", "=", "r"], ["relay", "--colour=r"], "--colour="),
      (["relay", "--colour", "="], ["relay", "--colour="], "--colour="),
      (["--to", "http", ":", "//x", "y"], ["--to", "http://x", "y"], ""),
      (["a=", ""], ["a=", ""], ""), ([], [], ""),
    ] {
      let result = Completion.joinedAtBreaks(words)
      #expect(result.words == joined)
      #expect(result.kept == kept)
    }
    let bash = CompletionShell.bash.answer(to: ["serve", "--colour", "=", "b"], root: Self.root)
    #expect(bash == "none\nblue\n")
    let fish = CompletionShell.fish.answer(to: ["serve", "--colour=b"], root: Self.root)
    #expect(fish == "none\n--colour=blue\n")
    #expect(CompletionShell.zsh.answer(to: ["k"], root: Self.root) == "none\n")
    #expect(CompletionShell.zsh.answer(to: ["se"], root: Self.root) == "none\nserve\tServes\n")
  }
}
