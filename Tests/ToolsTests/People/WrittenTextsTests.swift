import Testing

@testable import Tools

struct WrittenTextsTests {
  @Test func onlyWhatWasReplacedOrRemovedMayBeGone() {
    var texts = WrittenTexts()
    texts.replaced(nil, by: "a")
    texts.replaced("a", by: "b")
    texts.replaced("a", by: "c")
    #expect(texts.lost(in: ["b", "c"]).isEmpty)
    #expect(texts.lost(in: ["c"]) == ["b"])
    texts.replaced("b", by: nil)
    #expect(texts.lost(in: ["c", "more"]).isEmpty)
  }
}
