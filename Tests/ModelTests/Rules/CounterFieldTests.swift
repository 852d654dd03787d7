import LockstepJSON
import LockstepModel
import Testing

struct CounterFieldTests {
  @Test func aDeviceCountsInItsOwnPart() {
    let field = CounterField.adding(5, to: ["mac": [2, 0]], by: "phone")
    #expect(field == ["mac": [2, 0], "phone": [5, 0]])
    #expect(CounterField.adding(-3, to: field, by: "phone") == ["mac": [2, 0], "phone": [5, 3]])
    #expect(CounterField.value(of: field) == 7)
  }

  @Test func aFieldThatIsNotThereCountsAsNothing() {
    #expect(CounterField.value(of: nil) == 0)
    #expect(CounterField.adding(1, to: nil, by: "phone") == ["phone": [1, 0]])
  }

  @Test func partsOfAnotherFormCountAsNothing() {
    let field: JSONValue = ["a": 5, "b": [1], "c": [1, "2"], "d": [-4, 1], "e": [3, 1]]
    #expect(CounterField.value(of: field) == 1)
    #expect(CounterField.value(of: "text") == 0)
    #expect(CounterField.adding(1, to: "text", by: "a") == ["a": [1, 0]])
  }

  @Test func sumsStayInRange() {
    let most = JSONValue.number(JSONNumber(.max))
    let parts = (0..<9).map { JSONMember("device \($0)", .array([most, 0])) }
    #expect(CounterField.value(of: .object(parts)) == .max)
    #expect(CounterField.adding(.max, to: ["a": [5, 0]], by: "a") == ["a": .array([most, 0])])
    #expect(
      CounterField.adding(.min, to: nil, by: "a") == ["a": .array([0, most])])
  }
}
