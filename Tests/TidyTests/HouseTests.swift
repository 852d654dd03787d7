import Testing

/// The house's rules, held against the house.
struct HouseTests {
  let tree = SourceTree.current

  @Test func theTreeIsRead() {
    #expect(tree.sources.count > 20)
    #expect(tree.files.contains { $0.path == "Tests/TidyTests/HouseTests.swift" })
  }

  @Test func foldersImportOnlyWhatTheyMay() {
    expectNone(tree.libraries.flatMap { ImportRule.faults(in: $0) })
  }

  @Test func theManifestStaysWithinTheImportRules() throws {
    let manifest = try #require(tree.texts.first { $0.path == "Package.swift" })
    let text = SwiftText(manifest.content)
    #expect(ImportRule.dependencies(of: text).contains { $0.name == "Relay" })
    expectNone(ImportRule.faults(inManifest: text))
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

  @Test func nothingNamesOneMachinesFolders() {
    expectNone(tree.texts.flatMap { NameRule.workplacePaths(in: $0) })
  }

  @Test(.enabled(if: !SourceTree.current.hasEmptyRooms, "some rooms are still empty"))
  func everySourceFileIsTested() {
    expectNone(PairingRule.faults(in: tree))
  }

  @Test func exceptionsStandForFilesThatExist() {
    let paths = Set(tree.files.map(\.path))
    let listed =
      Array(PairingRule.exceptions.keys) + Array(OrderRule.exceptions.keys)
      + Array(GrowthRule.exceptions.keys)
    expectNone(
      listed.filter { !paths.contains($0) }.map {
        Fault(path: $0, line: 1, reason: "an exception names it, but it is gone")
      })
  }

  @Test(.enabled(if: SourceTree.current.readme != nil, "README.md is not there to be read"))
  func theReadmeMapsEveryFolder() throws {
    let readme = try #require(tree.readme)
    expectNone(MapRule.faults(readme: readme, paths: tree.texts.map(\.path)))
  }

  private func expectNone(_ faults: [Fault], sourceLocation: SourceLocation = #_sourceLocation) {
    let list = faults.map(\.description).joined(separator: "\n")
    #expect(faults.isEmpty, "\n\(list)", sourceLocation: sourceLocation)
  }
}
