import LockstepClient
import LockstepCommand
import LockstepCommandLine
import LockstepLanguage
import LockstepWire
import Testing

struct ArgumentsParserTests {
  private static let listen = CommandOption.defaulted(
    "listen", .listener, default: "127.0.0.1:5625", "Where to listen.")
  private static let loops = CommandOption.optional("loops", .integer(1...64), "How many.")
  private static let home = CommandOption.required("home", .folder, "Where.")
  private static let open = CommandOption.flag("open", "For all.")
  private static let to = CommandOption<[Int]>.repeatable("to", .integer(1...9), "Where to.")

  private static let serve = Command(
    name: "serve", summary: "Serves.",
    options: [listen.entry, loops.entry, open.entry, to.entry]
  ) { _ throws(CommandFailure) in .success }
  private static let keep = Command(
    name: "keep", summary: "Keeps.", options: [home.entry],
    operands: Command.Operands("WORD", "What.", counts: 1...2)
  ) { _ throws(CommandFailure) in .success }
  private static let root = Command(
    name: "program", summary: "Does.",
    subcommands: [serve, Command(name: "box", summary: "Group.", subcommands: [keep])])

  private func parse(_ line: String, environment: [String: String] = [:]) throws(ArgumentsFault)
    -> ArgumentsParser.Outcome
  {
    try ArgumentsParser(root: Self.root, environment: { environment[$0] })
      .parse(line.split(separator: " ").map(String.init))
  }

  private func arguments(_ line: String, environment: [String: String] = [:]) throws -> Arguments {
    guard case .run(_, _, let arguments) = try parse(line, environment: environment) else {
      throw ValueFault("\(line) is not run")
    }
    return arguments
  }

  /// Returns the whole error text for the line.
  private func fault(_ line: String, environment: [String: String] = [:]) -> String {
    do throws(ArgumentsFault) {
      _ = try parse(line, environment: environment)
      return "none"
    } catch { return "\(error.commandName): \(error.explanation)" }
  }

