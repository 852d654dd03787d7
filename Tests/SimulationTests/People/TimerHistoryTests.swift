import LockstepJSON
import Testing

@testable import LockstepSimulation

struct TimerHistoryTests {
  private func fact(
    _ deviceID: String, _ timestamp: Int64, _ stateType: String = "focus",
    _ remaining: Int64 = 60_000
  ) -> TimerFact {
    TimerFact(
      deviceID: deviceID, timestamp: timestamp, stateType: stateType, remaining: remaining,
      isPaused: false)
  }

  private func fields(_ facts: [TimerFact], done: Int64 = 0) -> [UInt8] {
    let edits = facts.map { fact in
      JSONValue.object(
        [
          JSONMember("deviceID", .string(fact.deviceID)),
          JSONMember("act", members(fact.act)),
        ]
          + (members(fact.edit).members ?? []))
    }
    return JSONValue.object([
      JSONMember("edits", .array(edits)),
      JSONMember("completedPomodoros", .number(JSONNumber(done))),
    ]).serialized()
  }

  private func members(_ edit: TimerFact.Edit) -> JSONValue {
    [
      "timestamp": .number(JSONNumber(edit.timestamp)), "stateType": .string(edit.stateType),
      "remaining": .number(JSONNumber(edit.remaining)), "isPaused": .bool(edit.isPaused),
    ]
  }

  /// Returns the edit that time made from an act.
  private func ended(_ fact: TimerFact, _ timestamp: Int64, _ stateType: String) -> TimerFact {
    TimerFact(
      deviceID: fact.deviceID, act: fact.act,
      edit: TimerFact.Edit(
        timestamp: timestamp, stateType: stateType, remaining: 0, isPaused: false))
  }

  @Test func anEditReplacesWhatItsDeviceHadSeen() {
    var history = TimerHistory()
    let (first, second) = (fact("a", 1_000), fact("b", 2_000, "idle", 0))
    history.recordEdit(from: nil, to: fields([first]))
    #expect(history.expectedEdits() == [first])
    history.recordEdit(from: fields([first]), to: fields([second]))
    #expect(history.expectedEdits() == [second])
  }

  @Test func concurrentEditsBothStandTheShownOneFirst() {
    var history = TimerHistory()
    let (idle, focus) = (fact("b", 2_000, "idle", 0), fact("a", 1_000))
    history.recordEdit(from: nil, to: fields([idle]))
    history.recordEdit(from: nil, to: fields([focus]))
    #expect(history.expectedEdits() == [focus, idle])
  }

  @Test func pomodorosNeverGoBack() {
    var history = TimerHistory()
    history.recordEdit(from: nil, to: fields([fact("a", 1)], done: 3))
    history.recordEdit(from: nil, to: fields([fact("b", 2)], done: 1))
    #expect(history.completedPomodoros == 3)
  }

  @Test func whatTimeMadeElsewhereReplacesNothingThatAPersonDid() {
    var history = TimerHistory()
    let (first, second) = (fact("a", 1_000), fact("b", 70_000))
    history.recordEdit(from: nil, to: fields([first]))
    let idle = ended(first, 361_000, "idle")
    history.recordExpiry(from: fields([first]), to: fields([idle]))
    #expect(history.expectedEdits(showing: [idle]) == [first])
    history.recordEdit(from: fields([first]), to: fields([second]))
    #expect(history.expectedEdits(showing: [idle]) == [second])
  }

  @Test func whatStoodBesideACountdownThatEndedMayBeLetGo() {
    var history = TimerHistory()
    let (shown, beside) = (fact("a", 1_000, "focus", 10_000), fact("b", 2_000, "idle", 0))
    history.recordEdit(from: nil, to: fields([shown]))
    history.recordEdit(from: nil, to: fields([beside]))
    let rest = ended(shown, 11_000, "breakTime")
    #expect(history.expectedEdits(showing: [rest]) == [shown, beside])
    history.recordExpiry(from: fields([shown, beside]), to: fields([rest]))
    #expect(history.expectedEdits(showing: [rest]) == [shown])
    #expect(history.expectedEdits(showing: [rest, beside]) == [shown, beside])
  }

  @Test func aStampThatWasCorrectedIsTheSameEdit() {
    var history = TimerHistory()
    let (made, corrected) = (fact("a", 1_000), fact("a", 1_006))
    history.recordEdit(from: nil, to: fields([made]))
    history.recordCorrection(from: fields([made]), to: fields([corrected]))
    #expect(history.expectedEdits() == [corrected])
    let next = fact("a", 2_000, "idle", 0)
    history.recordEdit(from: fields([corrected]), to: fields([next]))
    #expect(history.expectedEdits() == [next])
  }

  @Test func whatAnotherDeviceMadeIsNoCorrection() {
    var history = TimerHistory()
    let (own, other) = (fact("a", 1_000), fact("b", 1_006))
    history.recordEdit(from: nil, to: fields([own]))
    history.recordEdit(from: nil, to: fields([other]))
    history.recordCorrection(from: fields([own]), to: fields([other, own]))
    #expect(history.expectedEdits().count == 2)
  }

  @Test func whatCannotBeReadTellsNothing() {
    var history = TimerHistory()
    history.recordEdit(from: nil, to: nil)
    history.recordEdit(from: nil, to: Array("no".utf8))
    #expect(history.expectedEdits().isEmpty)
  }
}
