import LockstepApps
import LockstepModel
import Testing

/// Other programs send these forms.
struct HabitActionTests {
  @Test func everyOrderHasItsForm() throws {
    let forms: [(HabitAction, String)] = [
      (
        .add(name: Name(trusted: "a"), title: "b", kind: .count, target: 8),
        #"{"do":"add","kind":"count","name":"a","target":8,"title":"b"}"#
      ),
      (.edit(habit: "1"), #"{"do":"edit","habit":"1"}"#),
      (
        .edit(habit: "1", title: "b", kind: .checkbox, target: 2),
        #"{"do":"edit","habit":"1","kind":"checkbox","target":2,"title":"b"}"#
      ),
      (.remove(habit: "1"), #"{"do":"remove","habit":"1"}"#),
      (
        .check(habit: "1", day: "d", isDone: false),
        #"{"day":"d","do":"check","done":false,"habit":"1"}"#
      ),
      (.count(habit: "1", day: "d", by: -2), #"{"by":-2,"day":"d","do":"count","habit":"1"}"#),
      (.archive(habit: "1", isArchived: true), #"{"archived":true,"do":"archive","habit":"1"}"#),
      (.move(habit: "1", place: 3), #"{"do":"move","habit":"1","place":3}"#),
      (.keep(habit: "1", version: "cloud"), #"{"do":"keep","habit":"1","version":"cloud"}"#),
    ]
    try expectForms(forms, write: \.json, read: HabitAction.init(json:))
  }

  @Test func everyQuestionHasItsForm() throws {
    let forms: [(HabitQuestion, String)] = [
      (.week(day: "d"), #"{"day":"d","show":"week"}"#), (.day("d"), #"{"day":"d","show":"day"}"#),
      (.conflicts, #"{"show":"conflicts"}"#),
      (.week(day: "d", isArchived: true), #"{"archived":true,"day":"d","show":"week"}"#),
    ]
    try expectForms(forms, write: \.json, read: HabitQuestion.init(json:))
  }

  @Test func otherFormsAreRefused() {
    let orders = [
      ("{}", "habits do not know that order"),
      (#"{"do":"dance"}"#, "habits do not know that order"),
      (#"{"do":"add","name":"a"}"#, "title must be a text"),
      (#"{"do":"add","name":"a","title":"b"}"#, "kind must be a text"),
      (#"{"do":"add","name":"a","title":"b","kind":"x"}"#, "a habit is a checkbox or a count"),
      (#"{"do":"add","name":"a","title":"b","kind":"count"}"#, "target must be a whole number"),
      (#"{"do":"edit","title":"b"}"#, "habit must be a text"),
      (#"{"do":"edit","habit":"1","title":null}"#, "title must be a text"),
      (#"{"do":"edit","habit":"1","kind":"x"}"#, "a habit is a checkbox or a count"),
      (#"{"do":"edit","habit":"1","target":1.5}"#, "target must be a whole number"),
      (#"{"do":"check","habit":"1","done":true}"#, "day must be a text"),
      (#"{"do":"check","habit":"1","day":"d","done":1}"#, "done must be true or false"),
      (#"{"do":"count","habit":"1","day":"d"}"#, "by must be a whole number"),
      (#"{"do":"archive","habit":"1"}"#, "archived must be true or false"),
      (#"{"do":"move","habit":"1"}"#, "place must be a whole number"),
      (#"{"do":"keep","habit":"1"}"#, "version must be a text"),
    ]
    expectRefusals(orders, read: HabitAction.init(json:))
    let questions = [
      (#"{"show":"list"}"#, "habits have no such view"), (#"{"show":"day"}"#, "day must be a text"),
      (#"{"show":"week","day":1}"#, "day must be a text"),
    ]
    expectRefusals(questions, read: HabitQuestion.init(json:))
  }
}
