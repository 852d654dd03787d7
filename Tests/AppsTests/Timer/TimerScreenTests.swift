import LockstepApps
import LockstepJSON
import LockstepLanguage
import Testing

struct TimerScreenTests {
  private func screen(_ fields: JSONValue?, at instant: Int64) -> TimerScreen {
    TimerScreen(TimerState(fields: fields), at: instant)
  }

  @Test func runningTimerCountsDown() {
    let screen = screen(timer(done: 3, edit("mac", 1_000, "focus", left: 1_500_000)), at: 2_500)
    #expect(
      screen.json == [
        "at": 2_500, "stateType": "focus", "isPaused": false, "remaining": 1_498_500,
        "completedPomodoros": 3, "device": "mac",
      ])
    #expect(screen.line == "focus 24:59, 3 done")
  }

  @Test func jsonIsOneCanonicalLine() {
    #expect(
      screen(nil, at: 7).json.text
        == #"{"at":7,"completedPomodoros":0,"device":"","isPaused":false,"remaining":0,"#
        + #""stateType":"idle"}"#
    )
  }

  @Test func pausedTimerStandsStill() {
    let fields = timer(edit("mac", 1_000, "breakTime", left: 61_000, paused: true))
    #expect(screen(fields, at: 1_000).line == "break 01:01, paused")
    #expect(screen(fields, at: 9_000_000).line == "break 01:01, paused")
    #expect(screen(fields, at: 1_000).stableJSON == screen(fields, at: 9_000_000).stableJSON)
    #expect(screen(fields, at: 1_000).nextLineAt == nil)
  }

  @Test func linesAreForPeople() {
    #expect(screen(nil, at: 0).line == "idle")
    #expect(screen(timer(done: 2, edit("mac", 0, "idle")), at: 0).line == "idle, 2 done")
    #expect(screen(timer(edit("mac", 0, "snooze", left: 1)), at: 0).line == "snooze 00:01")
    #expect(
      screen(timer(edit("mac", 0, "focus", left: 3_661_000)), at: 0).line == "focus 01:01:01")
    #expect(screen(timer(edit("mac", 0, "daydream", left: 9)), at: 0).line == "daydream 00:01")
  }

  @Test func aLineIsInTheLanguageOfThePerson() {
    let fields = timer(done: 3, edit("mac", 0, "breakTime", left: 61_000, paused: true))
    let paused = screen(fields, at: 0)
    let running = screen(timer(edit("mac", 0, "focus", left: 90_000)), at: 0)
    Language.chinese {
      #expect(paused.line == "休息 01:01（已暂停），已完成 3 个番茄钟")
      #expect(running.line == "专注 01:30")
      #expect(screen(nil, at: 0).line == "准备就绪")
    }
    Language.japanese {
      #expect(paused.line == "休憩 01:01（一時停止中）、3ポモドーロ完了")
      #expect(running.line == "集中 01:30")
    }
    #expect(Language.japanese { paused.view.json } == paused.view.json)
  }

  @Test func screensTurnAtZeroBeforeAnyoneHasWrittenIt() {
    let fields = timer(edit("mac", 0, "focus", left: 60_000))
    #expect(screen(fields, at: 59_999).line == "focus 00:01")
    let turned = screen(fields, at: 60_000)
    #expect(turned.line == "break 05:00, 1 done")
    // After the edit is written, the screen shows the same.
    let written = TimerState(fields: fields).afterZero()
    #expect(TimerScreen(TimerState(fields: written?.fields), at: 60_000) == turned)
  }

  @Test func faceChangesOnlyWhenSomethingHappens() {
    let fields = timer(edit("mac", 0, "focus", left: 60_000))
    #expect(screen(fields, at: 1).stableJSON == screen(fields, at: 30_000).stableJSON)
    #expect(screen(fields, at: 1).stableJSON != screen(fields, at: 60_000).stableJSON)
    let paused = timer(edit("mac", 0, "focus", left: 60_000, paused: true))
    #expect(screen(fields, at: 0).stableJSON != screen(paused, at: 0).stableJSON)
    let others = timer(edit("watch", 0, "focus", left: 60_000))
    #expect(screen(fields, at: 0).stableJSON != screen(others, at: 0).stableJSON)
  }

  @Test func nextLineIsWhereTheTextChanges() {
    let fields = timer(edit("mac", 0, "focus", left: 2_500))
    var instant: Int64 = 0
    var shown: [String] = []
    while let next = screen(fields, at: instant).nextLineAt, shown.count < 4 {
      shown.append(screen(fields, at: instant).line)
      #expect(screen(fields, at: next - 1).line == screen(fields, at: instant).line)
      instant = next
    }
    #expect(shown == ["focus 00:03", "focus 00:02", "focus 00:01", "break 05:00, 1 done"])
  }
}
