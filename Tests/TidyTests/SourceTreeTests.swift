import LockstepLanguage
import Testing

/// Checks this package against its own style rules.
struct SourceTreeTests {
  let tree = SourceTree.current

  @Test func theTreeIsRead() {
    #expect(tree.sources.count > 20)
    #expect(tree.files.contains { $0.path == "Tests/TidyTests/SourceTreeTests.swift" })
  }

  @Test func foldersKeepFromForbiddenWords() {
    expectNone(tree.libraries.flatMap { WordRule.faults(in: $0) })
  }

  @Test func nobodyWalksADictionary() {
    expectNone(tree.libraries.flatMap { OrderRule.faults(in: $0) })
  }

  @Test func filesFunctionsAndLinesFitOnAScreen() {
    expectNone(tree.files.flatMap { SizeRule.faults(in: $0) })
  }

  @Test func noErrorIsDropped() {
    expectNone(tree.libraries.flatMap { DropRule.faults(in: $0) })
  }

  @Test func noObjectIsCopiedForEachOfItsMembers() {
    expectNone(tree.libraries.flatMap { GrowthRule.faults(in: $0) })
  }

  @Test func namesSaySomething() {
    expectNone(tree.files.flatMap { NameRule.faults(in: $0) })
  }

  @Test func docCommentsBeginWithANounPhraseOrAVerb() {
    expectNone(tree.files.flatMap { CommentRule.faults(in: $0) })
  }

  @Test func onlyTheLibrariesForAppsArePublic() {
    expectNone(tree.files.flatMap { AccessRule.faults(in: $0) })
  }

  @Test func nothingNamesOneMachinesFolders() {
    expectNone(tree.texts.flatMap { NameRule.workplacePaths(in: $0) })
  }

  @Test func textsForPeopleAreLiterals() {
    expectNone(LanguageRule(tree.sources).faults)
  }

  @Test(arguments: [Language.chinese, .japanese])
  func eachTextHasATranslationAndEachTranslationAText(language: Language) {
    let texts = LanguageRule(tree.sources).texts
    #expect(texts.filter { language.texts[$0] == nil }.sorted() == [], "no translation")
    #expect(language.texts.keys.filter { !texts.contains($0) }.sorted() == [], "not shown")
  }

  @Test func exceptionsStandForFilesThatExist() {
    let paths = Set(tree.files.map(\.path))
    let listed = Array(OrderRule.exceptions.keys) + Array(GrowthRule.exceptions.keys)
    expectNone(
      listed.filter { !paths.contains($0) }.map {
        Fault(path: $0, line: 1, reason: "an exception names it, but it is gone")
      })
  }

  private func expectNone(_ faults: [Fault], sourceLocation: SourceLocation = #_sourceLocation) {
    let list = faults.map(\.description).joined(separator: "\n")
    #expect(faults.isEmpty, "\n\(list)", sourceLocation: sourceLocation)
  }
}
