import LockstepJSON
import Testing

@testable import LockstepJSON

@Suite struct JSONKeyTests {
  @Test func keysAreEqualWhereNamesAre() throws {
    let names = [
      "", "a", "b", "ab", "zone", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghj",
      "123456789012345",
      "a\0", "\0",
    ]
    for name in names {
      for other in names {
        #expect((JSONKey(name.utf8) == JSONKey(other.utf8)) == (name == other))
      }
    }
  }

  @Test func longNamesEqualNoShortOne() {
    #expect(JSONKey("1234567890123456".utf8) == .long)
    #expect(JSONKey("123456789012345".utf8) != .long)
  }

  @Test func scannedKeyIsTheSameInAnyWriting() throws {
    for name in ["a", "records", "deviceID", "modifiedAt", "123456789012345", "1234567890123456"] {
      let escaped = "\\u00" + String(name.utf8.first!, radix: 16) + name.dropFirst()
      for text in [
        "{\"\(name)\":1}", "{\"\(escaped)\":1}", "{\"\(name)\":\"a long value to follow\"}",
      ] {
        let bytes = Array(text.utf8)
        var scanner = JSONScanner(bytes.span.bytes)
        try scanner.enterObject()
        #expect(try scanner.nextMember() == JSONKey(name.utf8))
      }
    }
  }
}
