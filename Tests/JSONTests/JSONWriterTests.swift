import LockstepJSON
import Testing

@testable import LockstepJSON

@Suite struct JSONWriterTests {
  @Test func commasStandBetweenAndNowhereElse() {
    var writer = JSONWriter(capacity: 0)
    writer.beginArray()
    writer.beginObject()
    writer.endObject()
    writer.beginObject()
    writer.member("a")
    writer.beginArray()
    writer.endArray()
    writer.name("b")
    writer.string("{")
    writer.member("c")
    writer.string(":")
    writer.member("d")
    writer.raw(Array("[1]".utf8))
    writer.endObject()
    writer.null()
    writer.bool(true)
    writer.bool(false)
    writer.integer(-5)
    writer.endArray()
    #expect(
      String(decoding: writer.finish(), as: UTF8.self)
        == #"[{},{"a":[],"b":"{","c":":","d":[1]},null,true,false,-5]"#)
  }

  @Test func onlyWhatMustBeIsEscaped() {
    var writer = JSONWriter(capacity: 0)
    writer.string("\"\\/\u{8}\u{C}\n\r\t\0\u{1}\u{F}\u{10}\u{1F} ~\u{7F}é\u{2028}😀")
    #expect(
      String(decoding: writer.finish(), as: UTF8.self)
        == "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u000f\\u0010\\u001f ~\u{7F}é\u{2028}😀\"")
  }

  @Test func integersHaveTheirDigits() {
    for value in [0, 1, -1, 9, 10, 99, -100, 1_234_567_890, Int64.max, Int64.min] {
      var writer = JSONWriter(capacity: 0)
      writer.integer(value)
      #expect(String(decoding: writer.finish(), as: UTF8.self) == String(value))
    }
  }
}
