import Testing

struct SwiftTextTests {
  private func words(_ source: String) -> [String] {
    SwiftText(source).tokens.filter { $0.kind == .word }.map(\.text)
  }

  @Test func commentsAreSetApart() {
    let text = SwiftText("a // b\n/* c /* d */ e */ f")
    #expect(text.tokens.map(\.text) == ["a", "f"])
    #expect(text.comments.map(\.text) == ["// b", "/* c /* d */ e */"])
    #expect(text.comments.map(\.line) == [1, 2])
  }

  @Test func linesAreCountedThroughCommentsAndStrings() {
    let text = SwiftText("/*\n\n*/ a \"\"\"\n  x\n  \"\"\"\nb")
    #expect(text.tokens.map(\.line) == [3, 3, 6])
  }

  @Test func aStringIsOneTokenWhateverItSays() {
    let text = SwiftText(#"let a = "try! // \" x" + b"#)
    #expect(text.tokens.map(\.kind) == [.word, .word, .symbol, .string, .symbol, .word])
    #expect(text.comments.isEmpty)
  }

  @Test func interpolationsAreCode() {
    #expect(words(#""a \(b(c, "d \(e)")) f" g"#) == ["b", "c", "e", "g"])
  }

  @Test func rawStringsEscapeWithTheirHashes() {
    #expect(words(##"#"\(a) " \#(b)"# c"##) == ["b", "c"])
    #expect(words("#\"\"\"# c") == ["c"])
  }

  @Test func multilineStringsHoldQuotes() {
    let text = SwiftText("\"\"\"\n a \"quoted\" \\(b)\n \"\"\" c")
    #expect(text.tokens.filter { $0.kind == .word }.map(\.text) == ["b", "c"])
  }

  @Test func emptyStringsEnd() {
    #expect(words(#"f("", a)"#) == ["f", "a"])
  }

  @Test func numbersKeepTheirFraction() {
    #expect(SwiftText("1.5 0xFF_0 1...2").tokens.map(\.text) == ["1.5", "0xFF_0", "1", "...", "2"])
  }

  @Test func operatorsAreRunsAndDotsStandAlone() {
    #expect(SwiftText("a!.b != !c").tokens.map(\.text) == ["a", "!", ".", "b", "!=", "!", "c"])
    #expect(SwiftText("a..<b /c").tokens.map(\.text) == ["a", "..<", "b", "/", "c"])
  }

  @Test func bracketsFindTheirEnd() {
    let text = SwiftText("f(a, (b), \")\") { c }")
    #expect(text.tokens[text.closing(1)].start == 13)
  }

  @Test func camelWordsAreSplit() {
    #expect(camelWords("sendQueueBytes") == ["send", "Queue", "Bytes"])
    #expect(camelWords("snake_case") == ["snake", "case"])
    #expect(camelWords("FileManager") == ["File", "Manager"])
  }
}
