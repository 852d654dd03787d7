import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct OrderWordsTests {
  @Test func wordsOfAnotherFormAreRefused() throws {
    let order: JSONValue = ["text": "a", "number": 5, "name": "r\n"]
    #expect(try order.textMember("text") == "a")
    #expect(try order.wholeMember("number") == 5)
    #expect(throws: EditRefusal("number must be a text")) { try order.textMember("number") }
    #expect(throws: EditRefusal("text must be a whole number")) { try order.wholeMember("text") }
    #expect(throws: EditRefusal("none must be a text")) { try order.textMember("none") }
    #expect(throws: EditRefusal("that is no name for a record")) { try AppState.newName(order) }
  }
}
