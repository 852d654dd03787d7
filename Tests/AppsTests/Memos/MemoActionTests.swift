import LockstepApps
import LockstepModel
import Testing

/// Other programs send these forms.
struct MemoActionTests {
  @Test func everyOrderHasItsForm() throws {
    let forms: [(MemoAction, String)] = [
      (.add(content: "b", name: Name(trusted: "a")), #"{"content":"b","do":"add","name":"a"}"#),
      (
        .edit(memo: "1", content: "b", was: "a"),
        #"{"content":"b","do":"edit","memo":"1","was":"a"}"#
      ),
      (.remove(memo: "1"), #"{"do":"remove","memo":"1"}"#),
    ]
    try expectForms(forms, write: \.json, read: MemoAction.init(json:))
  }

  @Test func everyQuestionHasItsForm() throws {
    let forms: [(MemoQuestion, String)] = [
      (.list, #"{"show":"list"}"#), (.memo("1"), #"{"memo":"1","show":"memo"}"#),
      (.search(words: "a b"), #"{"show":"search","words":"a b"}"#),
    ]
    try expectForms(forms, write: \.json, read: MemoQuestion.init(json:))
  }

  @Test func otherFormsAreRefused() {
    let orders = [
      ("[]", "memos do not know that order"), (#"{"do":"dance"}"#, "memos do not know that order"),
      (#"{"do":"add"}"#, "content must be a text"),
      (#"{"do":"add","content":"b"}"#, "name must be a text"),
      (#"{"do":"edit"}"#, "memo must be a text"),
      (#"{"do":"edit","memo":"1"}"#, "content must be a text"),
      (#"{"do":"edit","memo":"1","content":"b"}"#, "was must be a text"),
      (#"{"do":"remove"}"#, "memo must be a text"),
    ]
    expectRefusals(orders, read: MemoAction.init(json:))
    let questions = [
      (#"{"show":"week"}"#, "memos have no such view"),
      (#"{"show":"memo"}"#, "memo must be a text"),
      (#"{"show":"search"}"#, "words must be a text"),
    ]
    expectRefusals(questions, read: MemoQuestion.init(json:))
  }
}
