import LockstepApps
import LockstepModel
import Testing

struct TimerModelTests {
  @Test func fieldsGoThroughUnchanged() throws {
    let text = #"""
      {"completedPomodoros":3,"edits":[{"deviceID":"mac","isPaused":true,"mood":["calm"],
      "remaining":5,"sessionID":"x","stateType":"focus","timestamp":7}],"theme":{"dark":true}}
      """#
    let fields = try json(text)
    #expect(TimerState(fields: fields).fields == fields)
  }

  @Test func whatIsMissingReadsAsNeverStarted() throws {
    for text in ["{}", #"{"edits": 7}"#, #"{"edits": [1, "x", null, []]}"#, "[]", "null"] {
      let state = TimerState(fields: try json(text))
      #expect(state.edits.isEmpty && state.completedPomodoros == 0, "\(text)")
    }
    #expect(TimerState(fields: nil).fields == timer())
  }

  @Test func editOfAnotherProgramIsReadAsFarAsItGoes() throws {
    let poor = try #require(TimerEdit(object: json(#"{"isPaused": "no", "remaining": -5}"#)))
    #expect(poor.deviceID == "" && poor.timestamp == 0 && poor.remaining == 0)
    #expect(!poor.isPaused && poor.phase == nil && poor.zeroAt == nil)
  }

  @Test func runningEditCountsDownToZero() throws {
    let running = try #require(TimerEdit(object: edit("mac", 1_000, "focus", left: 500)))
    #expect(running.remaining(at: 1_000) == 500)
    #expect(running.remaining(at: 1_499) == 1)
    #expect(running.remaining(at: 9_999) == 0)
    // A clock that is behind does not increase the time left.
    #expect(running.remaining(at: 0) == 500)
    #expect(running.zeroAt == 1_500)
  }

  @Test func pausedAndIdleEditsStandStill() throws {
    let paused = try #require(
      TimerEdit(object: edit("mac", 1_000, "focus", left: 500, paused: true)))
    #expect(paused.remaining(at: 9_999) == 500)
    #expect(paused.zeroAt == nil)
    let idle = try #require(TimerEdit(object: edit("mac", 1_000, "idle", left: 500)))
    #expect(idle.remaining(at: 1_000) == 0)
    #expect(idle.zeroAt == nil)
  }

  @Test func instantsNoClockShowsAreNeverReached() throws {
    for timestamp in ["1e300", "-1e300", "-5000", "9007199254740993"] {
      let object = try json(
        #"{"stateType": "focus", "remaining": 1, "timestamp": \#(timestamp)}"#)
      #expect(try #require(TimerEdit(object: object)).zeroAt == nil, "\(timestamp)")
    }
  }

  @Test func continuedEditKeepsWhatItDoesNotKnow() throws {
    let object = edit("mac", 1_000, "focus", left: 500).setting("sessionID", to: "x")
    let running = try #require(TimerEdit(object: object))
    let paused = running.continued(
      isPaused: true, remaining: 300, timestamp: 1_200, deviceID: "watch")
    #expect(
      paused.object
        == edit("watch", 1_200, "focus", left: 300, paused: true).setting("sessionID", to: "x"))
    #expect(TimerEdit(object: paused.object) == paused)
  }

  @Test func newPhaseSaysItsLength() throws {
    let plan = TimerPlan(TimerSettings())
    let focus = TimerEdit(
      beginning: .focus, length: 60_000, plan: plan, timestamp: 5, deviceID: "mac")
    #expect(focus.duration == 60_000)
    #expect(TimerEdit(object: focus.object) == focus)
    let idle = TimerEdit(beginning: .idle, length: 0, plan: nil, timestamp: 5, deviceID: "mac")
    #expect(idle.object == edit("mac", 5, "idle"))
  }

  @Test func identityIsFiveMembersAsJSON() throws {
    let plain = try #require(TimerEdit(object: edit("mac", 1, "focus", left: 2)))
    let richer = try #require(
      TimerEdit(
        object: json(
          #"""
          {"deviceID":"mac","timestamp":1.0,"stateType":"focus","isPaused":false,
          "remaining":2,"x":1}
          """#
        )))
    #expect(plain.identity == richer.identity)
    for other in [
      edit("Mac", 1, "focus", left: 2), edit("mac", 2, "focus", left: 2),
      edit("mac", 1, "snooze", left: 2), edit("mac", 1, "focus", left: 3),
      edit("mac", 1, "focus", left: 2, paused: true), [:],
    ] {
      #expect(TimerEdit(object: other)?.identity != plain.identity)
    }
  }
}
