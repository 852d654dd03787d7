import LockstepApps
import LockstepTerminal
import Testing

struct ScreenRowTests {
  private let row = ScreenRow("ab", .strong) + "cd" + ScreenRow("电脑", .red)

  @Test func widthIsInColumns() {
    #expect(row.width == 8)
    #expect(row.plainText == "abcd电脑")
    #expect(row.padded(to: 10).plainText == "abcd电脑  ")
    #expect(row.centred(in: 12).plainText == "  abcd电脑")
    #expect(row.centred(in: 2).plainText == "abcd电脑")
  }

  @Test func whatHasNoRoomIsLeftOutWithASign() {
    #expect(row.cut(to: 8) == row)
    #expect(row.cut(to: 7).plainText == "abcd电…")
    #expect(row.cut(to: 4).plainText == "abcd")
    #expect(row.cut(to: 3).plainText == "ab…")
    #expect(row.cut(to: 0).width == 0)
    for columns in 0...10 { #expect(row.cut(to: columns).width <= columns) }
  }

  @Test func inkIsForTerminalsThatTakeIt() {
    #expect(row.text(supportsColours: false) == "abcd电脑")
    #expect(
      row.text(supportsColours: true)
        == "\u{1B}[1mab\u{1B}[0mcd\u{1B}[1;31m电脑\u{1B}[0m")
  }
}
