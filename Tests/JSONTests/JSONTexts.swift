import LockstepJSON
import LockstepModel

/// Text that is not JSON, with the expected fault.
struct BrokenText: Sendable, CustomStringConvertible {
  var bytes: [UInt8]
  var reason: JSONFault.Reason
  var description: String { String(decoding: bytes, as: UTF8.self) }

  init(_ text: String, _ reason: JSONFault.Reason) {
    bytes = Array(text.utf8)
    self.reason = reason
  }
}

enum JSONTexts {
  static let valid: [String] = [
    "null", "true", "false", "0", "-0", "1", "-1", "12", "1.5", "0.1", "-0.0", "1e1", "1E1", "1e+1",
    "1e-1", "1.25e007", "123456789012345678901234567890", "1e400", "\"\"", "\"a\"", "[]", "{}",
    " \t\r\n[ \t\r\n] \t\r\n", " {\n} ", "[1]", "[1,2]", "[ 1 , 2 ]", #"{"a":1}"#, #"{"":0}"#,
    #"{ "a" : 1 , "b" : [ ] }"#, #"[[],{},[[{}]],{"a":{"b":[{}]}}]"#,
    #""\"\\\/\b\f\n\r\t""#, #""\u0000\u001f\u00e9\uFFFF""#, #""\ud83d\ude00\uDBFF\uDFFF""#,
    "\"\u{7F}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFD}\u{FFFF}\u{10000}\u{10FFFF}\"",
    "\"\u{2028}\u{2029}\u{FEFF}/\"", #"{"電脑":"\u96fb\u8111","e\u0301":1,"é":2}"#,
    #"{"a":null,"b":true,"c":false,"d":-12.5e-3,"e":"x","f":["y",{"z":[]}]}"#,
    "\"abcdefgh\"", "\"abcdefg\"", "\"abcdefghabcdefgh\\n\"", #"{"a long name of a member":1}"#,
  ]

