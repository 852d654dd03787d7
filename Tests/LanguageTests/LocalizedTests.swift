import LockstepLanguage
import Testing

/// The language is that of the person, and a text is whole in each of them.
struct LocalizedTests {
  @Test func aLocaleOrATagChoosesTheLanguage() {
    let expected: [String: Language?] = [
      "ja": .japanese, "ja_JP.UTF-8": .japanese, "ja-JP": .japanese, "JA": .japanese,
      "zh_CN.UTF-8": .chinese, "zh-Hans": .chinese, "zh": .chinese, "zh-Hans-TW": .chinese,
      "zh_TW.Big5": nil, "zh-Hant": nil, "zh_HK": nil, "en_GB.UTF-8": .english, "C": .english,
      "C.UTF-8": .english, "POSIX": .english, "de_AT@euro": nil, "": nil, "japan": nil,
    ]
    for (tag, language) in expected { #expect(Language(tag: tag) == language, "\(tag)") }
  }

  @Test func aChoiceComesFirstAndThenTheVariablesInTheirOrder() {
    func language(_ choice: String?, _ variables: [String: String]) -> Language {
      Language(choice: choice) { variables[$0] }
    }
    #expect(language(nil, [:]) == .english)
    #expect(language(nil, ["LANG": "ja_JP.UTF-8"]) == .japanese)
    #expect(language(nil, ["LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_CN"]) == .chinese)
    #expect(language(nil, ["LANG": "ja_JP.UTF-8", "LC_ALL": "C"]) == .english)
    #expect(language(nil, ["LANG": "ja_JP.UTF-8", "LC_ALL": ""]) == .japanese)
    // Who has the system in German does not get Japanese by a variable that counts less.
    #expect(language(nil, ["LANG": "ja_JP.UTF-8", "LC_ALL": "de_DE.UTF-8"]) == .english)
    #expect(language("zh-Hans", ["LANG": "ja_JP.UTF-8"]) == .chinese)
    #expect(language("tlh", ["LANG": "ja_JP.UTF-8"]) == .japanese)
  }

  @Test func aTextHasItsValuesAndLeavesWhatIsInThem() {
    #expect(localized("{a} and {b}", ["a": "{b}", "b": "{a"]) == "{b} and {a")
    #expect(localized("{a} and {", ["a": "1"]) == "1 and {")
    #expect(localized("{missing} stays") == "{missing} stays")
    #expect(localized("no value at all", ["a": "1"]) == "no value at all")
  }

  @Test func aCountHasTheEnglishSingular() {
    func memos(_ count: Int) -> String {
      localized(count: count, one: "{count} memo here", many: "{count} memos here")
    }
    #expect(
      [0, 1, 2, -1].map(memos) == [
        "0 memos here", "1 memo here", "2 memos here", "-1 memos here",
      ])
    // A text without a translation stays English.
    #expect(Language.japanese { memos(1) } == "1 memo here")
  }

  @Test func aRequestInAnotherLanguageDoesNotChangeTheProcess() {
    struct Fault: Error {}
    #expect(Language.current == .english)
    Language.chinese {
      #expect(Language.current == .chinese)
      Language.japanese { #expect(Language.current == .japanese) }
      #expect(Language.current == .chinese)
    }
    #expect(throws: Fault.self) { try Language.japanese { () throws(Fault) in throw Fault() } }
    #expect(Language.current == .english)
  }

  @Test(arguments: Language.allCases)
  func aTranslationHasTheNamedValuesOfItsText(language: Language) {
    func names(_ text: String) -> [Substring] {
      text.split(separator: "{", omittingEmptySubsequences: false).dropFirst()
        .compactMap { $0.contains("}") ? $0.prefix { $0 != "}" } : nil }.sorted()
    }
    for (text, translation) in language.texts.sorted(by: { $0.key < $1.key }) {
      #expect(names(text) == names(translation), "\(text)")
      #expect(!translation.isEmpty, "\(text)")
    }
  }

  @Test func aTextStandsInOnePartOfATable() {
    for (language, parts) in Language.parts {
      let keys = parts.flatMap(\.keys)
      let twice = Dictionary(grouping: keys, by: \.self).filter { $0.value.count > 1 }.keys
      #expect(twice.sorted() == [], "\(language)")
    }
  }
}
