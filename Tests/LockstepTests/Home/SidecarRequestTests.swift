import LockstepClient
import LockstepJSON
import LockstepModel
import Testing

@testable import Lockstep

struct SidecarRequestTests {
  private func request(_ line: JSONValue) throws(SidecarFault) -> SidecarRequest {
    var random = SeededRandom(seed: 1)
    return try SidecarRequest(line, random: &random)
  }

  private let key = RecordKey(zone: Name(trusted: "Todos"), name: Name(trusted: "1"))
  private let type = Name(trusted: "Todo")

  @Test func everyRequestIsRead() throws {
    let save: JSONValue = [
      "do": "save", "zone": "Todos", "name": "1", "type": "Todo", "fields": ["title": "milk"],
    ]
    let saving = SidecarEdit.Change.save(type: type, fields: ["title": "milk"])
    let update: JSONValue = [
      "do": "update", "zone": "Todos", "name": "1", "fields": ["done": true], "remove": ["note"],
      "add": ["minutes": -5],
    ]
    let updating = SidecarEdit.Change.update(
      set: [JSONMember("done", true)], removed: ["note"],
      added: [SidecarEdit.Count(field: "minutes", number: -5)])
    let delete: JSONValue = ["do": "delete", "zone": "Todos", "name": "1"]
    let edits = [saving, updating, .delete].map { SidecarEdit(key: key, change: $0) }
    #expect(try request(save) == .edits([edits[0]], isTransaction: false))
    #expect(try request(update) == .edits([edits[1]], isTransaction: false))
    #expect(try request(delete) == .edits([edits[2]], isTransaction: false))
    #expect(
      try request(["do": "transaction", "edits": [save, update, delete]])
        == .edits(edits, isTransaction: true))
    #expect(try request(["do": "record", "zone": "Todos", "name": "1"]) == .record(key))
    #expect(
      try request(["do": "records", "zone": "Todos", "type": .null])
        == .records(zone: key.zone, type: nil))
    #expect(
      try request(["do": "watch", "zone": "Todos", "type": "Todo"])
        == .watch(zone: key.zone, type: type))
    #expect(try request(["do": "conflicts", "zone": "Todos"]) == .conflicts(zone: key.zone))
    #expect(try request(["do": "sync"]) == .sync(milliseconds: 20_000))
    #expect(try request(["do": "sync", "milliseconds": 0]) == .sync(milliseconds: 0))
    #expect(
      try request(["do": "decide", "zone": "Todos", "name": "1", "keep": "relay"])
        == .decide(key, keepLocal: false))
    #expect(try request(["do": "hello"]) == .hello)
    #expect(try request(["do": "status"]) == .status)
  }

  @Test func aRecordWithoutANameGetsAFreshOne() throws {
    var random = SeededRandom(seed: 1)
    let line: JSONValue = ["do": "save", "zone": "Todos", "type": "Todo", "fields": [:]]
    let edits = try (0..<2).map { _ in try SidecarEdit(line, random: &random) }
    #expect(edits[0].key.name != edits[1].key.name)
    #expect(edits.allSatisfy { $0.key.name.text.utf8.count == 32 })
  }

  @Test(arguments: [
    #"[]"#, #"{}"#, #"{"do":1}"#, #"{"do":"edit"}"#, #"{"do":"save"}"#,
    #"{"do":"save","zone":"","type":"T","fields":{}}"#,
    #"{"do":"save","zone":"Z","type":"T","fields":[]}"#,
    #"{"do":"save","zone":"Z","type":"T","fields":{"~":{}}}"#,
    #"{"do":"save","zone":"Z","name":7,"type":"T","fields":{}}"#,
    #"{"do":"update","zone":"Z","name":"n"}"#,
    #"{"do":"update","zone":"Z","name":"n","add":{"a":1.5}}"#,
    #"{"do":"update","zone":"Z","name":"n","add":{"a":9007199254740993}}"#,
    #"{"do":"update","zone":"Z","name":"n","add":[1]}"#,
    #"{"do":"update","zone":"Z","name":"n","remove":["~"]}"#,
    #"{"do":"update","zone":"Z","name":"n","remove":"a"}"#,
    #"{"do":"update","zone":"Z","name":"n","remove":[1]}"#,
    #"{"do":"delete","zone":"Z"}"#, #"{"do":"record","zone":"Z"}"#, #"{"do":"records"}"#,
    #"{"do":"watch","zone":"Z","type":""}"#, #"{"do":"sync","milliseconds":60001}"#,
    #"{"do":"sync","milliseconds":-1}"#, #"{"do":"decide","zone":"Z","name":"n"}"#,
    #"{"do":"decide","zone":"Z","name":"n","keep":"mine"}"#, #"{"do":"transaction"}"#,
    #"{"do":"transaction","edits":[]}"#,
  ])
  func whatIsNoRequestIsRefusedWithACode(_ text: String) throws {
    let line = try JSONValue(parsing: text)
    let fault = #expect(throws: SidecarFault.self) { try request(line) }
    #expect(fault?.code == "badRequest")
  }

  @Test func aFaultInATransactionNamesItsEdit() throws {
    let fine: JSONValue = ["do": "delete", "zone": "Z", "name": "n"]
    let line: JSONValue = ["do": "transaction", "edits": [fine, ["do": "record"]]]
    #expect(throws: SidecarFault.self) { try request(line) }
    let fault = #expect(throws: SidecarFault.self) { try request(line) }
    #expect(fault?.edit == 1)
    #expect(fault?.line(7)["error"]?["edit"] == 1)
  }

  @Test func aTransactionHasAtMostABatchOfEdits() throws {
    let edit: JSONValue = ["do": "delete", "zone": "Z", "name": "n"]
    let most = Array(repeating: edit, count: Limits.batchRecords)
    _ = try request(["do": "transaction", "edits": .array(most)])
    #expect(throws: SidecarFault.self) {
      try request(["do": "transaction", "edits": .array(most + [edit])])
    }
  }

  @Test func idsAreNumbersAndShortTexts() throws {
    for id: JSONValue in [1, "a", .null, .string(String(repeating: "x", count: 128))] {
      #expect(try SidecarRequest.id(of: ["id": id]) == id)
    }
    #expect(try SidecarRequest.id(of: [:]) == .null)
    for id: JSONValue in [true, [], [:], .string(String(repeating: "x", count: 129))] {
      #expect(throws: SidecarFault.self) { try SidecarRequest.id(of: ["id": id]) }
    }
  }
}
