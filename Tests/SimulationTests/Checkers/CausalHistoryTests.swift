import LockstepModel
import LockstepSimulation
import LockstepStorage
import Simulator
import Testing

struct CausalHistoryTests {
  private let environment = SimulationEnvironment(random: SeededRandom(seed: 1))
  private let key = RecordKey(zone: Name(trusted: "Timer"), name: Name(trusted: "current"))
  private let type = Name(trusted: "TimerState")
  private let left = DeviceID(rawValue: 1)
  private let right = DeviceID(rawValue: 2)

  private func fields(_ edits: [(String, Int64)]) -> [UInt8] {
    let texts = edits.map {
      #"{"deviceID":"\#($0.0)","timestamp":\#($0.1),"stateType":"focus","isPaused":false,"#
        + #""remaining":1000}"#
    }
    return Array(
      #"{"edits":[\#(texts.joined(separator: ","))]}"#.utf8)
  }

  private func entry(_ fields: [UInt8], base: Record?, at: Int64) -> OutboxEntry {
    OutboxEntry(
      number: 1, key: key, type: type, fields: fields, modifiedAt: at, isStampTrusted: true,
      base: base, state: .waiting)
  }

  private func record(_ fields: [UInt8], _ device: DeviceID, tag: ChangeTag, at: Int64) -> Record {
    Record(
      zone: key.zone, name: key.name, type: type, fields: fields, modifiedAt: at, device: device,
      tag: tag)
  }

  @Test func anEditThatHadSeenAnotherReplacesIt() {
    let history = CausalHistory<TimerFact>(environment: environment)
    let first = fields([("l", 10)])
    history.deviceMade(entry(first, base: nil, at: 10), on: left)
    let saved = record(first, left, tag: 1, at: 10)
    history.relaySaved(saved, baseTag: 0)
    history.deviceRead(tag: 1, on: right)
    history.deviceMade(entry(fields([("r", 20)]), base: saved, at: 20), on: right)
    #expect(history.standing.map(\.deviceID) == ["r"])
  }

  @Test func editsThatHadNotSeenOneAnotherBothStand() {
    let history = CausalHistory<TimerFact>(environment: environment)
    history.deviceMade(entry(fields([("l", 10)]), base: nil, at: 10), on: left)
    history.deviceMade(entry(fields([("r", 20)]), base: nil, at: 20), on: right)
    #expect(Set(history.standing.map(\.deviceID)) == ["l", "r"])
  }

  @Test func whoMergedTwoEditsHasSeenBoth() {
    let history = CausalHistory<TimerFact>(environment: environment)
    let first = fields([("l", 10)])
    history.deviceMade(entry(first, base: nil, at: 10), on: left)
    let saved = record(first, left, tag: 1, at: 10)
    history.relaySaved(saved, baseTag: 0)
    history.deviceMade(entry(fields([("r", 20)]), base: nil, at: 20), on: right)
    let merged = fields([("r", 20), ("l", 10)])
    history.deviceMade(entry(merged, base: saved, at: 20), on: right)
    #expect(history.standing.count == 2)
    history.relaySaved(record(merged, right, tag: 2, at: 20), baseTag: 1)
    history.deviceRead(tag: 2, on: left)
    history.deviceMade(
      entry(fields([("l", 30)]), base: record(merged, right, tag: 2, at: 20), at: 30), on: left)
    #expect(history.standing.map(\.act.timestamp) == [30])
  }

  @Test func aVersionThatNobodyMadeIsAFault() {
    let history = CausalHistory<TimerFact>(environment: environment)
    history.relaySaved(record(fields([("l", 10)]), left, tag: 1, at: 10), baseTag: 0)
    #expect(environment.faults.count == 1)
  }

  /// Also if the program does not write that it is the same act.
  @Test func whatTimeMadeIsTheActThatItGoesOnFrom() {
    let history = CausalHistory<TimerFact>(environment: environment)
    let first = fields([("l", 10)])
    history.deviceMade(entry(first, base: nil, at: 10), byPerson: true, on: left)
    let saved = record(first, left, tag: 1, at: 10)
    history.relaySaved(saved, baseTag: 0)
    history.deviceRead(tag: 1, on: right)
    let ended = fields([("l", 5_000)])
    history.deviceMade(entry(ended, base: saved, at: 5_000), on: right)
    #expect(history.standing.map(\.act.timestamp) == [10])
    #expect(TimerFact.list(in: ended).map { history.origin(of: $0).act.timestamp } == [10])
    // A user who had seen the act replaces it, however far along it is on another device.
    history.deviceMade(
      entry(fields([("l", 2_000)]), base: saved, at: 2_000), byPerson: true, on: left)
    #expect(history.standing.map(\.act.timestamp) == [2_000])
  }

  @Test func whatStoodBesideACountdownThatEndedIsLetGo() {
    let history = CausalHistory<TimerFact>(environment: environment)
    let both = fields([("l", 10), ("r", 500)])
    let stood = entry(both, base: nil, at: 500)
    history.deviceMade(stood, byPerson: true, on: left)
    history.deviceMade(
      entry(fields([("l", 1_010)]), base: nil, at: 1_010), insteadOf: stood, on: left)
    #expect(history.releasedDeeds.isEmpty)
    history.deviceMade(
      entry(fields([("l", 6_000)]), base: nil, at: 6_000), insteadOf: stood, on: left)
    #expect(history.releasedDeeds.map(\.act.timestamp) == [500])
  }

  @Test func aCorrectedStampLetsGoOfWhatItHadOutdated() {
    let history = CausalHistory<TimerFact>(environment: environment)
    history.deviceMade(entry(fields([("r", 10)]), base: nil, at: 10), byPerson: true, on: right)
    let stood = entry(fields([("l", 9_000)]), base: nil, at: 9_000)
    history.deviceMade(stood, byPerson: true, on: left)
    #expect(history.releasedDeeds.isEmpty)
    history.deviceMade(
      entry(fields([("l", 2_000)]), base: nil, at: 2_000), insteadOf: stood, on: left)
    #expect(history.releasedDeeds.map(\.act.timestamp) == [10])
  }

  @Test func whatTheRelayLostMeetsWhatWasSavedWithoutKnowingIt() {
    let history = CausalHistory<SettingFact>(environment: environment)
    let old = record(setting("old"), left, tag: 1, at: 1)
    history.addInitial(old)
    history.deviceRead(tag: 1, on: left)
    let new = entry(setting("new"), base: old, at: 2)
    history.deviceMade(new, byPerson: true, on: left)
    history.relaySaved(record(setting("new"), left, tag: 2, at: 2), baseTag: 1)
    history.relayLost(isBlind: false) { $0 == 2 }
    history.deviceBringsBack(new, on: left)
    #expect(values(history.standing) == ["new"] && history.doubtful.isEmpty)

    history.relayLost(isBlind: false) { $0 == 2 }
    let carried = entry(setting("old"), base: old, at: 3)
    history.deviceMade(carried, byPerson: true, on: right)
    history.relaySaved(record(setting("old"), right, tag: 3, at: 3), baseTag: 1)
    history.deviceBringsBack(new, on: left)
    #expect(values(history.standing).contains("new"))
    #expect(values(history.standing + history.doubtful).contains("old"))
  }

  private func setting(_ value: String) -> [UInt8] { Array(#"{"length":"\#(value)"}"#.utf8) }

  private func values(_ facts: [SettingFact]) -> [String] { facts.compactMap(\.value.string) }

  /// The left device merges its own text, which it has never sent, with the newer text of another;
  /// a third device makes the same version without it.
  @Test(arguments: [true, false]) func aTextThatNoRelayHadIsNotMissed(isAsHeld: Bool) {
    let history = CausalHistory<NoteFact>(environment: environment, keepsOrder: true)
    let third = DeviceID(rawValue: 3)
    let newer = note(2)
    history.deviceMade(entry(newer, base: nil, at: 20), byPerson: true, on: right)
    let saved = record(newer, right, tag: 1, at: 20)
    history.relaySaved(saved, baseTag: 0)
    history.deviceRead(tag: 1, on: third)
    history.deviceMade(entry(note(1), base: nil, at: 10), byPerson: true, on: left)
    history.deviceMade(entry(newer, base: saved, at: 20), on: left)
    history.relaySaved(record(newer, left, tag: 2, at: 20), baseTag: 1)
    history.deviceRead(tag: 2, isAsHeld: true, on: third)
    history.deviceRead(tag: 1, isAsHeld: isAsHeld, on: third)
    #expect(environment.faults.isEmpty == isAsHeld)
  }

  /// A version of the same content does not stand for one that includes a text of the relay.
  @Test func aTextThatTheRelayHadIsMissed() {
    let history = CausalHistory<NoteFact>(environment: environment, keepsOrder: true)
    let third = DeviceID(rawValue: 3)
    history.deviceMade(entry(note(1), base: nil, at: 10), byPerson: true, on: left)
    history.relaySaved(record(note(1), left, tag: 1, at: 10), baseTag: 0)
    history.deviceMade(entry(note(2), base: nil, at: 20), byPerson: true, on: right)
    let saved = record(note(2), right, tag: 2, at: 20)
    history.relaySaved(saved, baseTag: 0)
    history.deviceMade(entry(note(2), base: saved, at: 20), on: left)
    history.relaySaved(record(note(2), left, tag: 3, at: 20), baseTag: 2)
    history.deviceRead(tag: 3, on: third)
    history.deviceRead(tag: 2, isAsHeld: true, on: third)
    #expect(environment.faults.count == 1)
  }

  private func note(_ text: Int64) -> [UInt8] { Array("{\"text\":\(text)}".utf8) }

  @Test func setsOfEditsAreSets() {
    var odd = EditSet()
    var all = EditSet()
    for number in 0..<200 {
      all.insert(number)
      if number % 2 == 1 { odd.insert(number) }
    }
    #expect(odd.isSubset(of: all))
    #expect(!all.isSubset(of: odd))
    #expect(odd.contains(199) && !odd.contains(198) && !odd.contains(5_000))
    #expect(odd.union(all) == all)
    all.remove(0)
    #expect(!all.contains(0))
  }
}
