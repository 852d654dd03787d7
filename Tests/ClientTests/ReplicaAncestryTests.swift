import LockstepJSON
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
    _ harness: ReplicaHarness, _ text: JSONValue?, at stamp: Int64, tag: ChangeTag,
    by device: DeviceID? = nil
  ) -> Record {
    var record = harness.record("a", TestApp.counter, text, at: stamp, tag: tag)
    record.device = device ?? other
    return record
  }

  /// Returns a device that holds the second version of `a` and has read the relay's snapshot, in
  /// which `a` is missing.
  private func restored(_ act: (inout ReplicaHarness) throws -> Void = { _ in }) throws
    -> ReplicaHarness
  {
    var harness = try ReplicaHarness()
    try harness.apply([version(harness, ["v": 1], at: 10, tag: 50)])
    try harness.apply([version(harness, ["v": 2], at: 20, tag: 51)])
    try act(&harness)
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    harness.bringBack()
    return harness
  }

  /// Returns the fingerprints of the two versions that every device has had.
  private func prints(_ harness: ReplicaHarness) -> [VersionFingerprint] {
    [version(harness, ["v": 1], at: 10, tag: 0), version(harness, ["v": 2], at: 20, tag: 0)]
      .map { VersionFingerprint(of: $0) }
  }

  @Test func aCopyIsSavedUnlessAnotherDeviceHasDeletedTheRecord() throws {
    var harness = try restored()
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.baseTag) == [0])
    #expect(batch.mutations.map(\.unlessDeleted) == [true])
    #expect(batch.mutations.map(\.includes) == [prints(harness)])
    // The other device has deleted this version.
    var gone = version(harness, nil, at: 30, tag: now + 1)
    gone.includes = [prints(harness)[1]]
    try harness.answer(batch, [.conflict(name: gone.name, record: gone)])
    #expect(harness.freezeBatch() == nil)
    #expect(try harness.store.record(.desk("a"))?.isDeleted == true)
    #expect(try harness.store.value("restore") == nil)
  }

  /// Another device has deleted the first version, without knowledge of the second. It may be the
  /// one that made the second, with its home put back together with the relay.
  @Test func aDeviceThatDidNotKnowACopyDoesNotDeleteIt() throws {
    for included in [[], [prints(try ReplicaHarness())[0]]] {
      var harness = try restored()
      var gone = version(harness, nil, at: 30, tag: now + 1)
      gone.includes = included
      try harness.answer(try harness.freezeOneBatch(), [.conflict(name: gone.name, record: gone)])
      let batch = try harness.freezeOneBatch()
      #expect(batch.mutations.map(\.baseTag) == [now + 1])
      #expect(batch.mutations.map(\.isDelete) == [false])
    }
  }

  @Test func whatWasMadeOfACopyReplacesIt() throws {
    var harness = try restored()
    var later = version(harness, ["v": 3], at: 30, tag: now + 1)
    later.includes = prints(harness)
    try harness.answer(try harness.freezeOneBatch(), [.conflict(name: later.name, record: later)])
    #expect(harness.freezeBatch() == nil)
    #expect(harness.conflicts == 0)
    #expect(try harness.store.record(.desk("a")) == later.plain)
    // This device knows from now on what the version includes.
    #expect(try harness.store.ancestors(.desk("a")).suffix(2) == prints(harness))
  }

  /// A change in flight when the process dies is sent again with the same content.
  @Test func aFrozenCopyStaysAsItIs() throws {
    var harness = try restored()
    let batch = try harness.freezeOneBatch()
    _ = harness.edit(.fields("a", TestApp.counter, ["v": 3]))
    harness.reopen()
    #expect(try harness.freezeOneBatch() == batch)
    try harness.answer(batch, [.saved(name: batch.mutations[0].name, tag: now + 1)])
    let next = try harness.freezeOneBatch()
    #expect(next.mutations.map(\.baseTag) == [now + 1])
    #expect(next.mutations.first?.includes.dropLast() == prints(harness)[...])
    try harness.answer(next, [.saved(name: batch.mutations[0].name, tag: now + 2)])
    // Nothing lost is left: later versions keep what the relay has.
    _ = harness.edit(.fields("a", TestApp.counter, ["v": 4]))
    #expect(try harness.freezeOneBatch().mutations.map(\.includes) == [[]])
  }

  /// A copy that waits to be saved again is edited or deleted: another device may hold it too.
  @Test func anEditOfAWaitingCopyKnowsTheCopy() throws {
    for isDelete in [false, true] {
      var harness = try restored()
      _ = harness.edit(isDelete ? .delete("a") : .fields("a", TestApp.counter, ["v": 3]))
      let batch = try harness.freezeOneBatch()
      #expect(batch.mutations.first?.includes.dropLast() == prints(harness)[...])
      let again = version(harness, ["v": 2], at: 20, tag: now + 1, by: DeviceID(rawValue: 3))
      try harness.answer(batch, [.conflict(name: again.name, record: again)])
      let next = try harness.freezeOneBatch()
      #expect(harness.conflicts == 0)
      #expect(next.mutations.map(\.baseTag) == [now + 1])
      #expect(next.mutations.map(\.isDelete) == [isDelete])
    }
  }

  /// The relay still has the version before the lost ones: it takes no second place.
  @Test func aKnownBaseIsRememberedOnce() throws {
    var harness = try ReplicaHarness()
    for number in 1...3 {
      try harness.apply([
        version(
          harness, ["v": .number(JSONNumber(Int64(number)))], at: 10 * Int64(number),
          tag: 18 + Int64(number))
      ])
    }
    harness.reportRestore(through: 20)
    harness.page([version(harness, ["v": 2], at: 20, tag: 20)], from: nil, to: now)
    #expect(try harness.store.ancestors(.desk("a")) == prints(harness))
  }

  /// A person is asked about a version that the relay has; an older one takes its place.
  @Test func anAncestorDoesNotAnswerAQuestionAboutAnotherVersion() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 1], at: 10, tag: 50)])
    try harness.apply([harness.record("a", TestApp.choice, ["v": 2], at: 20, tag: 51)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 3]))
    harness.reportRestore(through: 20)
    let asked = harness.record("a", TestApp.choice, ["v": 9], at: 25, tag: now)
    harness.page([asked], from: nil, to: now)
    let again = harness.record("a", TestApp.choice, ["v": 2], at: 20, tag: now + 1)
    harness.page([again], from: now, to: now + 1)
    _ = harness.decide("a", keepLocal: false)
    #expect(try harness.store.record(.desk("a")) == again)
  }

  /// Another device has not seen the later versions, and was the first to save.
  @Test(arguments: [1, 2]) func anOlderVersionThatIsSavedAgainIsNoConflict(_ seen: Int64) throws {
    for isDelete in [false, true] {
      var harness = try restored { harness in
        _ = harness.edit(isDelete ? .delete("a") : .fields("a", TestApp.counter, ["v": 3]))
        let batch = try harness.freezeOneBatch()
        try harness.answer(batch, [.saved(name: batch.mutations[0].name, tag: 52)])
      }
      let batch = try harness.freezeOneBatch()
      let again = version(
        harness, ["v": .number(JSONNumber(seen))], at: 10 * seen, tag: now + 1,
        by: DeviceID(rawValue: 3))
      try harness.answer(batch, [.conflict(name: again.name, record: again)])
      #expect(harness.conflicts == 0)
      let next = try harness.freezeOneBatch()
      #expect(next.mutations.map(\.baseTag) == [now + 1])
      #expect(next.mutations.map(\.isDelete) == [isDelete])
    }
  }

  /// The stamp alone does not make it the version that was replaced.
  @Test func anotherVersionOfTheSameInstantIsAConflict() throws {
    var harness = try restored()
    let odd = version(harness, ["w": 1], at: 10, tag: now + 1, by: DeviceID(rawValue: 3))
    try harness.answer(try harness.freezeOneBatch(), [.conflict(name: odd.name, record: odd)])
    #expect(harness.conflicts == 1)
  }

  /// A merge has the stamp of its newer side: an own deletion of the same stamp is no answer to it.
  @Test func aDeletionOfTheSameStampIsNotTheMergeThatOutlivedIt() throws {
    var harness = try ReplicaHarness()
    try harness.apply([version(harness, ["v": 1], at: 10, tag: 50)])
    try harness.apply([version(harness, ["v": 2], at: 20, tag: 51)])
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    harness.bringBack()
    let batch = try harness.freezeOneBatch()
    let own = version(harness, nil, at: 20, tag: now + 1, by: harness.device)
    try harness.answer(batch, [.conflict(name: own.name, record: own)])
    #expect(try harness.freezeOneBatch().mutations.map(\.baseTag) == [now + 1])
    #expect(try harness.store.record(.desk("a"))?.value == ["v": 2])
  }
}