  static let invalid: [BrokenText] = [
    // Nothing, or too little.
    BrokenText("", .unexpectedEnd), BrokenText(" \n", .unexpectedEnd),
    BrokenText("[", .unexpectedEnd), BrokenText("{", .unexpectedEnd),
    BrokenText("[1", .unexpectedEnd), BrokenText("[1,", .unexpectedEnd),
    BrokenText(#"{"a""#, .unexpectedEnd), BrokenText(#"{"a":"#, .unexpectedEnd),
    BrokenText(#"{"a":1"#, .unexpectedEnd), BrokenText(#"{"a":1,"#, .unexpectedEnd),
    BrokenText("\"", .unexpectedEnd), BrokenText("\"abc", .unexpectedEnd),
    BrokenText(#""\"#, .unexpectedEnd), BrokenText(#""\u12"#, .unexpectedEnd),
    BrokenText("-", .unexpectedEnd), BrokenText("1.", .unexpectedEnd),
    BrokenText("1e", .unexpectedEnd), BrokenText("1e+", .unexpectedEnd),
    BrokenText("tru", .unexpectedEnd), BrokenText("n", .unexpectedEnd),
    // Too much.
    BrokenText("1 2", .trailingBytes), BrokenText("{}}", .trailingBytes),
    BrokenText("[]]", .trailingBytes), BrokenText("null,", .trailingBytes),
    BrokenText("truex", .trailingBytes), BrokenText("{} //", .trailingBytes),
    BrokenText("\"a\"\0", .trailingBytes), BrokenText("1a", .trailingBytes),
    // Invalid values.
    BrokenText("True", .expected(.value)), BrokenText("trUe", .expected(.value)),
    BrokenText("nul1", .expected(.value)), BrokenText("undefined", .expected(.value)),
    BrokenText("NaN", .expected(.value)), BrokenText("Infinity", .expected(.value)),
    BrokenText("'a'", .expected(.value)), BrokenText("+1", .expected(.value)),
    BrokenText(".5", .expected(.value)), BrokenText("]", .expected(.value)),
    BrokenText("}", .expected(.value)), BrokenText(",", .expected(.value)),
    BrokenText(":", .expected(.value)), BrokenText("/* */1", .expected(.value)),
    BrokenText("\u{FEFF}1", .expected(.value)), BrokenText("\u{A0}1", .expected(.value)),
    BrokenText("\u{B}1", .expected(.value)), BrokenText("\0", .expected(.value)),
    // Arrays and objects.
    BrokenText("[,]", .expected(.value)), BrokenText("[,1]", .expected(.value)),
    BrokenText("[1,]", .expected(.value)), BrokenText("[1,,2]", .expected(.value)),
    BrokenText("[1 2]", .expected(.commaOrBracket)), BrokenText("[1}", .expected(.commaOrBracket)),
    BrokenText("[1:2]", .expected(.commaOrBracket)), BrokenText("[}", .expected(.value)),
    BrokenText("{]", .expected(.name)), BrokenText("{,}", .expected(.name)),
    BrokenText("{1:2}", .expected(.name)), BrokenText("{a:1}", .expected(.name)),
    BrokenText("{'a':1}", .expected(.name)), BrokenText("{null:1}", .expected(.name)),
    BrokenText(#"{"a":1,}"#, .expected(.name)), BrokenText(#"{"a":1,,}"#, .expected(.name)),
    BrokenText(#"{"a"}"#, .expected(.colon)), BrokenText(#"{"a",1}"#, .expected(.colon)),
    BrokenText(#"{"a" 1}"#, .expected(.colon)), BrokenText(#"{"a":}"#, .expected(.value)),
    BrokenText(#"{"a"::1}"#, .expected(.value)), BrokenText(#"{"a":1]"#, .expected(.commaOrBrace)),
    BrokenText(#"{"a":1 "b":2}"#, .expected(.commaOrBrace)),
    // Numbers.
    BrokenText("01", .badNumber), BrokenText("-01", .badNumber), BrokenText("00", .badNumber),
    BrokenText("-a", .badNumber), BrokenText("--1", .badNumber), BrokenText("1.a", .badNumber),
    BrokenText("1.e1", .badNumber), BrokenText("1ea", .badNumber), BrokenText("1e+-1", .badNumber),
    BrokenText("[-]", .badNumber), BrokenText("[1.]", .badNumber), BrokenText("[1e]", .badNumber),
    BrokenText("0x10", .trailingBytes), BrokenText("1.2.3", .trailingBytes),
    BrokenText("1_000", .trailingBytes), BrokenText("-Infinity", .badNumber),
    // Strings.
    BrokenText("\"\n\"", .bareControlCharacter), BrokenText("\"\t\"", .bareControlCharacter),
    BrokenText("\"\0\"", .bareControlCharacter), BrokenText("\"a\u{1F}\"", .bareControlCharacter),
    BrokenText("{\"a\nb\":1}", .bareControlCharacter),
    BrokenText(#""\x""#, .badEscape), BrokenText(#""\'""#, .badEscape),
    BrokenText(#""\U0041""#, .badEscape), BrokenText(#""\ ""#, .badEscape),
    BrokenText(#""\u12G4""#, .badEscape), BrokenText(#""\u12""#, .badEscape),
    BrokenText(#""\u+123""#, .badEscape),
    BrokenText(#""\ud83d\ux""#, .badEscape), BrokenText(#""\é""#, .badEscape),
    BrokenText(#""\ud800""#, .loneSurrogate), BrokenText(#""\udc00""#, .loneSurrogate),
    BrokenText(#""\udc00\ud800""#, .loneSurrogate), BrokenText(#""\ud800\ud800""#, .loneSurrogate),
    BrokenText(#""\ud800a""#, .loneSurrogate), BrokenText(#""\ud800\n""#, .loneSurrogate),
    BrokenText(#""\ud800\u0041""#, .loneSurrogate), BrokenText(#"{"\udfff":1}"#, .loneSurrogate),
  ]

  /// Contents of a string: overlong forms, surrogates, code points beyond the last, truncated ones.
  static let badUTF8: [[UInt8]] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x22], [0xC2, 0xC2], [0xDF, 0x7F],
    [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE1, 0x80], [0xE1, 0x80, 0x22], [0xED, 0xA0, 0x80],
    [0xED, 0xBF, 0xBF], [0xEF, 0xBF, 0xC0], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
    [0xF0, 0x90, 0x80], [0xF1, 0x80, 0x80, 0x22], [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80, 0x80, 0x80],
    [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
  ]
}

extension [UInt8] {
  /// Changes one byte: replaces it, removes it, inserts one, or doubles it with the bytes after it.
  mutating func mutate(using random: inout SeededRandom) {
    let index = isEmpty ? 0 : Int.random(in: 0..<count, using: &random)
    let byte =
      Bool.random(using: &random)
      ? UInt8.random(in: 0...255, using: &random)
      : Array("{}[]\",:\\0123456789eE+-.tfnu \n".utf8).randomElement(using: &random)!
    switch Int.random(in: 0..<4, using: &random) {
    case 0 where !isEmpty: self[index] = byte
    case 1 where !isEmpty: remove(at: index)
    case 2: insert(contentsOf: self[index...].prefix(8), at: index)
    default: insert(byte, at: index)
    }
  }
}
