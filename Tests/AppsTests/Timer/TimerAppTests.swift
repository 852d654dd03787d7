import LockstepApps
import LockstepJSON
import LockstepModel
import Testing

struct TimerAppTests {
  private let app = TimerApp()
  private let device = DeviceID(rawValue: 0xAB)

  private func record(_ fields: [UInt8]?, key: RecordKey = TimerApp.stateKey, type: Name) -> Record
  {
    Record(
      zone: key.zone, name: key.name, type: type, fields: fields, modifiedAt: 1, device: device,
      tag: 1)
  }

  private func current(_ fields: JSONValue) -> Record {
    record(fields.serialized(), type: TimerApp.stateType)
  }

  @Test func countdownIsDueWhenItReachesZero() {
    let record = current(timer(edit("mac", 1_000, "focus", left: 60_000)))
    let due = app.dueEdit(for: record)
    #expect(due?.dueAt == 61_000)
    #expect(due?.owner == "mac")
    #expect(due?.graceMilliseconds == 2_000)
    let rest = edit("mac", 61_000, "breakTime", left: 300_000).setting("duration", to: 300_000)
      .setting("act", to: act(1_000, "focus", left: 60_000))
    #expect(due?.fields == timer(done: 1, rest))
    let name = Name(trusted: "focuses-1970-01-01")
    let member = JSONMember("61000-mac", 60_000)
    #expect(
      due?.addition
        == DueAddition(name: name, type: FocusDay.type, field: "focuses", member: member))
  }

  @Test func onlyTheEndOfAFocusOfAKnownLengthAddsToItsDay() {
    let longDevice = String(repeating: "m", count: 65)
    let others = [
      edit("mac", 1_000, "breakTime", left: 60_000), edit("mac", 1_000, "snooze", left: 60_000),
      edit("mac", 1_000, "focus", left: 0), edit(longDevice, 1_000, "focus", left: 60_000),
    ]
    for other in others {
      let due = app.dueEdit(for: current(timer(other)))
      #expect(due != nil && due?.addition == nil)
    }
    // A focus that was paused counts with its whole length.
    let resumed = edit("mac", 1_000, "focus", left: 1_000).setting("duration", to: 1_500_000)
    #expect(app.dueEdit(for: current(timer(resumed)))?.addition?.member.value == 1_500_000)
  }

  @Test func nothingElseIsDue() {
    let running = timer(edit("mac", 1_000, "focus", left: 60_000))
    #expect(app.timedTypes == [TimerApp.stateType])
    #expect(app.dueEdit(for: current(timer(edit("mac", 1, "idle")))) == nil)
    #expect(app.dueEdit(for: record(nil, type: TimerApp.stateType)) == nil)
    #expect(app.dueEdit(for: record([0x7B], type: TimerApp.stateType)) == nil)
    #expect(app.dueEdit(for: record(running.serialized(), type: TimerApp.settingsType)) == nil)
    let elsewhere = RecordKey(zone: TimerApp.zone, name: Name(trusted: "other"))
    #expect(
      app.dueEdit(
        for: record(running.serialized(), key: elsewhere, type: TimerApp.stateType)) == nil)
  }

  @Test func editsFollowOneAnotherThroughARecord() throws {
    let settings = record(
      try json(#"{"focusMinutes": 1, "shortBreakMinutes": 2, "autoStart": false}"#).serialized(),
      key: TimerApp.settingsKey, type: TimerApp.settingsType)
    let started = try TimerApp.edit(
      .start(length: nil), current: nil, settings: settings, stamp: 5_000, device: device)
    let shown = TimerApp.state(of: current(started)).shown
    #expect(shown?.deviceID == "00000000000000ab" && shown?.timestamp == 5_000)
    #expect(shown?.remaining == 60_000)
    // The edit contains the break's length and `autoStart`: no settings are needed at zero.
    let due = try #require(app.dueEdit(for: current(started)))
    #expect(due.dueAt == 65_000)
    let rest = TimerState(fields: due.fields).shown
    #expect(rest?.remaining == 120_000 && rest?.isPaused == true)
    let stopped = try TimerApp.edit(
      .stop, current: current(due.fields), settings: nil, stamp: 66_000, device: device)
    #expect(stopped == timer(done: 1, edit("00000000000000ab", 66_000, "idle")))
  }

  @Test func wrongClockIsCorrectedInWhatTheChangeBrought() {
    let base = timer(edit("mac", 1_000, "focus", left: 60_000))
    func restamped(_ fields: JSONValue, base: JSONValue?) -> JSONValue {
      app.restamped(fields, of: TimerApp.stateType, base: base, from: 90_000, to: 70_000)
    }
    let mine = timer(done: 2, edit("phone", 90_000, "focus", left: 5, paused: true))
    let moved = timer(done: 2, edit("phone", 70_000, "focus", left: 5, paused: true))
    #expect(restamped(mine, base: base) == moved)
    #expect(restamped(mine, base: nil) == moved)
    // Edits of the base, and those that time made from them, keep their timestamps.
    #expect(restamped(base, base: base) == base)
    var later = TimerState(fields: base)
    for _ in 0..<2 {
      later = later.afterZero() ?? later
      #expect(restamped(later.fields, base: base) == later.fields)
      // The form that an earlier version of the app wrote.
      let plain = TimerState(fields: later.fields).edits.map { $0.object.setting("act", to: nil) }
      let old = later.fields.setting("edits", to: .array(plain))
      #expect(restamped(old, base: base) == old)
    }
    // An edit that time made from this change's own edit moves with it, and so does its act.
    let run = edit("phone", 90_000, "idle").setting("act", to: act(89_000, "focus", left: 1_000))
    let ran = edit("phone", 70_000, "idle").setting("act", to: act(69_000, "focus", left: 1_000))
    #expect(restamped(timer(run), base: base) == timer(ran))
    #expect(
      app.restamped(mine, of: TimerApp.settingsType, base: nil, from: 90_000, to: 70_000) == mine)
  }

  @Test func refusalsExplainThemselves() {
    #expect(throws: TimerRefusal.nothingIsRunning) {
      try TimerApp.edit(.pause, current: nil, settings: nil, stamp: 1, device: device)
    }
    for refusal: TimerRefusal in [
      .nothingIsRunning, .alreadyRunning, .alreadyPaused, .notPaused, .noBreakToSnooze, .badLength,
      .unknownState("daydream"),
    ] {
      #expect(refusal.explanation.count > 15)
    }
  }

  @Test func sameRecordGivesTheSameBytesOnEveryDevice() throws {
    let mixed = try json(
      #"{"edits":[{"timestamp":1e3,"deviceID":"mac","remaining":60000.0,"stateType":"focus"}]}"#)
    let written = mixed.serialized()
    let spelt = Array(
      #"{"edits": [{"remaining": 6e4, "stateType":"focus","timestamp":1000,"deviceID":"mac"}]}"#
        .utf8)
    let one = app.dueEdit(for: record(written, type: TimerApp.stateType))
    let two = app.dueEdit(for: record(spelt, type: TimerApp.stateType))
    #expect(one?.fields.serialized() == two?.fields.serialized())
    #expect(one != nil)
  }
}
