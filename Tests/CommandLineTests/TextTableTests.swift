import LockstepCommandLine
import Testing

@testable import LockstepTerminal

struct TextTableTests {
  @Test func columnsAreAsWideAsTheirWidestCell() {
    var table = TextTable([("NAME", .left), ("COUNT", .right), ("PLACE", .left)])
    table.add("a", "7", "here")
    table.add("longer", "123456", "")
    #expect(
      table.text == """
        NAME     COUNT  PLACE
        a            7  here
        longer  123456
        """)
  }

  @Test func aCellStaysOnItsLine() {
    var table = TextTable([("NAME", .left), ("X", .left)])
    table.add("a\nb\u{1B}[31m", "y")
    #expect(table.text == "NAME            X\na\\nb\\u{1B}[31m  y")
  }
}
