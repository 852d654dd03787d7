import LockstepLanguage
import Testing

/// A text that this program has made in English elsewhere is shown in the person's language.
struct TranslatedTests {
  @Test func aTextOfAnotherProcessIsShownInThePersonsLanguage() {
    let reason = "the relay did not answer in time"
    #expect(translated(reason) == reason)
    #expect(Language.chinese { translated(reason) } == "中继没有及时响应")
    #expect(Language.japanese { translated(reason) } == "リレーから時間内に応答がありませんでした")
  }

  @Test func aReasonWithinATextIsTranslatedAndANameIsNot() {
    let plan = "the account's plan does not include sync (Connection refused)"
    #expect(Language.chinese { translated(plan) } == "账户的套餐不包含同步（连接被拒绝）")
    // The tables have a text that is the same as this name.
    #expect(
      Language.chinese { translated("this device is now called everything") }
        == "此设备现在名为everything")
  }

  @Test func aTextOfOthersStaysAsItIs() {
    for text in ["", "{", "Ouch: 3 {count}", "{name}", "Bonjour", "re: re: milk"] {
      #expect(Language.japanese { translated(text) } == text)
    }
    // In the person's language already.
    #expect(Language.japanese { translated("中继没有及时响应") } == "中继没有及时响应")
  }

  @Test func reasonsInReasonsHaveAnEnd() {
    let deep = String(repeating: "the device's store failed: ", count: 1_000) + "x"
    let text = Language.japanese { translated(deep) }
    #expect(text.hasPrefix("デバイスのストレージが失敗しました："))
    #expect(text.hasSuffix("the device's store failed: x"))
  }

  /// Words of a text between its values.
  private func literals(_ text: String) -> [Substring] {
    text.split(separator: "{", omittingEmptySubsequences: false).enumerated().map { index, part in
      index == 0 ? part : part.drop { $0 != "}" }.dropFirst()
    }
  }

  @Test(arguments: [Language.chinese, .japanese])
  func eachTextWithValuesIsFound(language: Language) {
    for (text, translation) in language.texts.sorted(by: { $0.key < $1.key }) {
      let parts = literals(text)
      let isClear =
        parts.reduce(0) { $0 + $1.utf8.count } >= 12
        && parts.dropFirst().dropLast().allSatisfy { !$0.isEmpty }
      guard parts.count > 1, isClear else { continue }
      let names = text.split(separator: "{").compactMap { part in
        part.contains("}") ? String(part.prefix { $0 != "}" }) : nil
      }
      var (made, expected) = (text, translation)
      for name in names {
        made = made.replacing("{\(name)}", with: "<\(name)>")
        expected = expected.replacing("{\(name)}", with: "<\(name)>")
      }
      #expect(language { translated(made) } == expected, "\(text)")
    }
  }
}
