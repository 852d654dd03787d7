import Testing

@testable import LockstepModel

@Suite struct NameTests {
  @Test func lengthIsCountedInBytes() {
    #expect(Name("") == nil)
    #expect(Name("a") != nil)
    #expect(Name(String(repeating: "a", count: 255)) != nil)
    #expect(Name(String(repeating: "a", count: 256)) == nil)
    #expect(Name(String(repeating: "電", count: 85)) != nil)
    #expect(Name(String(repeating: "電", count: 85) + "a") == nil)
  }

  @Test func controlCharactersAreTheOnlyOnesRefused() {
    for value in UInt32(0)...0x3000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let isControl = scalar.properties.generalCategory == .control
      #expect((Name("a\(Character(scalar))b") == nil) == isControl, "\(value)")
    }
    for text in ["a/b", "%2F", ".", "..", " ", "\u{2028}", "\u{10FFFF}", "\u{FEFF}"] {
      #expect(Name(text) != nil)
    }
  }

  @Test func namesAreEqualByTheirBytes() throws {
    let composed = try #require(Name("\u{E9}"))
    let decomposed = try #require(Name("e\u{301}"))
    #expect(composed.text == decomposed.text)
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
    #expect(composed == Name("\u{E9}"))
    #expect(composed.hashValue == Name("\u{E9}")?.hashValue)
  }

  @Test func namesAreSortedByTheirBytes() throws {
    let names = ["A", "a", "aa", "b", "\u{7F}\u{7F}", "\u{E9}", "\u{FFFF}", "\u{10000}"]
      .compactMap { Name($0) }
    #expect(names.shuffledForTest().sorted().map(\.text) == names.map(\.text))
    #expect(names.count == 7)
  }

  @Test func longNamesThatBeginAlikeAreSortedByTheirBytes() throws {
    var random = SeededRandom(seed: 7)
    for _ in 0..<2_000 {
      let start = String(repeating: "x", count: Int.random(in: 0...20, using: &random))
      let texts = (0..<2).map { _ in
        start
          + String(
            (0..<Int.random(in: 1...9, using: &random)).map { _ in
              ["a", "b", "\u{E9}", "\u{10000}"].randomElement(using: &random) ?? "a"
            }.joined())
      }
      let left = try #require(Name(texts[0]))
      let right = try #require(Name(texts[1]))
      #expect((left == right) == texts[0].utf8.elementsEqual(texts[1].utf8))
      #expect((left < right) == texts[0].utf8.lexicographicallyPrecedes(texts[1].utf8))
    }
  }
}

extension Array {
  fileprivate func shuffledForTest() -> [Element] {
    var random = SeededRandom(seed: 1)
    return shuffled(using: &random)
  }
}
