import LockstepCommandLine
import LockstepLanguage
import TemporaryFolders
import Testing

/// A person chooses a language once, for one command, or not at all.
struct LanguageSettingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func setting(_ variables: [String: String] = [:]) -> LanguageSetting {
    let all = ["XDG_CONFIG_HOME": folder.path].merging(variables) { _, own in own }
    return LanguageSetting { all[$0] }
  }

  @Test func theLineGoesBeforeTheVariableAndThatBeforeTheSettingAndTheSystem() throws {
    let japaneseSystem = ["LANG": "ja_JP.UTF-8"]
    #expect(setting(japaneseSystem).language(for: ["timer", "status"]) == .japanese)
    try setting().store(.chinese)
    #expect(setting(japaneseSystem).language(for: ["timer", "status"]) == .chinese)
    let chosen = setting(["LOCKSTEP_LANG": "en"])
    #expect(chosen.language(for: ["timer", "status"]) == .english)
    #expect(chosen.language(for: ["timer", "status", "--lang", "ja"]) == .japanese)
    #expect(chosen.language(for: ["timer", "--lang=zh-Hans", "--json"]) == .chinese)
    // What stands after the end of options is a text.
    #expect(chosen.language(for: ["memo", "add", "--", "--lang", "ja"]) == .english)
    #expect(chosen.language(for: ["timer", "--lang"]) == .english)
    #expect(chosen.language(for: ["timer", "--lang", "tlh"]) == .chinese)
    try setting().store(nil)
    #expect(setting(japaneseSystem).language(for: ["timer"]) == .japanese)
    try setting().store(nil)
  }

  @Test func aFileWithSomethingElseCountsAsNone() throws {
    try setting().store(.japanese)
    #expect(setting().stored == .japanese)
    #expect(setting().path == folder.path("lockstep/language"))
    for content in ["", "tlh\n", String(repeating: "ja", count: 1_000), "\u{0}\u{1}"] {
      try folder.write(Array(content.utf8), to: "lockstep/language")
      #expect(setting().stored == nil, "\(content.prefix(10))")
    }
    #expect(LanguageSetting { _ in nil }.path == nil)
    #expect(throws: CommandFailure.self) { try LanguageSetting { _ in nil }.store(.japanese) }
  }

  @Test func aWrongLanguageIsRefusedWithThoseThatThereAre() {
    #expect(throws: ValueFault("\"tlh\" is none of en, zh-Hans, ja")) {
      try LanguageSetting.kind.parse("tlh")
    }
  }
}
