import LockstepApps
import LockstepLanguage
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

  @Test(arguments: [
    (0, "just now", "刚刚", "今"), (59_999, "59 s ago", "59秒", "59秒"),
    (3_599_999, "59 min ago", "59分钟", "59分"), (86_399_999, "23 h ago", "23小时", "23時間"),
    (86_300_000_000, "998 d ago", "998天", "998日"), (86_400_000_000, "long ago", "很久", "昔"),
  ])
  func anAgeIsPartOfASentenceOrFitsAColumn(
    _ passed: Int64, _ english: String, _ chinese: String, _ japanese: String
  ) {
    #expect(RowText.ago(0, at: passed) == english)
    for (language, age) in [(Language.chinese, chinese), (.japanese, japanese)] {
      #expect(language { RowText.age(of: 0, at: passed) } == age)
      #expect(RowText.width(of: age) <= 6)
    }
    #expect(RowText.isNow(0, at: passed) == (passed < 5_000))
    #expect(Language.chinese { RowText.ago(0, at: 60_000) } == "1 分钟前")
    #expect(Language.japanese { RowText.ago(0, at: 3_600_000) } == "1時間前")
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
