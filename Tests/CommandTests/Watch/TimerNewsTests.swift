import Lockstep
import LockstepApps
import LockstepHome
import LockstepJSON
import LockstepLanguage
import Testing

@testable import LockstepCommand

struct TimerNewsTests {
  private func board(
    _ type: TimerPhase, left: Int64 = 60_000, edited: Int64, paused: Bool = false, done: Int64 = 0
  ) throws -> TimerContents {
    try #require(
      TimerContents(
        json: [
          "at": .number(JSONNumber(edited)), "stateType": .string(type.rawValue),
          "isPaused": .bool(paused), "remaining": .number(JSONNumber(left)),
          "completedPomodoros": .number(JSONNumber(done)), "device": "2", "deviceName": "phone",
          "editedAt": .number(JSONNumber(edited)), "duration": 300_000, "longBreakEvery": 4,
        ]))
  }

  private func line(_ old: TimerContents, _ new: TimerContents) -> String? {
    TimerNews.line(from: old, to: new)
  }

  @Test func everyEventHasItsWords() throws {
    let idle = try board(.idle, left: 0, edited: 0)
    let focus = try board(.focus, edited: 10)
    #expect(line(idle, focus) == "phone started a focus of 5 min")
    #expect(line(focus, try board(.focus, edited: 20, paused: true)) == "phone paused, 01:00 left")
    #expect(
      line(try board(.focus, edited: 20, paused: true), try board(.focus, edited: 30))
        == "phone goes on, 01:00 left")
    let rest = try board(.breakTime, edited: 60_010, done: 2)
    #expect(line(focus, rest) == "focus done, the 2nd; a break of 5 min follows")
    #expect(
      line(focus, try board(.breakTime, edited: 50)) == "phone went on to a break of 5 min")
    let snooze = try board(.snooze, edited: 70_000)
    #expect(line(rest, snooze) == "phone put the break off for 5 min")
    #expect(
      line(snooze, try board(.breakTime, edited: 130_000))
        == "the break that was put off begins")
    #expect(line(rest, try board(.idle, left: 0, edited: 120_010)) == "the break is over")
    #expect(line(rest, try board(.idle, left: 0, edited: 70_000)) == "phone ended the break")
    #expect(line(focus, try board(.idle, left: 0, edited: 20)) == "phone stopped the timer")
  }

  @Test func timeThatPassesIsNoNews() throws {
    let focus = try board(.focus, edited: 10)
    #expect(line(focus, focus) == nil)
    #expect(line(try board(.idle, left: 0, edited: 0), try board(.idle, left: 0, edited: 9)) == nil)
  }

  private func status(
    _ state: String, _ transport: String?, conflicts: Int64 = 0, reason: String = "why"
  ) -> HomeStatus {
    let json: JSONValue = ["state": .string(state), "reason": .string(reason)]
    return HomeStatus(
      json: json.setting("transport", to: transport.map { .string($0) })
        .setting("conflicts", to: .number(JSONNumber(conflicts))))
  }

  @Test func connectionsComeAndGo() {
    let (up, down) = (status("inSync", "websocket"), status("offline", nil))
    #expect(TimerNews.line(from: nil, to: down) == nil)
    #expect(TimerNews.line(from: up, to: down) == "offline: why")
    #expect(TimerNews.line(from: down, to: down) == nil)
    #expect(TimerNews.line(from: down, to: up) == "connected by websocket")
    #expect(
      TimerNews.line(from: up, to: status("inSync", "websocket", conflicts: 1))
        == "a conflict was settled")
    #expect(
      TimerNews.line(from: up, to: status("syncing", "websocket", conflicts: 3))
        == "3 conflicts were settled")
  }

  /// The process that holds the home gives reasons in English.
  @Test func aReasonIsInTheLanguageOfThePerson() {
    let down = status(
      "offline", nil, reason: "the relay closed the socket (1001): Connection refused")
    Language.japanese {
      #expect(
        TimerNews.line(from: status("inSync", "websocket"), to: down)
          == "オフライン：リレーがソケットを閉じました（1001）：接続が拒否されました")
    }
  }

  @Test func lengthsAreAsShortAsTheyCanBeSaid() {
    #expect(TimerNews.minutes(1_500_000) == "25 min")
    #expect(TimerNews.minutes(90_000) == "90 s")
    #expect(TimerNews.minutes(150_000) == "02:30")
  }
}
