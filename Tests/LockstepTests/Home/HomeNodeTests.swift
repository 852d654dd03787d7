import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepHome
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Stages
import Testing

@testable import Lockstep

struct HomeNodeTests {
  @Test func whatIsAskedBeforeTheHomeIsReadIsAnsweredAfter() throws {
    var stage = try HomeStage(isReading: false)
    stage.connect(1)
    stage.ask(1, .screen)
    #expect(stage.lines(1).isEmpty)
    stage.isReading = true
    stage.settle()
    #expect(try stage.answer(1).row == "idle")
  }

  @Test func aPressIsAnsweredWithTheScreenOnceItIsDurable() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .timer(.start(length: 60_000)))
    let answer = try stage.answer(1)
    #expect(answer.row == "focus 01:00")
    #expect(answer["view"]?["stateType"]?.string == "focus")
    #expect(try stage.outboxCount() == 1)
  }

  @Test func aPressThatMakesNoSenseIsRefusedInASentence() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .timer(.pause))
    let reply = try #require(stage.lines(1).first.flatMap(HomeReply.init))
    guard case .failure(let reason) = reply else {
      Issue.record("it said \(reply)")
      return
    }
    #expect(!reason.isEmpty)
    #expect(try stage.outboxCount() == 0)
  }

  /// A command needs one request: it is told the result once that is durable, and the sync status
  /// after a wait for the relay.
  @Test func anOrderWithTermsIsFollowedByTheStatus() throws {
    var stage = try HomeStage()
    stage.isSilent = true
    stage.connect(1)
    let start = TimerAction.event(.start(length: 60_000)).json
    let terms = OrderTerms(before: 2_000, after: 2_000, asksFirst: true)
    stage.ask(1, .order(app: "timer", start, terms))
    #expect(try stage.outboxCount() == 0, "it waits for the newest state")
    stage.pass(milliseconds: 2_000)
    // The relay is not in reach: no further wait.
    let lines = stage.lines(1)
    #expect(lines.map { $0["answer"]?.row } == ["focus 01:00", nil])
    #expect(lines.first?["answer"]?["statusFollows"]?.bool == true)
    #expect(lines.last?["answer"]?["state"]?.string == "syncing")
    #expect(try stage.outboxCount() > 0)
    let pause = TimerAction.event(.pause).json
    stage.ask(1, .order(app: "timer", pause, OrderTerms(before: 0, after: 500, asksFirst: false)))
    #expect(try stage.answer(1)["view"] != nil)
    stage.pass(milliseconds: 499)
    #expect(stage.lines(1).isEmpty, "it waits until the order is synced")
    stage.pass(milliseconds: 1)
    #expect(try stage.answer(1)["state"]?.string == "syncing")
    stage.ask(1, .order(app: "timer", pause, terms))
    stage.pass(milliseconds: 2_000)
    let refused = try #require(stage.lines(1).first.flatMap(HomeReply.init))
    guard case .failure = refused else {
      Issue.record("a pause of a paused timer was accepted")
      return
    }
  }

  /// The process ends while an order waits for the sync: its command gets the status. An order that
  /// was not performed gets no answer.
  @Test func anOrderThatWasPerformedIsFollowedByTheStatusBeforeTheEnd() throws {
    var stage = try HomeStage()
    stage.isSilent = true
    stage.connect(1)
    stage.connect(2)
    let start = TimerAction.event(.start(length: 60_000)).json
    stage.ask(1, .order(app: "timer", start, OrderTerms(before: 0, after: 500, asksFirst: false)))
    stage.ask(2, .order(app: "timer", start, OrderTerms(before: 500, after: 0, asksFirst: false)))
    #expect(try stage.answer(1).row == "focus 01:00")
    stage.stop()
    #expect(try stage.answer(1)["state"]?.string == "syncing")
    #expect(stage.lines(2).allSatisfy { $0["answer"] == nil })
  }

  @Test func watchersSeeWhatOthersPressAndNothingTwice() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.connect(2)
    stage.ask(1, .watchTimer(isTicking: false))
    let begun = stage.lines(1)
    #expect(begun.compactMap(\.row) == ["idle"])
    #expect(begun.contains { $0["status"]?["state"]?.string == "offline" })
    stage.ask(2, .timer(.start(length: 60_000)))
    #expect(stage.lines(1).compactMap { $0.row } == ["focus 01:00"])
    stage.pass(milliseconds: 3_000)
    #expect(stage.lines(1).allSatisfy { $0.row == nil })
  }

  @Test func aTickingWatcherSeesEverySecond() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .watchTimer(isTicking: true))
    stage.ask(1, .timer(.start(length: 60_000)))
    _ = stage.lines(1)
    stage.pass(milliseconds: 3_000)
    #expect(
      stage.lines(1).compactMap { $0.row }
        == ["focus 00:59", "focus 00:58", "focus 00:57"])
  }

  @Test func aRememberedClockCountsDownFromTheBeginning() throws {
    var stage = try HomeStage(clockOffset: 3_600_000)
    stage.connect(1)
    stage.ask(1, .watchTimer(isTicking: true))
    stage.ask(1, .timer(.start(length: 60_000)))
    _ = stage.lines(1)
    stage.pass(milliseconds: 2_000)
    #expect(stage.lines(1).compactMap { $0.row } == ["focus 00:59", "focus 00:58"])
  }

  @Test func aHaltedWatcherGetsNoTicksUntilItTakesLinesAgain() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .watchTimer(isTicking: true))
    stage.ask(1, .timer(.start(length: 60_000)))
    _ = stage.lines(1)
    stage.drained(1, unsent: 65 << 10)
    stage.pass(milliseconds: 3_000)
    #expect(stage.lines(1).allSatisfy { $0.row == nil })
    stage.drained(1, unsent: 0)
    stage.pass(milliseconds: 1_000)
    #expect(stage.lines(1).compactMap { $0.row } == ["focus 00:56"])
  }

  @Test func aWatcherThatTakesNothingIsCutOff() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.connect(2)
    stage.ask(1, .watchTimer(isTicking: false))
    stage.drained(1, unsent: (8 << 20) - 100)
    stage.ask(2, .timer(.start(length: 60_000)))
    #expect(stage.closed == [ConnectionID(rawValue: 1)])
    _ = stage.lines(1)
    stage.ask(2, .timer(.pause))
    #expect(stage.lines(1).isEmpty)
  }

  @Test func aZoneIsSwitchedOffAndOnAndTheStatusSaysSo() throws {
    var stage = try HomeStage()
    stage.connect(1)
    let clipboard = ClipboardApp.zone
    stage.ask(1, .setSyncing(zone: clipboard, false))
    #expect(try stage.answer(1) == ["changed": true])
    stage.ask(1, .setSyncing(zone: clipboard, false))
    #expect(try stage.answer(1) == ["changed": false])
    stage.ask(1, .status)
    #expect(HomeStatus(json: try stage.answer(1)).waitingChanges(inDisabled: clipboard) == 0)
    stage.ask(1, .setSyncing(zone: clipboard, true))
    #expect(try stage.answer(1) == ["changed": true])
    stage.ask(1, .setSyncing(zone: Name(trusted: "Elsewhere"), false))
    #expect(try stage.answer(1) == ["changed": true], "no app of this home knows it")
    stage.ask(1, .answerRestore(app: "habits"))
    #expect(try stage.answer(1) == ["changed": false])
  }

  @Test func syncIsAnsweredWhenItsTimeIsUp() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.isSilent = true
    stage.ask(1, .sync(milliseconds: 2_000))
    stage.pass(milliseconds: 1_900)
    #expect(stage.lines(1).isEmpty)
    stage.pass(milliseconds: 200)
    let status = HomeStatus(json: try stage.answer(1))
    #expect(!status.isInSync)
  }

  @Test func syncIsAnsweredAtOnceWhereTheRelayRefuses() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .sync(milliseconds: 20_000))
    stage.pass(milliseconds: 1_000)
    #expect(try stage.answer(1)["reason"]?.string == "refused")
  }

  @Test func statusAndCredentialsSayWhoseHomeItIs() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.ask(1, .status)
    #expect(try stage.answer(1)["deviceName"]?.string == "phone")
    stage.ask(1, .credentials)
    #expect(try HomeAccess(stage.answer(1)).token == "secret")
  }

  @Test func requestsComeInAnyChunks() throws {
    var stage = try HomeStage()
    stage.connect(1)
    let bytes = HomeRequest.screen.line.serialized() + [UInt8(ascii: "\n")]
    for byte in bytes + bytes { stage.send(1, [byte]) }
    #expect(stage.lines(1).count == 2)
    stage.send(1, bytes + bytes)
    #expect(stage.lines(1).count == 2)
  }

  @Test func whatIsNoRequestIsToldSo() throws {
    var stage = try HomeStage()
    stage.connect(1)
    for text in ["no\n", "{}\n", "\n"] {
      stage.send(1, Array(text.utf8))
      let line = try #require(stage.lines(1).first)
      #expect(line["error"]?["message"]?.string != nil, "\(text)")
    }
  }

  @Test func aLineWithoutEndIsCutOff() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.send(1, Array(repeating: UInt8(ascii: "x"), count: (4 << 20) + 1))
    #expect(stage.closed == [ConnectionID(rawValue: 1)])
  }

  @Test func commandsBeyondTheCeilingAreTurnedAway() throws {
    var stage = try HomeStage()
    for number in 1...33 { stage.connect(UInt64(number)) }
    #expect(stage.closed == [ConnectionID(rawValue: 33)])
    let answer = try #require(stage.lines(33).first)
    #expect(answer["error"]?["code"] == "busy")
    guard case .failure = HomeReply(answer) else {
      Issue.record("a command does not understand the answer")
      return
    }
    stage.gone(1)
    stage.connect(34)
    #expect(stage.closed.count == 1)
  }

  @Test func anAnswerForACommandThatHasGoneIsDropped() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.isSilent = true
    stage.ask(1, .sync(milliseconds: 1_000))
    stage.gone(1)
    stage.pass(milliseconds: 2_000)
    #expect(stage.lines(1).isEmpty)
  }

  @Test func aPressThatWasTakenIsAnsweredBeforeTheEnd() throws {
    var stage = try HomeStage()
    stage.connect(1)
    stage.isReading = false
    stage.ask(1, .timer(.start(length: 60_000)))
    stage.stop()
    stage.isReading = true
    stage.settle()
    #expect(try stage.answer(1).row == "focus 01:00")
    #expect(stage.reports.count == 1)
  }

  @Test func stoppingIsReportedOnceAllIsDone() throws {
    var stage = try HomeStage()
    stage.stop()
    guard case .stopped = stage.reports.last else {
      Issue.record("it reported \(stage.reports)")
      return
    }
  }
}
