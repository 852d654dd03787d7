import LockstepCommandLine
import Testing

struct ManualPageTests {
  private static let keep = Command(
    name: "keep", summary: "Keeps it.",
    discussion: "Two lines:\n.hidden isn't a request.\n\nA \\ and … stay.",
    options: [
      CommandOption.defaulted("loops", .integer(1...9), default: "2", "How many.").entry,
      CommandOption.flag("clock", "Sets it.").forTests.entry,
    ], operands: Command.Operands("WORD", "What.")
  ) { _ throws(CommandFailure) in .success }
  private static let root = Command(name: "program", summary: "Does.", subcommands: [keep])

  @Test func aPageHasTheSameTextsAsHelp() {
    let page = ManualPage(of: [Self.root, Self.keep], version: "1.2.3", day: "2026-01-02")
    #expect(page.fileName == "program-keep.1")
    #expect(
      page.text == #"""
        .TH PROGRAM\-KEEP 1 "2026-01-02" "program 1.2.3" "Manual of program"
        .nh
        .ad l
        .SH NAME
        program\-keep \- keeps it
        .SH SYNOPSIS
        \fBprogram keep\fR \fI[OPTIONS]\fR \fIWORD\fR
        .SH DESCRIPTION
        Keeps it.
        .PP
        Two lines:
        .br
        \&.hidden isn\(aqt a request.
        .PP
        A \e and \[u2026] stay.
        .SH ARGUMENTS
        .TP
        \fIWORD\fR
        What.
        .SH OPTIONS
        .TP
        \fB\-\-loops\fR \fIN\fR
        How many. Default: 2. [LOCKSTEP_LOOPS]
        .TP
        \fB\-\-help\fR
        Print a summary of this page.
        .SH OPTIONS FOR TESTS
        .TP
        \fB\-\-clock\fR
        Sets it. [LOCKSTEP_CLOCK]
        .SH EXIT STATUS
        .TP
        \fB0\fR
        The command has done what it was asked for.
        .TP
        \fB1\fR
        The command was tried and failed; standard error says why.
        .TP
        \fB2\fR
        The command line was not understood; nothing was done.
        .SH SEE ALSO
        .BR program (1)

        """#)
  }

  @Test func allPagesAreThoseOfTheCommandsBelow() {
    let pages = ManualPage.all(below: [Self.root], version: "1", day: "2026-01-02")
    #expect(pages.map(\.name) == ["program", "program-keep"])
    #expect(pages[0].text.contains(".BR program\\-keep (1)\n"))
  }
}
