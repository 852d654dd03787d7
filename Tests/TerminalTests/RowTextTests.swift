import LockstepApps
import LockstepTerminal
import Testing

struct RowTextTests {
  @Test(arguments: [
    ("", ""), ("a", "a"), (" a  b\n\tc ", "a b c"), ("电脑\r\n密码", "电脑 密码"),
    ("red\u{1B}[31m", "red [31m"), ("\u{202E}evil", "evil"), ("a\u{200B}b", "a b"),
    ("e\u{301}", "e\u{301}"),
  ])
  func aTextStandsInOneRow(_ text: String, _ row: String) {
    #expect(RowText.line(text) == row)
  }

  @Test func aLongTextIsCut() {
    #expect(RowText.line(String(repeating: "x", count: 2_000_000)).count == 500)
  }

  @Test(arguments: [
    (0, "now"), (4_999, "now"), (5_000, "5 s"), (59_999, "59 s"), (60_000, "1 min"),
    (3_599_999, "59 min"), (3_600_000, "1 h"), (86_399_999, "23 h"), (86_400_000, "1 d"),
    (86_400_000_000, "long"), (-5_000_000, "now"),
  ])
  func anAgeIsAWord(_ passed: Int64, _ word: String) {
    #expect(RowText.age(of: 10_000_000, at: 10_000_000 + passed) == word)
  }

  @Test func wordsStandInColumns() {
    #expect(RowText.right("7", 3) == "  7")
    #expect(RowText.left("7", 3) == "7  ")
    #expect(RowText.left("long", 2) == "long")
    #expect(RowText.left("电脑", 6) == "电脑  ")
  }

  @Test(arguments: [
    ("", 5, ""), ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("电脑", 4, "电脑"), ("电脑", 3, "电…"),
    ("电脑", 2, "…"), ("电脑", 0, ""), ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"), ("🍅🍅", 3, "🍅…"),
  ])
  func aRowIsCutAtItsWidth(_ text: String, _ columns: Int, _ row: String) {
    #expect(RowText.cut(text, to: columns) == row)
    #expect(RowText.width(of: row) <= max(columns, 0))
  }

  @Test(arguments: [
    (Int64(0), "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (3_565_158, "3.3 MiB"),
    (50 << 30, "50.0 GiB"), (3 << 40, "3.0 TiB"),
  ])
  func bytesAreCountedInLargeUnits(count: Int64, text: String) {
    #expect(RowText.bytes(count) == text)
  }
}
