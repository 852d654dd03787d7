import LockstepApps
import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepRuntime
import Stages
import Testing

@testable import Lockstep

/// The home's node as a local store for programs in other languages.
struct SidecarNodeTests {
  private func stage() throws -> HomeStage {
    let rules = try RuleTable(
      parsing: Array(
        #"{"zone":"Todos","types":{"Todo":{"fields":{"minutes":"counter","done":"or"}}}}"#.utf8))
    var stage = try HomeStage(rules: rules)
    stage.connect(1)
    return stage
  }

  private func save(_ name: String, _ fields: JSONValue, type: String = "Todo") -> JSONValue {
    [
      "id": .string(name), "do": "save", "zone": "Todos", "name": .string(name),
      "type": .string(type), "fields": fields,
    ]
  }

  private func update(_ name: String, _ members: [JSONMember]) -> JSONValue {
    .object(
      [
        JSONMember("id", "u"), JSONMember("do", "update"), JSONMember("zone", "Todos"),
        JSONMember("name", .string(name)),
      ] + members)
  }

  private func records(_ stage: inout HomeStage) -> [JSONValue] {
    stage.ask(1, ["id": "r", "do": "records", "zone": "Todos"])
    return stage.lines(1).flatMap { $0["records"]?.array ?? [] }
  }

  @Test func aProgramLearnsTheVersionAndTheDevice() throws {
    var stage = try stage()
    stage.ask(1, ["id": 1, "do": "hello"])
    let answer = try #require(stage.lines(1).first)
    #expect(answer["id"] == 1)
    #expect(answer["protocol"] == 1)
    #expect(answer["deviceName"]?.string == "phone")
  }

  @Test func aSavedRecordIsAnsweredOnceItIsDurable() throws {
    var stage = try stage()
    stage.isReading = false
    stage.ask(1, save("1", ["title": "milk"]))
    #expect(stage.lines(1).isEmpty)
    stage.isReading = true
    stage.settle()
    let answer = try #require(stage.lines(1).first)
    #expect(answer["id"] == "1")
    #expect(answer["record"]?["fields"] == ["title": "milk"])
    #expect(answer["record"]?["sync"] == "waiting")
    #expect(answer["record"]?["device"]?.string == DeviceID(rawValue: 2).text)
    #expect(try stage.outboxCount() == 1)
  }

  @Test func anUpdateSetsRemovesAndCountsAndHidesTheStamps() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["title": "milk", "note": "x", "shop": "y"]))
    let add = JSONMember("add", ["minutes": 5])
    stage.ask(1, update("1", [JSONMember("fields", ["title": "tea"]), add]))
    stage.ask(1, update("1", [JSONMember("remove", ["note"]), add]))
    let record = try #require(stage.lines(1).last?["record"])
    let device = DeviceID(rawValue: 2).text
    #expect(
      record["fields"]
        == ["title": "tea", "shop": "y", "minutes": .object([JSONMember(device, [10, 0])])])
    #expect(record["counters"] == ["minutes": 10])
    #expect(records(&stage) == [record])
  }

  @Test func anEditOutOfTheDevicesScopeHasACodeOfItsOwn() throws {
    let scope = DeviceScope(zones: [Name(trusted: "Memos")])
    var stage = try HomeStage(scope: scope)
    stage.connect(1)
    stage.ask(
      1, ["id": 1, "do": "save", "zone": "Todos", "name": "1", "type": "Todo", "fields": [:]])
    let error = try #require(stage.lines(1).first?["error"])
    #expect(error["code"] == "outOfScope")
    #expect(error["message"]?.string?.hasSuffix("--zones Memos,Todos") == true)
    #expect(try stage.outboxCount() == 0)
    stage.ask(1, ["id": 2, "do": "status"])
    #expect(stage.lines(1).first?["status"]?["scope"] == scope.json)
  }

  @Test func aSaveOfAllFieldsLosesNoCount() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["title": "milk"]))
    stage.ask(1, update("1", [JSONMember("add", ["minutes": 5])]))
    stage.ask(1, save("1", ["title": "tea"]))
    #expect(stage.lines(1).last?["record"]?["counters"] == ["minutes": 5])
  }

  @Test func aCountNeedsTheRule() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["title": "milk"]))
    stage.ask(1, save("2", ["title": "milk"], type: "Note"))
    _ = stage.lines(1)
    for (name, field) in [("1", "title"), ("2", "minutes")] {
      stage.ask(1, update(name, [JSONMember("add", .object([JSONMember(field, 1)]))]))
      let error = try #require(stage.lines(1).first?["error"])
      #expect(error["code"] == "refused")
      #expect(error["message"]?.string?.contains("--rules") == true)
    }
  }

  @Test func aValueOfAnotherKindThanItsRulesIsRefused() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["done": "yes"]))
    let error = try #require(stage.lines(1).first?["error"])
    #expect(error["code"] == "refused")
    #expect(
      error["message"]
        == .string(
          "the field \"done\" of Todo must be a Boolean, as its rule \"or\" requires; give it such a "
            + "value, or leave it out"))
    stage.ask(1, save("1", ["done": true]))
    _ = stage.lines(1)
    stage.ask(1, update("1", [JSONMember("fields", ["minutes": 5])]))
    #expect(
      stage.lines(1).first?["error"]?["message"]?.string?.contains("count with \"add\"") == true)
    #expect(records(&stage).map { $0["fields"] } == [["done": true]])
  }

  @Test func anUpdateOfNoRecordIsRefusedAndADeleteIsNot() throws {
    var stage = try stage()
    stage.ask(1, update("1", [JSONMember("fields", ["a": 1])]))
    #expect(stage.lines(1).first?["error"]?["code"] == "notFound")
    stage.ask(1, ["id": 1, "do": "delete", "zone": "Todos", "name": "1"])
    #expect(stage.lines(1).first?["record"]?["deleted"] == true)
    stage.ask(1, ["id": 1, "do": "record", "zone": "Todos", "name": "1"])
    #expect(stage.lines(1) == [["id": 1, "record": .null]])
  }

  @Test func aTransactionIsMadeWholeOrNotAtAll() throws {
    var stage = try stage()
    let bad = update("9", [JSONMember("fields", ["a": 1])])
    stage.ask(1, ["id": 1, "do": "transaction", "edits": [save("1", ["a": 1]), bad]])
    let error = try #require(stage.lines(1).first?["error"])
    #expect(error["code"] == "notFound")
    #expect(error["edit"] == 1)
    #expect(records(&stage).isEmpty)
    let gone: JSONValue = ["do": "delete", "zone": "Todos", "name": "1"]
    stage.ask(
      1, ["id": 2, "do": "transaction", "edits": [save("1", ["a": 1]), save("2", ["a": 2]), gone]])
    let answered = try #require(stage.lines(1).first?["records"]?.array)
    #expect(answered.map { $0["deleted"] } == [true, nil, true])
    #expect(records(&stage).map { $0["name"] } == ["2"])
  }

  @Test func aRecordThatIsTooLargeIsRefusedByName() throws {
    var stage = try stage()
    let text = JSONValue.string(String(repeating: "x", count: Limits.recordBytes))
    stage.ask(1, save("1", ["text": text]))
    #expect(stage.lines(1).first?["error"]?["code"] == "tooLarge")
  }

  @Test func zonesOfTheProgramsAppsAreReadOnly() throws {
    var stage = try stage()
    stage.ask(1, .timer(.start(length: 60_000)))
    _ = stage.lines(1)
    let zone = JSONValue.string(TimerApp.zone.text)
    stage.ask(1, ["id": 1, "do": "records", "zone": zone])
    let held = try #require(stage.lines(1).first?["records"]?.array?.first)
    stage.ask(1, ["id": 2, "do": "delete", "zone": zone, "name": held["name"] ?? .null])
    #expect(stage.lines(1).first?["error"]?["code"] == "refused")
  }

  @Test func aWatchShowsTheRecordsAndThenEveryChange() throws {
    var stage = try stage()
    stage.connect(2)
    stage.ask(1, save("1", ["a": 1]))
    stage.ask(1, save("2", ["a": 1], type: "Note"))
    stage.ask(2, ["id": "w", "do": "watch", "zone": "Todos", "type": "Todo"])
    let first = try #require(stage.lines(2).first)
    #expect(first["id"] == "w")
    #expect(first["records"]?.array?.map { $0["name"] } == ["1"])
    stage.ask(1, save("1", ["a": 2]))
    #expect(stage.lines(2).map { $0["changed"]?.array?.first?["fields"] } == [["a": 2]])
    stage.ask(1, save("2", ["a": 2], type: "Note"))
    #expect(stage.lines(2).isEmpty)
    stage.ask(1, ["id": 1, "do": "delete", "zone": "Todos", "name": "1"])
    #expect(stage.lines(2) == [["id": "w", "deleted": ["1"]]])
  }

  @Test func aTransactionIsOneLineOfAWatch() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["a": 1]))
    stage.connect(2)
    stage.ask(2, ["id": "w", "do": "watch", "zone": "Todos"])
    _ = stage.lines(2)
    let gone: JSONValue = ["do": "delete", "zone": "Todos", "name": "1"]
    stage.ask(1, ["id": 2, "do": "transaction", "edits": [save("2", ["a": 1]), gone]])
    let lines = stage.lines(2)
    #expect(lines.count == 1)
    #expect(lines.first?["changed"]?.array?.count == 1)
    #expect(lines.first?["deleted"] == ["1"])
  }

  @Test func aRecordThatChangesItsTypeLeavesAWatch() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["a": 1]))
    stage.connect(2)
    stage.ask(2, ["id": "w", "do": "watch", "zone": "Todos", "type": "Todo"])
    _ = stage.lines(2)
    stage.ask(1, save("1", ["a": 1], type: "Note"))
    #expect(stage.lines(2) == [["id": "w", "deleted": ["1"]]])
  }

  @Test func aWatcherThatDoesNotReadGetsTheLastStateOnly() throws {
    var stage = try stage()
    stage.connect(2)
    stage.ask(2, ["id": "w", "do": "watch", "zone": "Todos"])
    _ = stage.lines(2)
    stage.drained(2, unsent: 20 << 20)
    for number in Int64(1)...3 { stage.ask(1, save("1", ["a": .number(JSONNumber(number))])) }
    #expect(stage.lines(2).isEmpty)
    #expect(stage.closed.isEmpty)
    stage.drained(2, unsent: 0)
    #expect(stage.lines(2).map { $0["changed"]?.array?.first?["fields"] } == [["a": 3]])
  }

  @Test func requestsOfAClientThatDoesNotReadWait() throws {
    var stage = try stage()
    stage.ask(1, ["id": 1, "do": "hello"])
    stage.drained(1, unsent: 300 << 10)
    stage.ask(1, save("1", ["a": 1]))
    #expect(try stage.outboxCount() == 0)
    #expect(stage.paused == [ConnectionID(rawValue: 1)])
    stage.drained(1, unsent: 0)
    #expect(try stage.outboxCount() == 1)
    #expect(stage.paused.isEmpty)
  }

  @Test func theEndOfAClientsStreamIsReadAfterItsRequestsAreAnswered() throws {
    var stage = try stage()
    stage.isReading = false
    stage.ask(1, save("1", ["a": 1]))
    #expect(stage.paused == [ConnectionID(rawValue: 1)])
    stage.isReading = true
    stage.settle()
    #expect(stage.lines(1).map { $0["id"] } == ["1"])
    #expect(stage.paused.isEmpty)
    // Other requests do not wait for a sync.
    stage.isSilent = true
    stage.ask(1, ["id": 2, "do": "sync", "milliseconds": 5_000])
    #expect(stage.paused.isEmpty)
    stage.ask(1, ["id": 3, "do": "status"])
    #expect(stage.lines(1).first?["id"] == 3)
  }

  @Test func requestsInAHurryAreAnsweredInOrderAFewAtATime() throws {
    var stage = try stage()
    stage.isReading = false
    for number in 0..<40 { stage.ask(1, save("\(number)", ["a": 1])) }
    #expect(stage.paused == [ConnectionID(rawValue: 1)])
    stage.isReading = true
    stage.settle()
    #expect(stage.lines(1).map { $0["id"]?.string } == (0..<40).map { "\($0)" })
    #expect(stage.paused.isEmpty)
  }

  /// Sixteen lists of a large zone would be in memory at once, for a program that reads none.
  @Test func listsAreReadOneAfterTheOther() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["a": 1]))
    _ = stage.lines(1)
    stage.isReading = false
    let lists: [JSONValue] = [
      ["id": 1, "do": "records", "zone": "Todos"], ["id": 2, "do": "watch", "zone": "Todos"],
      ["id": 3, "do": "conflicts", "zone": "Todos"], ["id": 4, "do": "records", "zone": "Todos"],
    ]
    for list in lists { stage.ask(1, list) }
    #expect(stage.waitingJobs == 1)
    stage.isReading = true
    stage.settle()
    #expect(stage.lines(1).map { $0["id"] } == [1, 2, 3, 4])
    #expect(stage.paused.isEmpty)
  }

  @Test func aLongListComesInSeveralLines() throws {
    var stage = try stage()
    let text = JSONValue.string(String(repeating: "x", count: 700_000))
    for number in 0..<5 { stage.ask(1, save("\(number)", ["text": text])) }
    _ = stage.lines(1)
    stage.ask(1, ["id": 9, "do": "records", "zone": "Todos"])
    let lines = stage.lines(1)
    #expect(lines.count > 1)
    #expect(lines.dropLast().allSatisfy { $0["more"] == true && $0["id"] == 9 })
    #expect(lines.last?["more"] == nil)
    #expect(
      lines.flatMap { $0["records"]?.array ?? [] }.map { $0["name"] } == ["0", "1", "2", "3", "4"])
  }

  @Test func whatIsNoRequestIsAnsweredWithACode() throws {
    var stage = try stage()
    stage.send(1, Array("{\"do\":\nnull\n7\n{\"id\":3,\"do\":\"fly\"}\n".utf8))
    let lines = stage.lines(1)
    #expect(
      lines.map { $0["error"]?["code"] } == ["notJSON", "badRequest", "badRequest", "badRequest"])
    #expect(lines.map { $0["id"] } == [.null, .null, .null, 3])
  }

  @Test func aLineWithoutAnEndIsCutOff() throws {
    var stage = try stage()
    stage.ask(1, ["id": 1, "do": "hello"])
    stage.send(1, [UInt8](repeating: UInt8(ascii: "x"), count: (4 << 20) + 1))
    #expect(stage.closed == [ConnectionID(rawValue: 1)])
  }

  @Test func aConnectionHasAFewWatches() throws {
    var stage = try stage()
    for number in Int64(0)..<17 {
      stage.ask(1, ["id": .number(JSONNumber(number)), "do": "watch", "zone": "Todos"])
    }
    let lines = stage.lines(1)
    #expect(lines.filter { $0["records"] != nil }.count == 16)
    #expect(lines.compactMap { $0["error"]?["code"] } == ["tooManyWatches"])
  }

  @Test func syncIsAnsweredWithTheStatusWhenTheTimeIsUp() throws {
    var stage = try stage()
    stage.isSilent = true
    stage.ask(1, ["id": 5, "do": "sync", "milliseconds": 500])
    stage.pass(milliseconds: 600)
    let answer = try #require(stage.lines(1).last)
    #expect(answer["id"] == 5)
    #expect(answer["status"]?["waiting"] == 0)
  }

  @Test func aDecisionNeedsAConflict() throws {
    var stage = try stage()
    stage.ask(1, save("1", ["a": 1]))
    _ = stage.lines(1)
    stage.ask(
      1, ["id": 1, "do": "decide", "zone": "Todos", "name": "1", "keep": "relay"])
    #expect(stage.lines(1).first?["error"]?["code"] == "nothingToDecide")
    stage.ask(1, ["id": 2, "do": "conflicts", "zone": "Todos"])
    #expect(stage.lines(1) == [["id": 2, "records": []]])
  }

  @Test func aHomeThatIsBeingClosedSaysSo() throws {
    var stage = try stage()
    stage.stop()
    stage.ask(1, save("1", ["a": 1]))
    #expect(stage.lines(1).first?["error"]?["code"] == "closing")
  }

  @Test func requestsOfCommandsKeepTheirForm() throws {
    var stage = try stage()
    stage.ask(1, ["verb": "fly"])
    #expect(stage.lines(1).first?["error"]?.string != nil)
    stage.ask(1, .status)
    #expect(try stage.answer(1)["deviceName"]?.string == "phone")
  }
}
