import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepJSON

/// Valid and invalid texts of RFC 8259. Skipping and parsing must agree on each.
@Suite struct JSONScannerTests {
  @Test(arguments: JSONTexts.valid) func validTextIsTaken(_ text: String) {
    #expect(skipFault(Array(text.utf8)) == nil)
    #expect(parseFault(Array(text.utf8)) == nil)
  }

  @Test(arguments: JSONTexts.invalid) func invalidTextIsRefused(_ broken: BrokenText) {
    #expect(skipFault(broken.bytes)?.reason == broken.reason)
    #expect(parseFault(broken.bytes)?.reason == broken.reason)
  }

  @Test(arguments: JSONTexts.badUTF8) func badUTF8IsRefused(_ bytes: [UInt8]) {
    for text in [[0x22] + bytes + [0x22], Array(#"{"padding":"123456789","#.utf8) + [0x22] + bytes]
    {
      #expect(skipFault(text)?.reason == .badUTF8)
      #expect(parseFault(text)?.reason == .badUTF8)
    }
  }

  @Test(arguments: JSONTexts.valid) func everyTruncatedTextEndsInAFault(_ text: String) {
    let bytes = Array(text.utf8)
    // A truncated number, or white space at the ends, may leave a complete text.
    guard let last = bytes.last, [.closeBrace, .closeBracket, .quote].contains(last) else { return }
    let first = bytes.firstIndex { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? 0
    for length in first..<bytes.count {
      let fault = skipFault(Array(bytes[..<length]))
      #expect(fault != nil, "\(length) bytes of \(text)")
      #expect((fault?.offset ?? 0) <= length)
    }
  }

  @Test func stringFaultIsFoundAtEveryPlaceOfAWord() {
    for padding in 0..<20 {
      let plain = String(repeating: "x", count: padding)
      for tail in ["\u{1}", "\\x", "\\ud800"] {
        #expect(
          skipFault(Array("\"\(plain)\(tail)yyyyyyyyyyyyyyyyyyyy\"".utf8))?.offset == padding + 1)
      }
      #expect(skipFault(Array("\"\(plain)é\u{10FFFF}\"".utf8)) == nil)
      #expect(skipFault(Array("\"\(plain)\" x".utf8))?.offset == padding + 3)
    }
  }

  @Test func plainTextEndsAtEverySpecialByteAndAtNoOther() {
    for byte in UInt8.min...UInt8.max {
      let isSpecial = byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x80
      for before in 0..<17 {
        var text = [UInt8](repeating: UInt8(ascii: "x"), count: 20)
        text[before] = byte
        #expect(text.span.bytes.endOfPlainText(from: 0) == (isSpecial ? before : 20))
        #expect(text.span.bytes.endOfPlainText(from: before + 1) == 20)
      }
    }
  }

  @Test func skippedValueIsNamedByItsBytesAlone() throws {
    let text = Array(#" { "a" : [ 1 , {"b":"]}"} ] , "c" : -1.5e3 } "#.utf8)
    var scanner = JSONScanner(text.span.bytes)
    try scanner.enterObject()
    #expect(try scanner.nextMember() == JSONKey("a".utf8))
    #expect(
      String(decoding: text[try scanner.skipValue()], as: UTF8.self) == #"[ 1 , {"b":"]}"} ]"#)
    #expect(try scanner.nextMember() == JSONKey("c".utf8))
    #expect(String(decoding: scanner.copy(try scanner.skipValue()), as: UTF8.self) == "-1.5e3")
    #expect(try scanner.nextMember() == nil)
    try scanner.finish()
  }

  @Test func depthHasItsCeiling() {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      func nested(_ depth: Int) -> [UInt8] {
        let inner = open == "[" ? "" : "1"
        return Array(
          (String(repeating: open, count: depth) + inner + String(repeating: close, count: depth))
            .utf8)
      }
      #expect(skipFault(nested(JSONScanner.depthMax)) == nil)
      #expect(parseFault(nested(JSONScanner.depthMax)) == nil)
      #expect(skipFault(nested(JSONScanner.depthMax + 1))?.reason == .tooDeep)
      #expect(parseFault(nested(JSONScanner.depthMax + 1))?.reason == .tooDeep)
      #expect(skipFault(nested(100_000))?.reason == .tooDeep)
    }
  }

  @Test func skippedDepthCountsFromTheValue() throws {
    let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let text = Array("[[[\(deepest)]]]".utf8)
    var scanner = JSONScanner(text.span.bytes)
    for _ in 0..<3 {
      try scanner.enterArray()
      #expect(try scanner.nextElement())
    }
    #expect(try scanner.skipValue().count == 128)
    for _ in 0..<3 { #expect(try scanner.nextElement() == false) }
    try scanner.finish()
  }

  @Test func kindOfAValueIsToldBeforeItIsRead() throws {
    let cases: [(String, JSONScanner.Kind)] = [
      ("{}", .object), (" []", .array), ("\"\"", .string), ("-1", .number), ("0", .number),
      ("true", .bool), ("false", .bool), ("null", .null),
    ]
    for (text, kind) in cases {
      let bytes = Array(text.utf8)
      var scanner = JSONScanner(bytes.span.bytes)
      #expect(try scanner.kind() == kind)
      try scanner.skipValue()
      try scanner.finish()
    }
  }

  @Test func wrongKindSaysWhatIsExpected() {
    func reason(_ text: String, _ read: (inout JSONScanner) throws(JSONFault) -> Void)
      -> JSONFault.Reason?
    {
      let bytes = Array(text.utf8)
      var scanner = JSONScanner(bytes.span.bytes)
      do { try read(&scanner) } catch { return error.reason }
      return nil
    }
    #expect(reason("1") { s throws(JSONFault) in try s.enterObject() } == .expected(.object))
    #expect(reason("1") { s throws(JSONFault) in try s.enterArray() } == .expected(.array))
    #expect(reason("1") { s throws(JSONFault) in _ = try s.string() } == .expected(.string))
    #expect(reason("[]") { s throws(JSONFault) in _ = try s.number() } == .expected(.number))
    #expect(reason("[]") { s throws(JSONFault) in _ = try s.int64() } == .expected(.number))
    #expect(reason("null") { s throws(JSONFault) in _ = try s.bool() } == .expected(.bool))
    #expect(reason("true") { s throws(JSONFault) in try s.null() } == .expected(.null))
  }

  @Test func integersAreReadHoweverTheyAreWritten() throws {
    let cases: [(String, Int64?)] = [
      ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("1e3", 1000), ("1.50e1", 15), ("1200e-2", 12),
      ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
      ("-9223372036854775809", nil), ("1.5", nil), ("1e19", nil), ("1e-1", nil),
      ("123456789012345678", 123_456_789_012_345_678),
      ("999999999999999999e0", 999_999_999_999_999_999),
      ("0e999999999999999999999999", 0), ("1e999999999999999999999999", nil),
    ]
    for (text, value) in cases {
      let bytes = Array(text.utf8)
      var scanner = JSONScanner(bytes.span.bytes)
      #expect(try scanner.int64() == value, "\(text)")
      try scanner.finish()
    }
  }

  @Test func boolsAreToldApart() throws {
    let bytes = Array("[true,false]".utf8)
    var scanner = JSONScanner(bytes.span.bytes)
    try scanner.enterArray()
    #expect(try scanner.nextElement())
    #expect(try scanner.bool() == true)
    #expect(try scanner.nextElement())
    #expect(try scanner.bool() == false)
    #expect(try scanner.nextElement() == false)
  }

  /// Readers of an object that repeats a name disagree about its value.
  @Test func repeatedNamesAreFoundAtAnyDepth() {
    let long = "a name of more than 15 bytes"
    for (text, repeats) in [
      (#"{"a":1,"a":2}"#, true), (#"{"a":1,"b":{"c":1,"d":2,"c":3}}"#, true),
      (#"[[{"x":1},{"y":1,"z":2,"y":3}]]"#, true), (#"{"a":1,"\u0061":2}"#, true),
      (#"{"":1,"":2}"#, true), (#"{"b":{"a":1},"a":{"b":1},"b":0}"#, true),
      ("{\"\(long)\":1,\"x\":2,\"\(long)\":3}", true),
      (#"{"a":1,"b":2}"#, false), (#"{"a":{"a":{"a":1}}}"#, false),
      (#"[{"x":1},{"x":2},{"x":3}]"#, false), (#"{"a":1,"\u0062":2}"#, false),
      // One letter, or a letter with a sign for its accent.
      ("{\"\u{E9}\":1,\"e\u{301}\":2}", false),
      ("{\"\(long)\":1,\"\(long) \":2}", false),
      ("{" + (0..<300).map { "\"n\($0)\":\($0)" }.joined(separator: ",") + "}", false),
      ("{" + (0..<300).map { "\"n\($0 % 299)\":\($0)" }.joined(separator: ",") + "}", true),
    ] {
      let bytes = Array(text.utf8)
      var scanner = JSONScanner(bytes.span.bytes)
      do throws(JSONFault) {
        #expect(try scanner.skipValueWithUniqueNames() == 0..<bytes.count)
        #expect(!repeats, "\(text)")
      } catch {
        #expect(repeats && error.reason == .duplicateName, "\(text)")
      }
    }
  }

  @Test func mutatedTextNeverCrashesAndBothWaysAgree() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<20_000 {
      var bytes = Array(JSONTexts.valid.randomElement(using: &random)!.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) { bytes.mutate(using: &random) }
      let skipped = skipFault(bytes)
      let parsed = parseFault(bytes)
      // Only the tree checks names for duplicates.
      if parsed?.reason == .duplicateName { continue }
      #expect(skipped == parsed, "\(bytes)")
      if let skipped { #expect((0...bytes.count).contains(skipped.offset)) }
    }
  }

  private func skipFault(_ bytes: [UInt8]) -> JSONFault? {
    var scanner = JSONScanner(bytes.span.bytes)
    do throws(JSONFault) {
      try scanner.skipValue()
      try scanner.finish()
      return nil
    } catch { return error }
  }

  private func parseFault(_ bytes: [UInt8]) -> JSONFault? {
    do throws(JSONFault) {
      _ = try JSONValue(parsing: bytes)
      return nil
    } catch { return error }
  }
}
