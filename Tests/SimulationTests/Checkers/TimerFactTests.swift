import Simulator
import Testing

/// The model that the simulator holds resolvers against has examples of its own, from rules.md.
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
    #expect(TimerFact.standing([old, fact("b", 5_000, "idle", 0)]).count == 2)
    #expect(TimerFact.standing([old, fact("b", 5_001, "idle", 0)]).map(\.deviceID) == ["b"])
  }

  @Test func theStatesHaveAnOrder() {
    let edits = [
      fact("a", 0, "idle", 0), fact("b", 0, "snooze"), fact("c", 0, "breakTime"), fact("d", 0),
    ]
    #expect(TimerFact.standing(edits).map(\.deviceID) == ["d", "c", "b", "a"])
  }

  @Test func leastTimeLeftComesFirstAsOfTheNewestInstant() {
    let running = fact("a", 0, "focus", 10_000)
    let paused = fact("b", 3_000, "focus", 8_000, isPaused: true)
    #expect(TimerFact.standing([paused, running]).map(\.deviceID) == ["a", "b"])
    let late = fact("c", 1_000, "focus", 8_999)
    #expect(TimerFact.standing([running, late, paused]).map(\.deviceID) == ["c", "a", "b"])
  }

  @Test func thenTheNewestAndThenTheGreaterDevice() {
    let left = fact("a", 0, "focus", 0)
    let right = fact("b", 1_000, "focus", 0)
    #expect(TimerFact.standing([left, right]).map(\.deviceID) == ["b", "a"])
    #expect(TimerFact.standing([fact("a", 0), fact("b", 0)]).map(\.deviceID) == ["b", "a"])
  }

  @Test func factsAreReadFromFields() {
    let fields = """
      {"completedPomodoros":3,"edits":[{"deviceID":"a","timestamp":5,"stateType":"idle",\
      "isPaused":false,"remaining":0,"more":1}]}
      """
    #expect(TimerFact.completedPomodoros(in: Array(fields.utf8)) == 3)
    #expect(TimerFact.list(in: Array(fields.utf8)) == [fact("a", 5, "idle", 0)])
    #expect(TimerFact.list(in: Array("no".utf8)) == [])
  }
}
