import LockstepApps
import LockstepModel
import Testing

struct OrderWordsTests {
  @Test func wordsOfAnotherFormAreRefused() throws {
    let order: JSONValue = ["text": "a", "number": 5, "name": "r\n"]
    #expect(try order.word("text") == "a")
    #expect(try order.whole("number") == 5)
    #expect(throws: EditRefusal("number must be a text")) { try order.word("number") }
    #expect(throws: EditRefusal("text must be a whole number")) { try order.whole("text") }
    #expect(throws: EditRefusal("none must be a text")) { try order.word("none") }
    #expect(throws: EditRefusal("that is no name for a record")) { try AppState.newName(order) }
  }
}
