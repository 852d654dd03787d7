import LockstepJSON
import LockstepModel
import Testing

struct FieldKindsTests {
  private static let fraction = JSONValue.number(JSONNumber(thousandths: 1_500))
  private let rules: MergeRules = [
    "least": .least, "or": .or, "count": .counter, "set": .set, "map": .map,
    "each": .greatestEach, "text": .keepBoth,
  ]

  @Test(
    arguments: [
      ("free", [1]), ("least", 1), ("least", "a"), ("or", false), ("count", ["a": [1, 2]]),
      ("count", [:]), ("set", [1, "a", true, .null]), ("set", []), ("map", ["a": [1]]),
      ("each", ["a": 1]), ("text", "a"), ("~", 1), ("", 1),
    ] as [(String, JSONValue)])
  func aValueOfTheRulesKindIsGood(_ field: String, _ value: JSONValue) {
    let fields = JSONValue.object([JSONMember(field, value)])
    #expect(rules.wrongField(in: fields, over: nil) == nil)
  }

  @Test func aPartOfACounterThatAnotherProgramHasSetStays() {
    let held: JSONValue = ["count": ["a": [Self.fraction, 0]]]
    let counted: JSONValue = ["count": ["a": [Self.fraction, 0], "b": [1, 0]]]
    #expect(rules.wrongField(in: counted, over: held) == nil)
    #expect(rules.wrongField(in: ["count": ["a": [0, Self.fraction]]], over: held) == "count")
  }

  @Test(
    arguments: [
      ("least", true), ("least", .null), ("or", 1), ("count", 5), ("count", ["a": [1]]),
      ("count", ["a": ["1", 2]]), ("count", ["a": [fraction, 0]]), ("count", ["a": [-1, 0]]),
      ("set", "a"), ("set", ["a": 1]), ("set", [["a"]]), ("map", "a"),
      ("each", ["a": "1"]), ("text", 1),
    ] as [(String, JSONValue)])
  func anotherKindIsRefusedUnlessItWasThere(_ field: String, _ value: JSONValue) {
    let fields = JSONValue.object([JSONMember("free", 1), JSONMember(field, value)])
    #expect(rules.wrongField(in: fields, over: nil) == field)
    #expect(rules.wrongField(in: fields, over: fields) == nil)
  }
}
