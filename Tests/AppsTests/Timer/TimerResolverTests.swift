import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct TimerResolverTests {
  private let base = version(timer(done: 1, edit("mac", 0, "idle")), at: 0)

  private func resolve(_ one: JSONValue, _ other: JSONValue, base: Version?) -> JSONValue? {
    resolved(
      TimerResolver(), base: base, version(one, at: 1, by: "a"), version(other, at: 2, by: "b"))
  }

  @Test func concurrentEditsStandByPriority() {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    let rest = edit("b", 3_000, "breakTime", left: 60_000)
    let snooze = edit("b", 3_000, "snooze", left: 60_000)
    let idle = edit("b", 3_000, "idle")
    #expect(resolve(timer(focus), timer(rest), base: base) == timer(focus, rest))
    #expect(resolve(timer(idle), timer(focus), base: base) == timer(focus, idle))
    #expect(resolve(timer(idle), timer(snooze), base: base) == timer(snooze, idle))
    #expect(resolve(timer(snooze), timer(rest), base: base) == timer(rest, snooze))
    #expect(
      resolve(timer(edit("a", 1_000, "daydream", left: 1)), timer(idle), base: base)
        == timer(idle, edit("a", 1_000, "daydream", left: 1)))
  }

  @Test func leastTimeLeftIsTakenAsOfTheNewest() {
    // At 3,000 the running one has 58 s left, the paused one still 59 s.
    let running = edit("a", 1_000, "focus", left: 60_000)
    let paused = edit("b", 3_000, "focus", left: 59_000, paused: true)
    #expect(resolve(timer(running), timer(paused), base: base) == timer(running, paused))
    // A countdown does not go below 0, so the newer one comes first.
    let over = edit("a", 1_000, "focus", left: 500)
    let end = edit("b", 3_000, "focus", left: 0)
    #expect(resolve(timer(over), timer(end), base: base) == timer(end, over))
  }

  @Test func tiesGoToTheNewerThenToTheGreaterDevice() {
    let early = edit("a", 1_000, "focus", left: 62_000)
    let late = edit("b", 3_000, "focus", left: 60_000)
    #expect(resolve(timer(early), timer(late), base: base) == timer(late, early))
    let capital = edit("Mac", 3_000, "idle")
    let chinese = edit("电脑", 3_000, "idle")
    #expect(resolve(timer(capital), timer(chinese), base: base) == timer(chinese, capital))
  }

  @Test func beyondFiveSecondsTheNewerWins() {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    let inside = edit("b", 6_000, "idle")
    let beyond = edit("b", 6_001, "idle")
    #expect(resolve(timer(focus), timer(inside), base: base) == timer(focus, inside))
    #expect(resolve(timer(focus), timer(beyond), base: base) == timer(beyond))
  }

  @Test func anActThatWasReplacedDoesNotComeBackEvenIfNoBaseIsKnown() {
    func replacing(_ edit: JSONValue, _ names: JSONValue...) -> JSONValue {
      edit.setting("replaces", to: .array(names))
    }
    let focus = edit("phone", 1_000, "focus", left: 60_000)
    let name: JSONValue = ["deviceID": "phone", "timestamp": 1_000]
    let stop = replacing(edit("mac", 1_500, "idle"), name)
    #expect(resolve(timer(focus), timer(stop), base: nil) == timer(stop))
    // An end of the focus that another device noticed is the same act.
    let ended = edit("phone", 2_000, "breakTime", left: 5_000)
      .setting("act", to: act(1_000, "focus", left: 60_000))
    #expect(resolve(timer(ended), timer(stop), base: nil) == timer(stop))
    // No act replaces a later one, whatever a program writes.
    let odd = replacing(focus, ["deviceID": "mac", "timestamp": 1_500])
    #expect(resolve(timer(odd), timer(stop), base: nil) == timer(stop))
    let stranger = replacing(stop, 7, ["deviceID": "phone"], ["timestamp": 1_000])
    #expect(resolve(timer(focus), timer(stranger), base: nil) == timer(focus, stranger))
  }

  @Test func overwrittenEditsDoNotComeBack() {
    let first = edit("a", 1_000, "focus", left: 60_000)
    let second = edit("b", 1_500, "breakTime", left: 60_000)
    let third = edit("c", 2_000, "idle")
    // One side saw `first` and replaced it; the other side saw it and got `second` as another
    // candidate.
    #expect(
      resolve(timer(third), timer(first, second), base: version(timer(first)))
        == timer(second, third))
  }

  @Test func ifNoneWouldBeLeftAllStay() {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    let rest = edit("b", 1_500, "breakTime", left: 60_000)
    #expect(
      resolve(timer(focus), timer(rest), base: version(timer(rest, focus))) == timer(focus, rest))
  }

  @Test func countNeverGoesBack() {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    #expect(
      resolve(timer(done: 7, focus), timer(done: 2, focus), base: nil) == timer(done: 7, focus))
  }

  @Test func sameEditOfTwoDevicesStandsOnce() {
    let rest = edit("mac", 60_000, "breakTime", left: 300_000)
    #expect(
      resolve(timer(done: 2, rest), timer(done: 2, rest), base: base) == timer(done: 2, rest))
  }

  @Test func whatTimeMadeAwayGivesWayToWhatAPersonDid() throws {
    // Two devices know a focus. On one the focus and its break run out; on the other a person
    // started the next focus long before that break ended.
    let first = timer(edit("mac", 0, "focus", left: 60_000))
    var away = TimerState(fields: first)
    away.advance(to: 900_000)
    #expect(away.shown?.stateType == "idle" && away.shown?.timestamp == 360_000)
    let begun = timer(done: 1, edit("phone", 70_000, "focus", left: 1_500_000))
    #expect(resolve(away.fields, begun, base: version(first)) == begun)
    let stopped = timer(done: 1, edit("phone", 61_000, "idle"))
    #expect(resolve(away.fields, stopped, base: version(first)) == stopped)
  }

  @Test func whatIsFurtherAlongStands() throws {
    let focus = timer(edit("mac", 0, "focus", left: 60_000))
    let rest = try #require(TimerState(fields: focus).afterZero())
    let idle = try #require(rest.afterZero())
    #expect(resolve(rest.fields, idle.fields, base: version(focus)) == idle.fields)
    #expect(resolve(idle.fields, rest.fields, base: nil) == idle.fields)
    // An edit of a program that does not know acts is not kept next to the edits that it replaced.
    let plain = rest.fields.setting(
      "edits", to: .array(rest.edits.map { $0.object.setting("act", to: nil) }))
    #expect(resolve(rest.fields, plain, base: version(focus)) == plain)
    #expect(resolve(idle.fields, plain, base: version(focus)) == plain)
  }

  @Test func ageIsTheActs() {
    // The break is a second old, but its act a minute: the pause is the newer act.
    let rest = edit("mac", 60_000, "breakTime", left: 300_000)
      .setting("act", to: act(0, "focus", left: 60_000))
    let pause = edit("phone", 5_000, "focus", left: 55_000, paused: true)
    #expect(resolve(timer(rest), timer(pause), base: base) == timer(pause, rest))
    let later = edit("phone", 5_001, "focus", left: 54_999, paused: true)
    #expect(resolve(timer(rest), timer(later), base: base) == timer(later))
  }

  @Test func unknownFieldsTravelWithTheNewer() {
    let focus = edit("a", 1_000, "focus", left: 60_000).setting("sessionID", to: "x")
    let idle = edit("b", 2_000, "idle")
    let older = timer(focus).setting("theme", to: "dark")
    let newer = timer(idle).setting("theme", to: "light")
    #expect(resolve(older, newer, base: base) == timer(focus, idle).setting("theme", to: "light"))
    // The same edit with other details: the one with the greater text wins.
    let other = focus.setting("sessionID", to: "y")
    #expect(resolve(timer(focus), timer(other), base: base) == timer(other))
  }

  @Test func liveVersionStandsAsItIs() {
    let stale = timer(edit("a", 1, "idle"), edit("b", 90_000, "focus", left: 5))
    #expect(
      resolved(TimerResolver(), base: base, version(stale, at: 1), version(nil, at: 9)) == stale)
    #expect(resolved(TimerResolver(), base: base, version(nil, at: 1), version(nil, at: 9)) == nil)
  }

  @Test func deletedBaseCountsAsNone() {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    #expect(resolve(timer(focus), timer(), base: version(nil)) == timer(focus))
  }

  @Test func poorVersionsEndSensibly() throws {
    let focus = edit("a", 1_000, "focus", left: 60_000)
    for text in ["{}", "[]", #"{"edits": null}"#, #"{"edits": ["x"], "completedPomodoros": "3"}"#] {
      #expect(resolve(try json(text), timer(done: 2, focus), base: nil) == timer(done: 2, focus))
    }
    #expect(resolve([:], [:], base: nil) == timer())
    let odd = try json(#"{"stateType": 5, "timestamp": 1e999, "remaining": "x", "isPaused": 1}"#)
    #expect(resolve(timer(odd), timer(focus), base: nil) == timer(odd))
    let half = try json(#"{"completedPomodoros": 2.5, "edits": []}"#)
    #expect(resolve(half, timer(done: 1), base: nil) == timer(done: 2))
  }

  @Test func manyEditsAreResolved() {
    let crowd = JSONValue.array(
      (0..<2_000).map { edit("d\($0)", Int64($0 % 7_000), "focus", left: 60_000) })
    let one = timer().setting("edits", to: crowd)
    #expect(resolve(one, timer(), base: nil)?["edits"]?.array?.count == 2_000)
  }
}

struct SettingsResolverTests {
  @Test func fieldsMergeByAge() throws {
    let base = version(try json(#"{"focusMinutes": 25, "longBreakEvery": 4}"#))
    let one = version(try json(#"{"focusMinutes": 50, "longBreakEvery": 4}"#), at: 1, by: "b")
    let other = version(try json(#"{"focusMinutes": 30, "autoStart": false}"#), at: 1, by: "a")
    #expect(
      resolved(RuleResolver(MergeRules()), base: base, one, other)
        == (try json(#"{"focusMinutes": 50, "autoStart": false}"#)))
  }

  @Test func changeOutlivesADelete() throws {
    let live = version(try json(#"{"focusMinutes": 25}"#), at: 1)
    #expect(
      resolved(RuleResolver(MergeRules()), base: live, live, version(nil, at: 9)) == live.fields)
  }
}
