import LockstepApps
import LockstepModel
import Testing

struct TimerContentsTests {
  private let phone = DeviceID(rawValue: 2)

  private func board(
    _ event: TimerEvent, at stamp: Int64, shown now: Int64, every: Int64? = nil
  ) throws -> TimerContents {
    var machine = TimerMachine(
      state: TimerState(fields: nil), settings: TimerSettings(), deviceID: phone.text)
    try machine.handle(event, at: stamp)
    var settings = TimerSettings()
    if let every { settings.longBreakEvery = every }
    return TimerContents(
      machine.state, settings: settings,
      of: AppState(now: now, device: DeviceID(rawValue: 1), deviceNames: [phone: "phone"]))
  }

  @Test func itSaysWhoseEditItIsAndHowLongThePhaseIs() throws {
    let board = try board(.start(length: 60_000), at: 1_000, shown: 11_000)
    #expect(board.deviceName == "phone" && board.editedAt == 1_000)
    #expect(board.duration == 60_000 && board.longBreakEvery == 4)
    #expect(board.remaining(at: 21_000) == 40_000)
    #expect(board.remaining(at: 99_000) == 0)
  }

  @Test func itReadsWhatItWrote() throws {
    let board = try board(.start(length: 60_000), at: 1_000, shown: 11_000)
    #expect(TimerContents(json: board.json) == board)
    #expect(TimerContents(json: board.screen.json) == nil)
    #expect(TimerContents(json: ["lines": []]) == nil)
    let idle = TimerContents(
      TimerState(fields: nil), settings: TimerSettings(), of: AppState(now: 0, device: phone))
    #expect(TimerContents(json: idle.json) == idle)
    #expect(idle.editedAt == nil && idle.deviceName.isEmpty)
  }

  /// The plan of a running focus is fixed when it begins; otherwise the settings apply.
  @Test func theLongBreakIsTheOneThatWillCome() throws {
    #expect(try board(.start(length: 60_000), at: 0, shown: 1, every: 2).longBreakEvery == 4)
    #expect(try board(.start(length: 60_000), at: 0, shown: 60_001, every: 2).longBreakEvery == 2)
  }

  @Test func onlyWhatPeopleDoGivesItAnotherFace() throws {
    let first = try board(.start(length: 60_000), at: 0, shown: 1).view
    let later = try board(.start(length: 60_000), at: 0, shown: 5_500).view
    #expect(first.stableJSON == later.stableJSON && first.json != later.json)
    #expect(later.changesAt == 6_000)
    let ended = try board(.start(length: 60_000), at: 0, shown: 60_001).view
    #expect(ended.stableJSON != first.stableJSON)
  }
}
