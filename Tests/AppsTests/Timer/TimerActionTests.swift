import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

/// Other programs send these forms.
struct TimerActionTests {
  @Test func everyOrderHasItsForm() throws {
    let forms: [(TimerAction, String)] = [
      (.event(.start(length: nil)), #"{"do":"start"}"#),
      (.event(.start(length: 1_500_000)), #"{"do":"start","length":1500000}"#),
      (.event(.pause), #"{"do":"pause"}"#), (.event(.resume), #"{"do":"resume"}"#),
      (.event(.stop), #"{"do":"stop"}"#), (.event(.skip), #"{"do":"skip"}"#),
      (.event(.snooze(length: nil)), #"{"do":"snooze"}"#),
      (.event(.snooze(length: 60_000)), #"{"do":"snooze","length":60000}"#),
      (.set([JSONMember("autoStart", false)]), #"{"do":"set","settings":{"autoStart":false}}"#),
    ]
    try expectForms(forms, write: \.json, read: TimerAction.init(json:))
  }

  @Test func everyQuestionHasItsForm() throws {
    let days = ["2026-03-01", "2026-03-02"].enumerated().map {
      TimerStatistics.Period(name: $1, from: Int64($0) * 86_400_000)
    }
    let forms: [(TimerQuestion, String)] = [
      (.screen, #"{"show":"screen"}"#), (.board, #"{"show":"board"}"#),
      (.settings, #"{"show":"settings"}"#), (.stats([]), #"{"show":"stats"}"#),
      (
        .stats(days),
        #"{"periods":[{"from":0,"name":"2026-03-01"},"#
          + #"{"from":86400000,"name":"2026-03-02"}],"show":"stats"}"#
      ),
    ]
    try expectForms(forms, write: \.json, read: TimerQuestion.init(json:))
  }

  @Test func ofTwoChangesOfOneSettingTheLaterIsSent() {
    let twice = TimerAction.set([JSONMember("longBreakEvery", 2), JSONMember("longBreakEvery", 3)])
    #expect(twice.json.text == #"{"do":"set","settings":{"longBreakEvery":3}}"#)
  }

  @Test func otherFormsAreRefused() {
    let orders = [
      ("{}", "the timer does not know that order"),
      (#"{"do":"explode"}"#, "the timer does not know that order"),
      (#"{"do":"set"}"#, "say what is to change"),
    ]
    expectRefusals(orders, read: TimerAction.init(json:))
    let questions = ["{}", #"{"show":"dance"}"#, #"{"at":1,"show":"screen"}"#]
    expectRefusals(
      questions.map { ($0, "the timer has no such view") }, read: TimerQuestion.init(json:))
    let periods = [
      (#"{"periods":7,"show":"stats"}"#, "periods must be a list of at most 1000"),
      (#"{"periods":[{"from":1}],"show":"stats"}"#, "name must be a text"),
      (
        #"{"periods":[{"from":1,"name":"a"},{"from":1,"name":"b"}],"show":"stats"}"#,
        "periods must be in the order of their beginnings"
      ),
    ]
    expectRefusals(periods, read: TimerQuestion.init(json:))
  }
}
