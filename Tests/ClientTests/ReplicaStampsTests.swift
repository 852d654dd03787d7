import LockstepJSON
import LockstepStorage
import Testing

@testable import LockstepClient

/// Due edits on a device whose clock was ahead.
struct ReplicaStampsTests {
  private let dueAt: Int64 = 2_000_000

  /// Makes a replica whose egg has rung too early, by its own clock.
  private func harness() throws -> ReplicaHarness {
    var harness = try ReplicaHarness()
    let fields: JSONValue = [
      "dueAt": .number(JSONNumber(dueAt)), "owner": .string(harness.device.text),
    ]
    try harness.apply([harness.record("egg", TestApp.egg, fields, at: 10, tag: 2)])
    harness.isTrusted = false
    harness.offset = 5_000_000
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(harness.outbox.unsent == 1)
    return harness
  }

  @Test func whatCameTooEarlyIsTakenBackOnceTheTimeIsKnown() throws {
    var harness = try harness()
    let rung = try #require(try harness.store.record(.desk("egg")))
    harness.isTrusted = true
    harness.offset = 0
    #expect(harness.freezeBatch() == nil)
    let held = try #require(try harness.store.record(.desk("egg")))
    #expect(rung.value?["rings"] != nil && held.value?["rings"] == nil)
    #expect(held.tag == 2 && held.modifiedAt == 10)
    #expect(harness.changed.map(\.key) == [.desk("egg")])
    // It rings when it is due.
    harness.offset = dueAt - harness.now
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(try harness.freezeOneBatch().mutations.map(\.baseTag) == [2])
  }

  @Test func onlyWhatCameTooEarlyIsTakenBack() throws {
    var harness = try ReplicaHarness()
    let chain: JSONValue = [
      "dueAt": .number(JSONNumber(500_000)), "again": .number(JSONNumber(dueAt)),
      "owner": .string(harness.device.text),
    ]
    try harness.apply([harness.record("egg", TestApp.egg, chain, at: 10, tag: 2)])
    harness.isTrusted = false
    harness.offset = 5_000_000
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(try harness.store.record(.desk("egg"))?.value?["rings"] == 2)
    harness.isTrusted = true
    harness.offset = 0
    _ = try harness.freezeOneBatch()
    #expect(try harness.store.record(.desk("egg"))?.value?["rings"] == 1)
  }

  @Test func whatCameInTimeStays() throws {
    var harness = try harness()
    harness.isTrusted = true
    harness.offset = dueAt - harness.now
    #expect(try harness.freezeOneBatch().mutations.map(\.modifiedAt) == [dueAt])
  }

  @Test func whatAPersonMadeOfItStays() throws {
    var harness = try harness()
    _ = harness.edit(.fields("egg", TestApp.egg, ["rings": 7]))
    harness.isTrusted = true
    harness.offset = 0
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.modifiedAt) == [harness.now])
    #expect(try harness.store.record(.desk("egg"))?.value == ["rings": 7])
  }
}
