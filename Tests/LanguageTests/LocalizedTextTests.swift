import LockstepLanguage
import Testing

/// A text is made in one process, and read by persons of several languages.
struct LocalizedTextTests {
  private let text = LocalizedText(
    localized("{path} is a folder; add the files in it one by one", ["path": "/a"]))

  @Test func eachPersonReadsItInTheirOwn() {
    #expect(text.english == "/a is a folder; add the files in it one by one")
    #expect(text.current == text.english && "\(text)" == text.english)
    #expect(Language.chinese { text.current } == "/a 是文件夹；请逐个添加其中的文件")
    #expect(Language.japanese { text.english } == text.english)
    #expect(Language.japanese { text.current }.hasPrefix("/a はフォルダです。"))
  }

  @Test func itGoesToAnotherProcessAsItsTranslations() {
    #expect(text.translations.map(\.tag) == ["zh-Hans", "ja"])
    let received = LocalizedText(english: text.english) { tag in
      text.translations.first { $0.tag == tag }?.text
    }
    #expect(received == text)
    // A process of an earlier version sends none.
    let english = LocalizedText(english: "why") { _ in nil }
    #expect(Language.japanese { english.current } == "why")
    #expect(english.translations.isEmpty)
  }
}
