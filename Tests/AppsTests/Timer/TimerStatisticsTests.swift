import LockstepApps
import LockstepJSON
import Testing

struct TimerStatisticsTests {
  private func statistics(_ fields: JSONValue?, at instant: Int64) -> TimerStatistics {
    TimerStatistics(
      TimerState(fields: fields), settings: TimerSettings(fields: nil), at: instant)
  }

  @Test func aTimerThatWasNeverStartedHasDoneNothing() {
    let figures = statistics(nil, at: 0)
    #expect(figures.completedPomodoros == 0 && figures.inCycle == 0)
    #expect(figures.lastFocusEndedAt == nil)
  }

  @Test func aFocusThatRanOutCountsBeforeAnyDeviceHasWrittenIt() {
    let running = timer(done: 5, edit("mac", 1_000, "focus", left: 60_000))
    let before = statistics(running, at: 60_999)
    #expect(before.completedPomodoros == 5 && before.lastFocusEndedAt == nil)
    let after = statistics(running, at: 61_000)
    #expect(after.completedPomodoros == 6 && after.inCycle == 2)
    #expect(after.lastFocusEndedAt == 61_000)
    // Also after the break.
    #expect(statistics(running, at: 10_000_000).lastFocusEndedAt == 61_000)
  }

  @Test func whatAPersonDidSinceHidesTheLastFocus() {
    for (phase, left) in [("idle", 0), ("breakTime", 60_000)] as [(String, Int64)] {
      let figures = statistics(timer(done: 3, edit("mac", 1_000, phase, left: left)), at: 90_000)
      #expect(figures.completedPomodoros == 3 && figures.lastFocusEndedAt == nil)
    }
  }

  @Test func theAppSaysThatItKeepsNoHistory() throws {
    let table = AppTable(TimerApp())
    let view = try table.view(["show": "stats"])
    #expect(
      view.lines == [
        "0 pomodoros done in all, on all devices together", "0 of 4 until the long break",
        "The timer keeps no history: there are no figures by day or week.",
      ])
    #expect(view.json["hasHistory"] == false && view.json["lastFocusEndedAt"] == .null)
  }
}
