import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Saving again what a relay has lost: crashes in between, and more than fits.
struct ReplicaBringBackTests {
  /// First tag of a restored relay.
  private let now: ChangeTag = 1 << 32
  private let elsewhere = Name(trusted: "Elsewhere")

  /// Fills the outbox with entries of a zone that the plan does not include.
  private func fill(_ harness: inout ReplicaHarness, _ count: Int) throws {
    let key = RecordKey(zone: elsewhere, name: Name(trusted: "full"))
    try harness.store.write(
      (1...Int64(count)).map { number in
        .putEntry(
          OutboxEntry(
            number: number, key: key, type: TestApp.note, fields: [123, 125], modifiedAt: 1,
            isStampTrusted: true, base: nil, state: .waiting))
      })
    harness.reopen()
  }

  private var bounds: BatchBounds { BatchBounds(blockedZones: [elsewhere]) }

  @Test func aCrashOnTheWayLosesNothing() throws {
    for crash in 0...4 {
      var harness = try ReplicaHarness()
      try harness.apply((0..<4).map { harness.record("r\($0)", "x", at: 1, tag: 50 + Int64($0)) })
      harness.reportRestore(through: 20)
      if crash == 0 { harness.reopen() }
      let older = harness.record("r0", "old", at: 0, tag: 20)
      harness.page([older], from: nil, to: now, more: true)
      if crash == 1 {
        harness.reopen()
        harness.page([older], from: nil, to: now, more: true)
      }
      harness.page([], from: now, to: now + 1)
      if crash == 2 { harness.reopen() }
      harness.bringBack()
      if crash == 3 { harness.reopen() }
      let batch = try harness.freezeOneBatch()
      if crash == 4 { harness.reopen() }
      #expect(batch.mutations.map(\.name.text) == ["r0", "r1", "r2", "r3"], "crash \(crash)")
      #expect(batch.mutations.map(\.baseTag) == [20, 0, 0, 0], "crash \(crash)")
      let sent = try harness.sendAll(from: now + 2)
      #expect(sent == batch.mutations, "crash \(crash)")
      #expect(try harness.store.value("restore") == nil, "crash \(crash)")
      #expect(try harness.store.lostRecords(limit: 9, bytes: 9).isEmpty)
    }
  }

  @Test func whatDoesNotFitIsBroughtBackInPortions() throws {
    var harness = try ReplicaHarness()
    try harness.apply((0..<300).map { harness.record("r\($0)", "x", at: 1, tag: 50 + Int64($0)) })
    try fill(&harness, Limits.outboxRecords / 2 - 100)
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    var names: Set<String> = []
    for portion in 0..<3 {
      harness.bringBack()
      #expect(try harness.store.value("restore") != nil)
      let sent = try harness.sendAll(from: now + 1 + Int64(portion * 100), bounds)
      #expect(sent.count == 100)
      names.formUnion(sent.map(\.name.text))
    }
    harness.bringBack()
    #expect(harness.freezeBatch(bounds) == nil)
    #expect(names.count == 300)
    #expect(try harness.store.lostRecords(limit: 9, bytes: 9).isEmpty)
  }

  @Test func whatTheSnapshotNamesWithoutRoomLearnsItsBaseByAConflict() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    try fill(&harness, Limits.outboxRecords / 2)
    harness.reportRestore(through: 20)
    let older = harness.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    harness.page([older], from: nil, to: now)
    #expect(!harness.outbox.mayBringBack)
    #expect(try harness.store.record(.desk("a"))?.value == ["v": 5])
    try harness.answer(
      try harness.freezeOneBatch(BatchBounds(records: 1)),
      [.saved(name: Name(trusted: "full"), tag: now + 1)])
    harness.bringBack()
    let batch = try harness.freezeOneBatch(bounds)
    #expect(batch.mutations.map(\.baseTag) == [0])
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(harness.conflicts == 0)
    #expect(harness.freezeBatch(bounds)?.mutations.map(\.baseTag) == [20])
  }

  /// Makes one lost record for which the outbox has no room.
  private func crowded() throws -> ReplicaHarness {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    try fill(&harness, Limits.outboxRecords / 2)
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    #expect(!harness.outbox.mayBringBack)
    return harness
  }

  @Test func anEditOfWhatWaitsToBeBroughtBackBringsItBack() throws {
    var harness = try crowded()
    _ = harness.edit(.count("a"))
    #expect(try harness.store.lostRecords(limit: 9, bytes: 9).isEmpty)
    let batch = try harness.freezeOneBatch(bounds)
    #expect(batch.mutations.map(\.baseTag) == [0])
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 5, harness.device.text: 1])
  }

  @Test func aDeleteOfWhatWaitsToBeBroughtBackIsToldToTheRelay() throws {
    var harness = try crowded()
    _ = harness.edit(.delete("a"))
    let batch = try harness.freezeOneBatch(bounds)
    #expect(batch.mutations.map(\.isDelete) == [true])
    #expect(batch.mutations.map(\.baseTag) == [0])
  }

  @Test func whatOthersSaveMeetsWhatWaitsToBeBroughtBack() throws {
    var harness = try crowded()
    // Frees room for one.
    try harness.answer(
      try harness.freezeOneBatch(BatchBounds(records: 1)),
      [.saved(name: Name(trusted: "full"), tag: now + 1)])
    var server = harness.record("a", TestApp.counter, ["y": 1], at: 12, tag: now + 2)
    server.device = DeviceID(rawValue: 3)
    harness.page([server], from: now, to: now + 2)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 5, "y": 1])
    #expect(harness.freezeBatch(bounds)?.mutations.map(\.baseTag) == [now + 2])
  }

  @Test func aSecondRestoreOnTheWayLosesNothing() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", "x", at: 1, tag: 50), harness.record("b", "x", at: 1, tag: 51),
    ])
    harness.reportRestore(through: 20)
    // Another device saves on the restored relay, which is restored again before the end of the
    // snapshot.
    harness.page([harness.record("c", "x", at: 1, tag: now + 1)], from: nil, to: now, more: true)
    harness.reportRestore(through: now)
    harness.page([harness.record("b", "old", at: 0, tag: 19)], from: nil, to: 2 * now)
    harness.bringBack()
    let sent = try harness.sendAll(from: 2 * now + 1)
    #expect(sent.map(\.name.text) == ["b", "a", "c"])
    #expect(sent.map(\.baseTag) == [19, 0, 0])
  }

  @Test func aHistoryThatTheRelayDoesNotKnowIsLostAsAWhole() throws {
    var harness = try ReplicaHarness()
    let same = harness.record("same", "x", at: 1, tag: 10)
    try harness.apply([
      same, harness.record("other", TestApp.counter, ["x": 2], at: 1, tag: 11),
      harness.record("gone", "x", at: 1, tag: 12),
    ])
    harness.reportRestore(through: 0)
    var other = harness.record("other", TestApp.counter, ["y": 2], at: 5, tag: 9)
    other.device = DeviceID(rawValue: 3)
    harness.page([same, other], from: nil, to: 30)
    harness.bringBack()
    let sent = try harness.sendAll(from: 31)
    #expect(sent.map(\.name.text) == ["other", "gone"])
    #expect(sent.map(\.baseTag) == [9, 0])
    #expect(try harness.store.record(.desk("other"))?.value == ["x": 2, "y": 2])
  }
}
