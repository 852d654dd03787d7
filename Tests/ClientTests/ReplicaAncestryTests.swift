import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Devices that hold different versions of a record when the relay has lost all of them: an older
/// one that is saved again never stands against a later one.
struct ReplicaAncestryTests {
  /// First tag of the restored relay.
  private let now: ChangeTag = 1 << 32
  private let other = DeviceID(rawValue: 2)

  /// Returns a version of `a` by another device.
  private func version(
    _ desk: Desk, _ text: JSONValue?, at stamp: Int64, tag: ChangeTag, by device: DeviceID? = nil
  ) -> Record {
    var record = desk.record("a", TestApp.counter, text, at: stamp, tag: tag)
    record.device = device ?? other
    return record
  }

  /// Returns a device that holds the second version of `a` and has read the relay's snapshot, in
  /// which `a` is missing.
  private func restored(_ act: (inout Desk) throws -> Void = { _ in }) throws -> Desk {
    var desk = try Desk()
    try desk.apply([version(desk, ["v": 1], at: 10, tag: 50)])
    try desk.apply([version(desk, ["v": 2], at: 20, tag: 51)])
    try act(&desk)
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    desk.bringBack()
    return desk
  }

  @Test func aCopyIsSavedUnlessAnotherDeviceHasDeletedTheRecord() throws {
    var desk = try restored()
    let batch = try desk.takeOne()
    #expect(batch.mutations.map(\.baseTag) == [0])
    #expect(batch.mutations.map(\.unlessDeleted) == [true])
    // The author of the copy has deleted it: it knew the copy.
    let gone = version(desk, nil, at: 30, tag: now + 1)
    try desk.answer(batch, [.conflict(name: gone.name, record: gone)])
    #expect(desk.take() == nil)
    #expect(try desk.store.record(.desk("a"))?.isDeleted == true)
    #expect(try desk.store.value("restore") == nil)
  }

  @Test func aDeviceThatMayNotHaveKnownTheCopyDoesNotDeleteIt() throws {
    var desk = try restored()
    let gone = version(desk, nil, at: 30, tag: now + 1, by: DeviceID(rawValue: 3))
    try desk.answer(try desk.takeOne(), [.conflict(name: gone.name, record: gone)])
    let batch = try desk.takeOne()
    #expect(batch.mutations.map(\.baseTag) == [now + 1])
    #expect(batch.mutations.map(\.isDelete) == [false])
  }

  @Test func whatTheAuthorOfACopyMadeOfItReplacesTheCopy() throws {
    var desk = try restored()
    let later = version(desk, ["v": 3], at: 30, tag: now + 1)
    try desk.answer(try desk.takeOne(), [.conflict(name: later.name, record: later)])
    #expect(desk.take() == nil)
    #expect(desk.conflicts == 0)
    #expect(try desk.store.record(.desk("a")) == later)
    // An older version of the author is no answer to the copy.
    var behind = try restored()
    let older = version(behind, ["w": 9], at: 15, tag: now + 1)
    try behind.answer(try behind.takeOne(), [.conflict(name: older.name, record: older)])
    #expect(behind.conflicts == 1)
  }

  /// Another device has not seen the later versions, and was the first to save.
  @Test(arguments: [1, 2]) func anOlderVersionThatIsSavedAgainIsNoConflict(_ seen: Int64) throws {
    for isDelete in [false, true] {
      var desk = try restored { desk in
        _ = desk.edit(isDelete ? .delete("a") : .fields("a", TestApp.counter, ["v": 3]))
        let batch = try desk.takeOne()
        try desk.answer(batch, [.saved(name: batch.mutations[0].name, tag: 52)])
      }
      let batch = try desk.takeOne()
      let again = version(
        desk, ["v": .number(JSONNumber(seen))], at: 10 * seen, tag: now + 1,
        by: DeviceID(rawValue: 3))
      try desk.answer(batch, [.conflict(name: again.name, record: again)])
      #expect(desk.conflicts == 0)
      let next = try desk.takeOne()
      #expect(next.mutations.map(\.baseTag) == [now + 1])
      #expect(next.mutations.map(\.isDelete) == [isDelete])
    }
  }

  /// The stamp alone does not make it the version that was replaced.
  @Test func anotherVersionOfTheSameInstantIsAConflict() throws {
    var desk = try restored()
    let odd = version(desk, ["w": 1], at: 10, tag: now + 1, by: DeviceID(rawValue: 3))
    try desk.answer(try desk.takeOne(), [.conflict(name: odd.name, record: odd)])
    #expect(desk.conflicts == 1)
  }
}
