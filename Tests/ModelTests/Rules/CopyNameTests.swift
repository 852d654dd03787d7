import LockstepModel
import Testing

struct CopyNameTests {
  @Test func aShortStemStaysWhole() {
    #expect(CopyName.text("memo-1", "~mac-5") == "memo-1~mac-5")
  }

  @Test func aLongStemIsCutBetweenCharacters() {
    for length in 240...260 {
      let name = CopyName.text(String(repeating: "电", count: length / 3) + "é", "_conflict.db")
      #expect(Name(name) != nil)
      #expect(name.hasSuffix("_conflict.db"))
      #expect(name.utf8.count > Limits.nameBytes - 4 || length / 3 * 3 + 14 <= Limits.nameBytes)
    }
  }

  @Test func aSuffixThatFillsTheNameLeavesNoStem() {
    let suffix = String(repeating: "x", count: Limits.nameBytes)
    #expect(CopyName.text("stem", suffix) == suffix)
  }
}
