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
    let texts = [
      #"{"show":"screen"}"#, #"{"show":"board"}"#, #"{"show":"settings"}"#, #"{"show":"stats"}"#,
    ]
    #expect(TimerQuestion.allCases.count == texts.count)
    try expectForms(
      Array(zip(TimerQuestion.allCases, texts)), write: \.json, read: TimerQuestion.init(json:))
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
  }
}