  @Test func aFaultIsInThePersonsLanguage() {
    #expect(
      Language.japanese { fault("serv") } == "program: コマンド「serv」はありません。serve のことですか？"
        + "`program --help` で使い方を確認できます")
    #expect(
      Language.chinese { fault("serve --loops 99") }
        == "program serve: --loops：99 不在 1 和 64 之间；运行 `program serve --help` 可查看用法")
    #expect(
      Language.chinese { fault("box keep", environment: ["LOCKSTEP_HOME": "/h"]) }
        == "program box keep: 缺少 WORD；运行 `program box keep --help` 可查看用法")
  }

  @Test func defaultsStandWhereNothingIsSaid() throws {
    let arguments = try arguments("serve")
    #expect(arguments[Self.listen] == .host("127.0.0.1", port: 5625))
    #expect(arguments[Self.loops] == nil)
    #expect(!arguments[Self.open])
  }

  @Test func bothSpellingsOfAValueAreRead() throws {
    #expect(try arguments("serve --loops 3")[Self.loops] == 3)
    #expect(try arguments("serve --loops=3")[Self.loops] == 3)
    #expect(try arguments("box keep --home=a=b x")[Self.home] == "a=b")
    #expect(try arguments("box keep --home - x")[Self.home] == "-")
  }

  @Test func whatMayBeRepeatedIsKeptInItsOrder() throws {
    #expect(try arguments("serve")[Self.to] == [])
    #expect(try arguments("serve --to 3 --to=1 --to 3")[Self.to] == [3, 1, 3])
    #expect(try arguments("serve", environment: ["LOCKSTEP_TO": "7"])[Self.to] == [7])
    #expect(
      try arguments("serve --to 2", environment: ["LOCKSTEP_TO": "7"])[Self.to] == [2])
    #expect(fault("serve --to 3 --to 10").contains("--to: 10 is not between 1 and 9"))
  }

  @Test func whatWasGivenCanBeGivenAgain() throws {
    let given = try arguments(
      "serve --open --to 3 --to 1", environment: ["LOCKSTEP_LOOPS": "2"]
    ).given
    #expect(given.map(\.name) == ["loops", "open", "to", "to"])
    #expect(given.map(\.value) == ["2", nil, "3", "1"])
    #expect(try arguments("serve --open=no").given.map(\.name) == ["open=no"])
    #expect(try arguments("serve").given.isEmpty)
  }

  @Test func lastOfSeveralCounts() throws {
    #expect(try arguments("serve --loops 3 --loops 4")[Self.loops] == 4)
    #expect(try !arguments("serve --open --open=false")[Self.open])
  }

  @Test func lineGoesBeforeEnvironmentAndEnvironmentBeforeDefault() throws {
    let environment = ["LOCKSTEP_LISTEN": "[::1]:0", "LOCKSTEP_OPEN": "yes", "LOCKSTEP_LOOPS": ""]
    let fromEnvironment = try arguments("serve", environment: environment)
    #expect(fromEnvironment[Self.listen] == .host("::1", port: 0))
    #expect(fromEnvironment[Self.open])
    #expect(fromEnvironment[Self.loops] == nil)
    let fromLine = try arguments("serve --listen localhost:1 --open=no", environment: environment)
    #expect(fromLine[Self.listen] == .host("localhost", port: 1))
    #expect(!fromLine[Self.open])
    #expect(try arguments("box keep x", environment: ["LOCKSTEP_HOME": "h"])[Self.home] == "h")
  }

  @Test func aCommandMayDoSomethingByItselfAndLeadOn() throws {
    let both = Command(
      name: "both", summary: "Does.", options: [Self.open.entry], subcommands: [Self.keep]
    ) { _ throws(CommandFailure) in .success }
    let parser = ArgumentsParser(
      root: Command(name: "program", summary: "Does.", subcommands: [both]),
      environment: { _ in nil })
    func names(_ words: String...) throws -> [String] {
      switch try parser.parse(words) {
      case .run(let path, _, _), .help(let path, _): path.map(\.name)
      case .version: []
      }
    }
    #expect(try names("both") == ["program", "both"])
    #expect(try names("both", "--open") == ["program", "both"])
    #expect(try names("both", "--help") == ["program", "both"])
    #expect(try names("both", "keep", "--home", "h", "x") == ["program", "both", "keep"])
    #expect(try names("both", "keep", "--help") == ["program", "both", "keep"])
    #expect(try names("help", "both", "keep") == ["program", "both", "keep"])
    let slip = #expect(throws: ArgumentsFault.self) { try parser.parse(["both", "kep"]) }
    #expect(slip?.reason == .subcommandUnknown("kep", nearest: "keep"))
  }

  @Test func aDefaultMayDependOnTheEnvironment() throws {
    let home = CommandOption.defaulted(
      "home", .folder, default: "~/data",
      fallback: { environment throws(ValueFault) in
        guard let home = environment("HOME") else { throw ValueFault("HOME is not set") }
        return home + "/data"
      }, "Where.")
    let command = Command(
      name: "run", summary: "Runs.", options: [home.entry]
    ) { _ throws(CommandFailure) in .success }
    func value(_ words: [String], _ environment: [String: String]) throws -> String? {
      let parser = ArgumentsParser(root: command, environment: { environment[$0] })
      guard case .run(_, _, let arguments) = try parser.parse(words) else { return nil }
      #expect(words.isEmpty == arguments.given.isEmpty)
      return arguments[home]
    }
    #expect(try value([], ["HOME": "/h"]) == "/h/data")
    #expect(try value(["--home", "x"], [:]) == "x")
    let fault = #expect(throws: ArgumentsFault.self) { try value([], [:]) }
    #expect(fault?.explanation.hasPrefix("--home DIR is missing: HOME is not set; ") == true)
    #expect(HelpText.text(for: [command]).contains("Where. Default: ~/data. [LOCKSTEP_HOME]"))
  }

  @Test func operandsStandAnywhere() throws {
    #expect(try arguments("box keep one --home h two").operands == ["one", "two"])
    #expect(try arguments("box keep --home h -- --one -h").operands == ["--one", "-h"])
    #expect(try arguments("box keep --home h -").operands == ["-"])
  }

  /// A person uses the words of other programs.
  @Test func aWordForTheSameCommandElsewhereIsUnderstood() {
    let names = ["add", "edit", "show", "remove", "list", "search"]
    let cases = [
      ("rm", "remove"), ("delete", "remove"), ("ls", "list"), ("cat", "show"),
      ("new", "add"),
    ]
    let memo = Command(
      name: "memo", summary: "Stores notes.",
      subcommands: names.map {
        Command(name: $0, summary: "Does it.") { _ throws(CommandFailure) in .success }
      })
    let parser = ArgumentsParser(root: memo, environment: { _ in nil })
    for (word, meant) in cases {
      let fault = #expect(throws: ArgumentsFault.self) { _ = try parser.parse([word]) }
      #expect(fault?.reason == .subcommandUnknown(word, nearest: meant))
    }
    let other = #expect(throws: ArgumentsFault.self) { _ = try parser.parse(["begin"]) }
    #expect(other?.reason == .subcommandUnknown("begin", nearest: nil))
  }

  @Test func faultsNameTheNextStep() {
    let cases: [(String, String)] = [
      ("", "program: give a subcommand: serve, box; `program --help` shows its usage"),
      ("box", "program box: give a subcommand: keep; `program box --help` shows its usage"),
      (
        "sevre",
        "program: there is no command \"sevre\"; did you mean serve? "
          + "`program --help` shows its usage"
      ),
      ("xyz", "program: there is no command \"xyz\"; `program --help` shows its usage"),
      ("keep", "program: there is no command \"keep\"; did you mean box keep? `program"),
      ("help box kep", "program box: there is no command \"kep\"; did you mean keep?"),
      ("--open=no serve", "program: a subcommand is missing before --open: serve or box; `program"),
      ("box --home h", "program box: a subcommand is missing before --home: keep; `program box"),
      ("serve --opne", "program serve: there is no option --opne; did you mean --open?"),
      ("serve --zzzzzz=1", "program serve: there is no option --zzzzzz; `program serve"),
      ("serve -o", "program serve: there is no option -o"),
      ("serve --loops", "program serve: --loops needs a value: --loops N"),
      ("serve --loops --open", "program serve: --loops needs a value: --loops N"),
      ("serve --loops 65", "program serve: --loops: 65 is not between 1 and 64"),
      ("serve --loops -1", "program serve: --loops: -1 is not between 1 and 64"),
      ("serve --loops many", "program serve: --loops: \"many\" is no whole number"),
      ("serve --open=maybe", "program serve: --open: \"maybe\" is neither true nor false"),
      ("serve more", "program serve: unexpected argument \"more\""),
      ("box keep --home h", "program box keep: WORD is missing"),
      ("box keep --home h a b c", "program box keep: unexpected argument \"c\""),
      (
        "box keep a",
        "program box keep: --home DIR is missing (or LOCKSTEP_HOME in the environment)"
      ),
    ]
    for (line, expected) in cases {
      #expect(fault(line).hasPrefix(expected), "\(line): \(fault(line))")
    }
  }

  @Test func faultOfTheEnvironmentNamesTheVariable() {
    #expect(
      fault("serve", environment: ["LOCKSTEP_LOOPS": "x"])
        .hasPrefix("program serve: LOCKSTEP_LOOPS: \"x\" is no whole number"))
  }

  @Test func helpIsFoundWhereverItStands() throws {
    for (line, expected) in [
      ("--help", "program"), ("help", "program"), ("-h", "program"), ("box --help", "program box"),
      ("help box keep", "program box keep"), ("serve --bogus --help", "program serve"),
      ("box keep -h", "program box keep"), ("serve --help-all", "program serve"),
    ] {
      guard case .help(let path, let isFull) = try parse(line) else {
        Issue.record("\(line) gives no help")
        continue
      }
      #expect(HelpText.name(of: path) == expected)
      #expect(isFull == line.contains("-all"))
    }
    for line in ["--version", "-V"] {
      guard case .version = try parse(line) else {
        Issue.record("\(line) gives no version")
        return
      }
    }
  }
}
