import Testing

@testable import LockstepSimulation

/// Examples from the rules for the model against which simulated timers are checked.
struct TimerFactTests {
  private func fact(
    _ deviceID: String, _ timestamp: Int64, _ stateType: String = "focus",
    _ remaining: Int64 = 60_000, isPaused: Bool = false
  ) -> TimerFact {
    TimerFact(
      deviceID: deviceID, timestamp: timestamp, stateType: stateType, remaining: remaining,
      isPaused: isPaused)
  }

  @Test func beyondFiveSecondsTheNewerStandsAlone() {
    let old = fact("a", 0)
    #expect(TimerFact.candidates([old, fact("b", 5_000, "idle", 0)]).count == 2)
    #expect(TimerFact.candidates([old, fact("b", 5_001, "idle", 0)]).map(\.deviceID) == ["b"])
    #expect(TimerFact.candidates([]).isEmpty)
  }

  @Test func theStatesHaveAnOrder() {
    let edits = [
      fact("a", 0, "idle", 0), fact("b", 0, "snooze"), fact("c", 0, "breakTime"), fact("d", 0),
    ]
    #expect(TimerFact.candidates(edits).map(\.deviceID) == ["d", "c", "b", "a"])
  }

  @Test func leastTimeLeftComesFirstAsOfTheNewestInstant() {
    let running = fact("a", 0, "focus", 10_000)
    let paused = fact("b", 3_000, "focus", 8_000, isPaused: true)
    #expect(TimerFact.candidates([paused, running]).map(\.deviceID) == ["a", "b"])
  }

  @Test func thenTheNewestAndThenTheGreaterDevice() {
    let edits = [fact("a", 0, "focus", 0), fact("b", 1_000, "focus", 0)]
    #expect(TimerFact.candidates(edits).map(\.deviceID) == ["b", "a"])
    #expect(TimerFact.candidates([fact("a", 0), fact("b", 0)]).map(\.deviceID) == ["b", "a"])
  }

  @Test func whatTimeMadeIsItsActFurtherAlong() throws {
    let text = """
      {"edits":[{"deviceID":"a","timestamp":9,"stateType":"idle","isPaused":false,"remaining":0,\
      "act":{"timestamp":5,"stateType":"focus","isPaused":false,"remaining":4}}]}
      """
    let ended = try #require(TimerFacts(fields: Array(text.utf8))?.edits.first)
    let focus = fact("a", 5, "focus", 4)
    #expect(ended == focus && ended.isMadeByTime && ended.follows(focus))
    // Its age is that of its act, and it takes its act's place.
    let pause = fact("b", 5_006, "focus", 60_000, isPaused: true)
    #expect(TimerFact.candidates([ended, pause]) == [pause])
    let other = fact("b", 6, "focus")
    #expect(TimerFact.candidates([ended, other]) == [other, focus])
    #expect(TimerFact.candidates([focus, other], shown: [ended, other]) == [focus, other])
  }

  @Test func factsAreReadFromFields() throws {
    let fields = """
      {"completedPomodoros":3,"edits":[{"deviceID":"a","timestamp":5,"stateType":"idle",\
      "isPaused":false,"remaining":0,"more":1}]}
      """
    let facts = try #require(TimerFacts(fields: Array(fields.utf8)))
    #expect(facts == TimerFacts(edits: [fact("a", 5, "idle", 0)], completedPomodoros: 3))
    #expect(facts.description == "[idle 0 ms by a at 5], 3 done")
    #expect(TimerFacts(fields: Array("no".utf8)) == nil)
    #expect(TimerFacts(fields: Array("{}".utf8)) == TimerFacts(edits: [], completedPomodoros: 0))
  }
}
