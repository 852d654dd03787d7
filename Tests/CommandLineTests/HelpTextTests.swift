import LockstepCommand
import LockstepCommandLine
import Testing

struct HelpTextTests {
  private let command = Command(
    name: "serve", summary: "Serves.", discussion: "One.\n\nTwo.",
    options: [
      CommandOption.required("home", .folder, "Where it is.").entry,
      CommandOption.defaulted("loops", .integer(1...9), default: "2", "How many.").entry,
      CommandOption.flag("a-very-long-option-name", "Short.").entry,
    ], operands: Command.Operands("NAME", "Whom.", counts: 0...3)
  ) { _ throws(CommandFailure) in .success }

  @Test func longUsageIsContinuedOnAnIndentedLine() {
    let options = ["first-long-name", "second-long-name", "third-quite-long-name"].map {
      CommandOption.required($0, .folder, "Where.").entry
    }
    let long = Command(
      name: "long", summary: "Does.", options: options
    ) { _ throws(CommandFailure) in .success }
    #expect(
      HelpText.text(for: [long]).hasPrefix(
        """
        Usage: long --first-long-name DIR --second-long-name DIR
               --third-quite-long-name DIR

        """))
  }

  @Test func textComesFromTheTable() {
    let program = Command(name: "program", summary: "Does.", subcommands: [command])
    #expect(
      HelpText.text(for: [program, command]) == """
        Usage: program serve --home DIR [OPTIONS] [NAME…]

        Serves.

        One.

        Two.

        Arguments:
          NAME  Whom.

        Options:
          --home DIR                 Where it is. Required. [LOCKSTEP_HOME]
          --loops N                  How many. Default: 2. [LOCKSTEP_LOOPS]
          --a-very-long-option-name  Short. [LOCKSTEP_A_VERY_LONG_OPTION_NAME]
          --help                     Print this.

        """)
    #expect(
      HelpText.text(for: [program]) == """
        Usage: program COMMAND

        Does.

        Commands:
          serve  Serves.

        `program COMMAND --help` explains each.

        Options:
          --help         Print this.
          --version, -V  Print the version.

        """)
  }

  @Test func whatOnlyTestsNeedIsShownToThoseWhoAsk() {
    let command = Command(
      name: "run", summary: "Runs.",
      options: [
        CommandOption.flag("slow", "Slowly.").forTests.entry,
        CommandOption.flag("loud", "Shout.").entry,
      ]
    ) { _ throws(CommandFailure) in .success }
    let usual = HelpText.text(for: [command])
    #expect(
      usual == """
        Usage: run [OPTIONS]

        Runs.

        Options:
          --loud      Shout. [LOCKSTEP_LOUD]
          --help      Print this.
          --help-all  Print also what only tests need: --slow.

        """)
    #expect(
      HelpText.text(for: [command], isFull: true) == usual + """

        For tests:
          --slow  Slowly. [LOCKSTEP_SLOW]

        """)
  }

  @Test func aCommandOfAGroupMayHaveAShorterForm() {
    let group = Command(
      name: "box", summary: "Group.",
      subcommands: [
        command.inGroup,
        Command(name: "keep", summary: "Keeps.") { _ throws(CommandFailure) in .success },
      ])
    let root = Command(name: "program", summary: "Does.", subcommands: [group, command])
    #expect(
      HelpText.text(for: [root, group]) == """
        Usage: program box COMMAND

        Group.

        Commands:
          keep  Keeps.

        Also without box:
          serve  Serves.

        `program box COMMAND --help` explains each.

        """)
    let pages = ManualPage.all(below: [root], version: "1", day: "2026-01-02")
    #expect(pages.map(\.name) == ["program", "program-box", "program-box-keep", "program-serve"])
    #expect(
      pages[1].text.hasSuffix(
        """
        .SH SEE ALSO
        .BR program (1),
        .BR program\\-serve (1),
        .BR program\\-box\\-keep (1)

        """))
  }

  @Test func aCommandMayDoSomethingByItselfAndLeadOn() {
    let both = Command(
      name: "both", summary: "Does.", options: [CommandOption.flag("loud", "Shout.").entry],
      subcommands: [command]
    ) { _ throws(CommandFailure) in .success }
    #expect(
      HelpText.text(for: [both]) == """
        Usage: both [COMMAND] [OPTIONS]

        Does.

        Commands:
          serve  Serves.

        `both COMMAND --help` explains each.

        Options:
          --loud  Shout. [LOCKSTEP_LOUD]
          --help  Print this.

        """)
  }
}
