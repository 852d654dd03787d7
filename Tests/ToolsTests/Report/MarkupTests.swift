import Testing

@testable import LockstepTools

struct MarkupTests {
  @Test func whatMeansSomethingToAReaderIsEscaped() {
    #expect(
      Markup.escaped(#"<a href="x" id='y'>&amp;"#)
        == "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;")
    #expect(Markup.escaped("Ünïcode 🎈 × µs\tand\nmore") == "Ünïcode 🎈 × µs\tand\nmore")
  }

  @Test func whatXMLDoesNotTakeIsReplaced() {
    #expect(
      Markup.escaped("a\u{0}b\u{1}c\u{1B}d\re\u{FFFE}f\u{1FFFF}")
        == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\u{FFFD}f\u{FFFD}")
  }

  @Test func coordinatesHaveOnePlace() {
    #expect(Markup.number(12) == "12" && Markup.number(12.34) == "12.3")
    #expect(Markup.number(-0.26) == "-0.3" && Markup.number(-0.01) == "0")
    #expect(Markup.number(99.96) == "100")
  }
}
