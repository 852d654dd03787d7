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

  @Test func columnsOfWideLettersAreAlignedToo() {
    var table = TextTable([("デバイス", .left), ("状態", .right), ("X", .left)])
    table.add("phone", "接続中", "1")
    table.add("母のパソコン", "ok", "2")
    #expect(
      table.text == """
        デバイス        状態  X
        phone         接続中  1
        母のパソコン      ok  2
        """)
  }

  @Test func aCellStaysOnItsLine() {
    var table = TextTable([("NAME", .left), ("X", .left)])
    table.add("a\nb\u{1B}[31m", "y")
    #expect(table.text == "NAME            X\na\\nb\\u{1B}[31m  y")
  }
}
