import LockstepApps
import LockstepModel
import Testing

/// Other programs send these forms.
struct ClipboardActionTests {
  @Test func everyOrderHasItsForm() throws {
    let forms: [(ClipboardAction, String)] = [
      (.add(content: "b", name: Name(trusted: "a")), #"{"content":"b","do":"add","name":"a"}"#),
      (.remove(item: "1"), #"{"do":"remove","item":"1"}"#),
      (.pin(item: "2"), #"{"do":"pin","item":"2"}"#),
      (.unpin(item: "3"), #"{"do":"unpin","item":"3"}"#),
      (.clear(includesPinned: false), #"{"do":"clear"}"#),
      (.clear(includesPinned: true), #"{"do":"clear","pinned":true}"#),
    ]
    try expectForms(forms, write: \.json, read: ClipboardAction.init(json:))
  }

  @Test func everyQuestionHasItsForm() throws {
    let forms: [(ClipboardQuestion, String)] = [
      (.list, #"{"show":"list"}"#), (.item("1"), #"{"item":"1","show":"item"}"#),
    ]
    try expectForms(forms, write: \.json, read: ClipboardQuestion.init(json:))
  }

  @Test func otherFormsAreRefused() {
    let orders = [
      ("{}", "the clipboard does not know that order"),
      (#"{"do":"dance"}"#, "the clipboard does not know that order"),
      (#"{"do":"add"}"#, "content must be a text"),
      (#"{"do":"add","content":"b"}"#, "name must be a text"),
      (#"{"do":"add","content":"b","name":""}"#, "that is no name for a record"),
      (#"{"do":"remove","item":1}"#, "item must be a text"),
    ]
    expectRefusals(orders, read: ClipboardAction.init(json:))
    let questions = [
      (#"{"show":"week"}"#, "the clipboard has no such view"),
      (#"{"show":"item"}"#, "item must be a text"),
    ]
    expectRefusals(questions, read: ClipboardQuestion.init(json:))
  }
}
