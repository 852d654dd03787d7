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

  /// Returns the fingerprints of the two versions that every device has had.
  private func prints(_ desk: Desk) -> [VersionFingerprint] {
    [version(desk, ["v": 1], at: 10, tag: 0), version(desk, ["v": 2], at: 20, tag: 0)]
      .map { VersionFingerprint(of: $0) }
  }

  @Test func aCopyIsSavedUnlessAnotherDeviceHasDeletedTheRecord() throws {
    var desk = try restored()
    let batch = try desk.takeOne()
    #expect(batch.mutations.map(\.baseTag) == [0])
    #expect(batch.mutations.map(\.unlessDeleted) == [true])
    #expect(batch.mutations.map(\.includes) == [prints(desk)])
    // The other device has deleted this version.
    var gone = version(desk, nil, at: 30, tag: now + 1)
    gone.includes = [prints(desk)[1]]
    try desk.answer(batch, [.conflict(name: gone.name, record: gone)])
    #expect(desk.take() == nil)
    #expect(try desk.store.record(.desk("a"))?.isDeleted == true)
    #expect(try desk.store.value("restore") == nil)
  }

  /// Another device has deleted the first version, without knowledge of the second. It may be the
  /// one that made the second, with its home put back together with the relay.
  @Test func aDeviceThatDidNotKnowACopyDoesNotDeleteIt() throws {
    for included in [[], [prints(try Desk())[0]]] {
      var desk = try restored()
      var gone = version(desk, nil, at: 30, tag: now + 1)
      gone.includes = included
      try desk.answer(try desk.takeOne(), [.conflict(name: gone.name, record: gone)])
      let batch = try desk.takeOne()
      #expect(batch.mutations.map(\.baseTag) == [now + 1])
      #expect(batch.mutations.map(\.isDelete) == [false])
    }
  }

  @Test func whatWasMadeOfACopyReplacesIt() throws {
    var desk = try restored()
    var later = version(desk, ["v": 3], at: 30, tag: now + 1)
    later.includes = prints(desk)
    try desk.answer(try desk.takeOne(), [.conflict(name: later.name, record: later)])
    #expect(desk.take() == nil)
    #expect(desk.conflicts == 0)
    #expect(try desk.store.record(.desk("a")) == later.plain)
    // This device knows from now on what the version includes.
    #expect(try desk.store.ancestors(.desk("a")).suffix(2) == prints(desk))
  }

  /// A change in flight when the process dies is sent again with the same content.
  @Test func aFrozenCopyStaysAsItIs() throws {
    var desk = try restored()
    let batch = try desk.takeOne()
    _ = desk.edit(.fields("a", TestApp.counter, ["v": 3]))
    desk.reopen()
    #expect(try desk.takeOne() == batch)
    try desk.answer(batch, [.saved(name: batch.mutations[0].name, tag: now + 1)])
    let next = try desk.takeOne()
    #expect(next.mutations.map(\.baseTag) == [now + 1])
    #expect(next.mutations.first?.includes.dropLast() == prints(desk)[...])
    try desk.answer(next, [.saved(name: batch.mutations[0].name, tag: now + 2)])
    // Nothing lost is left: later versions keep what the relay has.
    _ = desk.edit(.fields("a", TestApp.counter, ["v": 4]))
    #expect(try desk.takeOne().mutations.map(\.includes) == [[]])
  }

  /// A copy that waits to be saved again is edited or deleted: another device may hold it too.
  @Test func anEditOfAWaitingCopyKnowsTheCopy() throws {
    for isDelete in [false, true] {
      var desk = try restored()
      _ = desk.edit(isDelete ? .delete("a") : .fields("a", TestApp.counter, ["v": 3]))
      let batch = try desk.takeOne()
      #expect(batch.mutations.first?.includes.dropLast() == prints(desk)[...])
      let again = version(desk, ["v": 2], at: 20, tag: now + 1, by: DeviceID(rawValue: 3))
      try desk.answer(batch, [.conflict(name: again.name, record: again)])
      let next = try desk.takeOne()
      #expect(desk.conflicts == 0)
      #expect(next.mutations.map(\.baseTag) == [now + 1])
      #expect(next.mutations.map(\.isDelete) == [isDelete])
    }
  }

  /// The relay still has the version before the lost ones: it takes no second place.
  @Test func aKnownBaseIsRememberedOnce() throws {
    var desk = try Desk()
    for number in 1...3 {
      try desk.apply([
        version(
          desk, ["v": .number(JSONNumber(Int64(number)))], at: 10 * Int64(number),
          tag: 18 + Int64(number))
      ])
    }
    desk.learnOfRestore(through: 20)
    desk.page([version(desk, ["v": 2], at: 20, tag: 20)], from: nil, to: now)
    #expect(try desk.store.ancestors(.desk("a")) == prints(desk))
  }

  /// A person is asked about a version that the relay has; an older one takes its place.
  @Test func anAncestorDoesNotAnswerAQuestionAboutAnotherVersion() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 1], at: 10, tag: 50)])
    try desk.apply([desk.record("a", TestApp.choice, ["v": 2], at: 20, tag: 51)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 3]))
    desk.learnOfRestore(through: 20)
    let asked = desk.record("a", TestApp.choice, ["v": 9], at: 25, tag: now)
    desk.page([asked], from: nil, to: now)
    let again = desk.record("a", TestApp.choice, ["v": 2], at: 20, tag: now + 1)
    desk.page([again], from: now, to: now + 1)
    _ = desk.decide("a", keepLocal: false)
    #expect(try desk.store.record(.desk("a")) == again)
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

  /// A merge has the stamp of its newer side: an own deletion of the same stamp is no answer to it.
  @Test func aDeletionOfTheSameStampIsNotTheMergeThatOutlivedIt() throws {
    var desk = try Desk()
    try desk.apply([version(desk, ["v": 1], at: 10, tag: 50)])
    try desk.apply([version(desk, ["v": 2], at: 20, tag: 51)])
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    desk.bringBack()
    let batch = try desk.takeOne()
    let own = version(desk, nil, at: 20, tag: now + 1, by: desk.device)
    try desk.answer(batch, [.conflict(name: own.name, record: own)])
    #expect(try desk.takeOne().mutations.map(\.baseTag) == [now + 1])
    #expect(try desk.store.record(.desk("a"))?.value == ["v": 2])
  }
}
