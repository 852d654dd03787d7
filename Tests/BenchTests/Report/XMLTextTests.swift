import Testing

@testable import LockstepBench

struct XMLTextTests {
  @Test func whatMeansSomethingToAReaderIsEscaped() {
    #expect(
      XMLText.escaped(#"<a href="x" id='y'>&amp;"#)
        == "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;")
    #expect(XMLText.escaped("Ünïcode 🎈 × µs\tand\nmore") == "Ünïcode 🎈 × µs\tand\nmore")
  }

  @Test func whatXMLDoesNotTakeIsReplaced() {
    #expect(
      XMLText.escaped("a\u{0}b\u{1}c\u{1B}d\re\u{FFFE}f\u{1FFFF}")
        == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\u{FFFD}f\u{FFFD}")
  }

  @Test func coordinatesHaveOnePlace() {
    #expect(XMLText.number(12) == "12" && XMLText.number(12.34) == "12.3")
    #expect(XMLText.number(-0.26) == "-0.3" && XMLText.number(-0.01) == "0")
    #expect(XMLText.number(99.96) == "100")
  }
}
