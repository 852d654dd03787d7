import LockstepJSON
import Testing

struct UTF8BytesTests {
  /// A short text is stored in the value itself, a long one on the heap.
  static let texts = ["", "a", "Kü/che", "fifteen letters", "sixteen letters…", "日本語のテキスト、長い"]

  @Test(arguments: texts) func theBytesAreThoseOfTheText(text: String) {
    #expect(text.withUTF8Bytes { bytes in bytes.indices.map { bytes[$0] } } == Array(text.utf8))
  }

  @Test(arguments: texts, texts) func theBytesOfTwoTextsAreThere(left: String, right: String) {
    let lists = left.withUTF8Bytes(and: right) { left, right in
      [left.indices.map { left[$0] }, right.indices.map { right[$0] }]
    }
    #expect(lists == [Array(left.utf8), Array(right.utf8)])
  }
}
