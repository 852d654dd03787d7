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
  private func fill(_ desk: inout Desk, _ count: Int) throws {
    let key = RecordKey(zone: elsewhere, name: Name(trusted: "full"))
    try desk.store.write(
      (1...Int64(count)).map { number in
        .putEntry(
          OutboxEntry(
            number: number, key: key, type: TestApp.note, fields: [123, 125], modifiedAt: 1,
            isStampTrusted: true, base: nil, state: .waiting))
      })
    desk.reopen()
  }

  private var bounds: BatchBounds { BatchBounds(blockedZones: [elsewhere]) }

  @Test func aCrashOnTheWayLosesNothing() throws {
    for crash in 0...4 {
      var desk = try Desk()
      try desk.apply((0..<4).map { desk.record("r\($0)", "x", at: 1, tag: 50 + Int64($0)) })
      desk.learnOfRestore(through: 20)
      if crash == 0 { desk.reopen() }
      let older = desk.record("r0", "old", at: 0, tag: 20)
      desk.page([older], from: nil, to: now, more: true)
      if crash == 1 {
        desk.reopen()
        desk.page([older], from: nil, to: now, more: true)
      }
      desk.page([], from: now, to: now + 1)
      if crash == 2 { desk.reopen() }
      desk.bringBack()
      if crash == 3 { desk.reopen() }
      let batch = try desk.takeOne()
      if crash == 4 { desk.reopen() }
      #expect(batch.mutations.map(\.name.text) == ["r0", "r1", "r2", "r3"], "crash \(crash)")
      #expect(batch.mutations.map(\.baseTag) == [20, 0, 0, 0], "crash \(crash)")
      let sent = try desk.sendAll(from: now + 2)
      #expect(sent == batch.mutations, "crash \(crash)")
      #expect(try desk.store.value("restore") == nil, "crash \(crash)")
      #expect(try desk.store.lostRecords(limit: 9, bytes: 9).isEmpty)
    }
  }

  @Test func whatDoesNotFitIsBroughtBackInPortions() throws {
    var desk = try Desk()
    try desk.apply((0..<300).map { desk.record("r\($0)", "x", at: 1, tag: 50 + Int64($0)) })
    try fill(&desk, Limits.outboxRecords / 2 - 100)
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    var names: Set<String> = []
    for portion in 0..<3 {
      desk.bringBack()
      #expect(try desk.store.value("restore") != nil)
      let sent = try desk.sendAll(from: now + 1 + Int64(portion * 100), bounds)
      #expect(sent.count == 100)
      names.formUnion(sent.map(\.name.text))
    }
    desk.bringBack()
    #expect(desk.take(bounds) == nil)
    #expect(names.count == 300)
    #expect(try desk.store.lostRecords(limit: 9, bytes: 9).isEmpty)
  }

  @Test func whatTheSnapshotNamesWithoutRoomLearnsItsBaseByAConflict() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    try fill(&desk, Limits.outboxRecords / 2)
    desk.learnOfRestore(through: 20)
    let older = desk.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    desk.page([older], from: nil, to: now)
    #expect(!desk.outbox.mayBringBack)
    #expect(try desk.store.record(.desk("a"))?.value == ["v": 5])
    try desk.answer(
      try desk.takeOne(BatchBounds(records: 1)),
      [.saved(name: Name(trusted: "full"), tag: now + 1)])
    desk.bringBack()
    let batch = try desk.takeOne(bounds)
    #expect(batch.mutations.map(\.baseTag) == [0])
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(desk.conflicts == 0)
    #expect(desk.take(bounds)?.mutations.map(\.baseTag) == [20])
  }

  /// Makes one lost record for which the outbox has no room.
  private func crowded() throws -> Desk {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    try fill(&desk, Limits.outboxRecords / 2)
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    #expect(!desk.outbox.mayBringBack)
    return desk
  }

  @Test func anEditOfWhatWaitsToBeBroughtBackBringsItBack() throws {
    var desk = try crowded()
    _ = desk.edit(.count("a"))
    #expect(try desk.store.lostRecords(limit: 9, bytes: 9).isEmpty)
    let batch = try desk.takeOne(bounds)
    #expect(batch.mutations.map(\.baseTag) == [0])
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 5, desk.device.text: 1])
  }

  @Test func aDeleteOfWhatWaitsToBeBroughtBackIsToldToTheRelay() throws {
    var desk = try crowded()
    _ = desk.edit(.delete("a"))
    let batch = try desk.takeOne(bounds)
    #expect(batch.mutations.map(\.isDelete) == [true])
    #expect(batch.mutations.map(\.baseTag) == [0])
  }

  @Test func whatOthersSaveMeetsWhatWaitsToBeBroughtBack() throws {
    var desk = try crowded()
    // Frees room for one.
    try desk.answer(
      try desk.takeOne(BatchBounds(records: 1)),
      [.saved(name: Name(trusted: "full"), tag: now + 1)])
    var server = desk.record("a", TestApp.counter, ["y": 1], at: 12, tag: now + 2)
    server.device = DeviceID(rawValue: 3)
    desk.page([server], from: now, to: now + 2)
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 5, "y": 1])
    #expect(desk.take(bounds)?.mutations.map(\.baseTag) == [now + 2])
  }

  @Test func aSecondRestoreOnTheWayLosesNothing() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("a", "x", at: 1, tag: 50), desk.record("b", "x", at: 1, tag: 51),
    ])
    desk.learnOfRestore(through: 20)
    // Another device saves on the restored relay, which is restored again before the end of the
    // snapshot.
    desk.page([desk.record("c", "x", at: 1, tag: now + 1)], from: nil, to: now, more: true)
    desk.learnOfRestore(through: now)
    desk.page([desk.record("b", "old", at: 0, tag: 19)], from: nil, to: 2 * now)
    desk.bringBack()
    let sent = try desk.sendAll(from: 2 * now + 1)
    #expect(sent.map(\.name.text) == ["b", "a", "c"])
    #expect(sent.map(\.baseTag) == [19, 0, 0])
  }

  @Test func aHistoryThatTheRelayDoesNotKnowIsLostAsAWhole() throws {
    var desk = try Desk()
    let same = desk.record("same", "x", at: 1, tag: 10)
    try desk.apply([
      same, desk.record("other", TestApp.counter, ["x": 2], at: 1, tag: 11),
      desk.record("gone", "x", at: 1, tag: 12),
    ])
    desk.learnOfRestore(through: 0)
    var other = desk.record("other", TestApp.counter, ["y": 2], at: 5, tag: 9)
    other.device = DeviceID(rawValue: 3)
    desk.page([same, other], from: nil, to: 30)
    desk.bringBack()
    let sent = try desk.sendAll(from: 31)
    #expect(sent.map(\.name.text) == ["other", "gone"])
    #expect(sent.map(\.baseTag) == [9, 0])
    #expect(try desk.store.record(.desk("other"))?.value == ["x": 2, "y": 2])
  }
}
