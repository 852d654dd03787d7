import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Due edits on a device whose clock was ahead.
struct ReplicaStampsTests {
  private let dueAt: Int64 = 2_000_000

  /// Makes a replica whose egg has rung too early, by its own clock.
  private func desk() throws -> Desk {
    var desk = try Desk()
    let fields: JSONValue = [
      "dueAt": .number(JSONNumber(dueAt)), "owner": .string(desk.device.text),
    ]
    try desk.apply([desk.record("egg", TestApp.egg, fields, at: 10, tag: 2)])
    desk.isTrusted = false
    desk.offset = 5_000_000
    desk.perform(.makeDueEdits(isConnected: false))
    #expect(desk.outbox.unsent == 1)
    return desk
  }

  @Test func whatCameTooEarlyIsTakenBackOnceTheTimeIsKnown() throws {
    var desk = try desk()
    let rung = try #require(try desk.store.record(.desk("egg")))
    desk.isTrusted = true
    desk.offset = 0
    #expect(desk.take() == nil)
    let held = try #require(try desk.store.record(.desk("egg")))
    #expect(rung.value?["rings"] != nil && held.value?["rings"] == nil)
    #expect(held.tag == 2 && held.modifiedAt == 10)
    #expect(desk.changed.map(\.key) == [.desk("egg")])
    // It rings when it is due.
    desk.offset = dueAt - desk.now
    desk.perform(.makeDueEdits(isConnected: false))
    #expect(try desk.takeOne().mutations.map(\.baseTag) == [2])
  }

  @Test func onlyWhatCameTooEarlyIsTakenBack() throws {
    var desk = try Desk()
    let chain: JSONValue = [
      "dueAt": .number(JSONNumber(500_000)), "again": .number(JSONNumber(dueAt)),
      "owner": .string(desk.device.text),
    ]
    try desk.apply([desk.record("egg", TestApp.egg, chain, at: 10, tag: 2)])
    desk.isTrusted = false
    desk.offset = 5_000_000
    desk.perform(.makeDueEdits(isConnected: false))
    #expect(try desk.store.record(.desk("egg"))?.value?["rings"] == 2)
    desk.isTrusted = true
    desk.offset = 0
    _ = try desk.takeOne()
    #expect(try desk.store.record(.desk("egg"))?.value?["rings"] == 1)
  }

  @Test func whatCameInTimeStays() throws {
    var desk = try desk()
    desk.isTrusted = true
    desk.offset = dueAt - desk.now
    #expect(try desk.takeOne().mutations.map(\.modifiedAt) == [dueAt])
  }

  @Test func whatAPersonMadeOfItStays() throws {
    var desk = try desk()
    _ = desk.edit(.fields("egg", TestApp.egg, ["rings": 7]))
    desk.isTrusted = true
    desk.offset = 0
    let batch = try desk.takeOne()
    #expect(batch.mutations.map(\.modifiedAt) == [desk.now])
    #expect(try desk.store.record(.desk("egg"))?.value == ["rings": 7])
  }
}
