import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepJSON

@Suite struct JSONValueTests {
  @Test func parsedTextGivesItsTree() throws {
    let text = #" {"b":[1,-2.5,true,null,"x\u00e9\n"],"a":{"":false}} "#
    let expected: JSONValue = [
      "a": ["": false],
      "b": [1, .number(try #require(JSONNumber("-2.5"))), true, .null, "xé\n"],
    ]
    #expect(try JSONValue(parsing: text) == expected)
  }

  @Test func canonicalFormIsSortedAndShort() throws {
    let text =
      #"{ "b" : 1.0, "é" : "\u0041\/\u001f\u007f\"\\", "a" : [ -0, 1e2, 0.50 ], "B" : {} }"#
    #expect(
      try JSONValue(parsing: text).text
        == "{\"B\":{},\"a\":[0,100,0.5],\"b\":1,\"é\":\"A/\\u001f\u{7F}\\\"\\\\\"}")
  }

  @Test func namesAreSortedByTheirBytes() {
    // In UTF-16 order the second would come first.
    let value: JSONValue = ["\u{FFFF}": 1, "\u{10000}": 2, "a": 3, "": 4]
    #expect(value.text == "{\"\":4,\"a\":3,\"\u{FFFF}\":1,\"\u{10000}\":2}")
  }

  @Test func objectsAreEqualInAnyOrder() throws {
    let one: JSONValue = ["a": 1, "b": ["c": 2, "d": 3]]
    let other: JSONValue = ["b": ["d": 3, "c": 2], "a": 1]
    #expect(one == other)
    #expect(one.hashValue == other.hashValue)
    #expect(one != ["a": 1])
    #expect(one != ["a": 1, "b": ["c": 2, "d": 4]])
    #expect(([1, 2] as JSONValue) != [2, 1])
  }

  @Test func stringsAreEqualByTheirBytes() {
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    let both: JSONValue = ["\u{E9}": 1, "e\u{301}": 2]
    #expect(both["\u{E9}"] == 1)
    #expect(both["e\u{301}"] == 2)
  }

  @Test func kindsAreNeverEqual() {
    let values: [JSONValue] = [.null, false, 0, "", [], [:], "0", [.null], ["": .null]]
    for (index, left) in values.enumerated() {
      for (other, right) in values.enumerated() { #expect((left == right) == (index == other)) }
    }
  }

  @Test(arguments: [
    #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"\u0061":3}"#, #"[{"x":{"y":1,"z":2,"y":3}}]"#,
    #"{"":1,"":2}"#,
  ]) func nameThatStandsTwiceIsRefused(_ text: String) {
    #expect(throws: JSONFault.self) { try JSONValue(parsing: text) }
    do throws(JSONFault) {
      _ = try JSONValue(parsing: text)
    } catch { #expect(error.reason == .duplicateName) }
  }

  @Test func accessorsGiveNilForOtherKinds() {
    let value: JSONValue = ["s": "x", "n": 5, "t": true, "a": [1], "o": ["k": .null]]
    #expect(value["s"]?.string == "x")
    #expect(value["n"]?.int64 == 5)
    #expect(value["n"]?.number == JSONNumber(5))
    #expect(value["t"]?.bool == true)
    #expect(value["a"]?.array == [1])
    #expect(value["o"]?.members == [JSONMember("k", .null)])
    #expect(value["o"]?["k"]?.isNull == true)
    #expect(value["missing"] == nil)
    #expect(value["a"]?["k"] == nil)
    for name in ["a", "o", "t"] {
      #expect(value[name]?.string == nil)
      #expect(value[name]?.int64 == nil)
      #expect(value[name]?.isNull == false)
    }
    #expect(value["s"]?.bool == nil)
    #expect(value["s"]?.array == nil)
    #expect(value["s"]?.members == nil)
  }

  @Test func manyAreSetAtOnceAsOneAfterTheOther() {
    let value: JSONValue = ["a": 1, "é": 2]
    let changes = [
      JSONMember("b", 3), JSONMember("a", .null), JSONMember("e\u{301}", 4), JSONMember("b", 5),
    ]
    let expected = [
      JSONMember("a", .null), JSONMember("é", 2), JSONMember("b", 5), JSONMember("e\u{301}", 4),
    ]
    #expect(value.setting(changes).members == expected)
    #expect(value.setting([]) == value)
    #expect(JSONValue.null.setting(changes).members?.count == 3)
  }

  @Test func settingReplacesAppendsAndRemoves() {
    let value: JSONValue = ["a": 1, "b": 2]
    #expect(value.setting("a", to: 3).members == [JSONMember("a", 3), JSONMember("b", 2)])
    #expect(value.setting("c", to: nil) == value)
    #expect(value.setting("c", to: JSONValue.null)["c"] == JSONValue.null)
    #expect(value.setting("a", to: nil) == ["b": 2])
    #expect(JSONValue.null.setting("a", to: 1) == ["a": 1])
  }

  @Test func randomValueSurvivesTheRoundTrip() throws {
    var random = SeededRandom(seed: 2)
    for _ in 0..<3_000 {
      let value = JSONValue.random(using: &random)
      let bytes = value.serialized()
      let back = try JSONValue(parsing: bytes)
      #expect(back == value)
      #expect(back.hashValue == value.hashValue)
      #expect(back.serialized() == bytes)
    }
  }

  @Test func equalValuesHaveEqualBytes() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<3_000 {
      let value = JSONValue.random(using: &random)
      let other = value.rewritten(using: &random)
      #expect(value == other)
      #expect(value.hashValue == other.hashValue)
      #expect(value.serialized() == other.serialized())
    }
  }

  @Test func faultTellsThePlaceAndTheCause() {
    do throws(JSONFault) {
      _ = try JSONValue(parsing: #"{"a":tru}"#)
    } catch { #expect(error.description == "a value is expected here (byte 5)") }
  }
}

extension JSONValue {
  static func random(using random: inout SeededRandom, depth: Int = 0) -> JSONValue {
    switch Int.random(in: 0..<(depth > 4 ? 5 : 8), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .number(JSONNumber(.random(in: -9999...9999, using: &random)))
    case 3: return .number(.random(using: &random))
    case 4: return .string(.random(using: &random))
    case 5, 6:
      let count = Int.random(in: 0..<5, using: &random)
      return .array((0..<count).map { _ in .random(using: &random, depth: depth + 1) })
    default:
      let count = Int.random(in: 0..<6, using: &random)
      let members = (0..<count).map { index in
        JSONMember("\(index)" + .random(using: &random), .random(using: &random, depth: depth + 1))
      }
      return .object(members)
    }
  }

  /// Returns the same value in another form: members reordered, numbers spelt differently.
  func rewritten(using random: inout SeededRandom) -> JSONValue {
    switch self {
    case .null, .bool, .string: return self
    case .number(let number):
      guard let value = number.int64, value != 0 else { return self }
      let texts = ["\(value)", "\(value).0", "\(value)e0", "\(value)00E-2", "\(value).00e+0"]
      return .number(JSONNumber(texts.randomElement(using: &random)!)!)
    case .array(let elements):
      return .array(elements.map { $0.rewritten(using: &random) })
    case .object(let members):
      return .object(
        members.shuffled(using: &random).map {
          JSONMember($0.name, $0.value.rewritten(using: &random))
        })
    }
  }
}

extension JSONNumber {
  static func random(using random: inout SeededRandom) -> JSONNumber {
    func digits(_ range: ClosedRange<Int>) -> String {
      String(
        (0..<Int.random(in: range, using: &random)).map { _ in
          "0123456789".randomElement(using: &random)!
        })
    }
    var text = Bool.random(using: &random) ? "-" : ""
    text +=
      Bool.random(using: &random)
      ? "0" : "\(Int.random(in: 1...9, using: &random))" + digits(0...30)
    if Bool.random(using: &random) { text += "." + digits(1...20) }
    if Bool.random(using: &random) {
      text += ["e", "E", "e+", "e-"].randomElement(using: &random)! + digits(1...25)
    }
    return JSONNumber(text)!
  }
}

extension String {
  static func random(using random: inout SeededRandom) -> String {
    let alphabet: [Character] = [
      "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\r", "\t", "\0", "\u{1F}", "\u{7F}", "é", "電",
      "\u{2028}", "😀", "\u{10FFFF}", "\u{8}", "\u{C}",
    ]
    let count = Int.random(in: 0..<24, using: &random)
    return String((0..<count).map { _ in alphabet.randomElement(using: &random)! })
  }
}
