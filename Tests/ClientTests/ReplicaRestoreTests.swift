import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// A relay restored from a backup: the devices save again what it has lost.
struct ReplicaRestoreTests {
  /// First tag of a restored relay.
  private let now: ChangeTag = 1 << 32

  @Test func whatTheRelayHasLostFollowsWhatItHas() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "lost on the relay", at: 9, tag: 50)])
    harness.reportRestore(through: 20)
    harness.page([harness.record("a", "from the backup", at: 5, tag: 20)], from: nil, to: now)
    #expect(try harness.store.record(.desk("a"))?.text == "lost on the relay")
    #expect(harness.changed.isEmpty)
    #expect(harness.conflicts == 0)
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    #expect(sent.map(\.modifiedAt) == [9])
    #expect(try harness.store.record(.desk("a"))?.tag == now + 1)
    #expect(try harness.store.value("restore") == nil)
  }

  /// The device lost its cursor, or was offline for long, and only the snapshot reports the
  /// restore.
  @Test func aSnapshotThatTellsOfLostTagsBringsBackWhatHasThem() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("kept", "x", at: 1, tag: 19), harness.record("lost", "x", at: 1, tag: 21),
      harness.record("deleted", "x", at: 1, tag: 40),
    ])
    harness.perform(.forgetCursor(restoredThrough: nil))
    let token = ChangeToken(generation: 1, sequence: now)
    harness.perform(
      .apply([
        .page(
          ChangePage(
            since: nil, token: token, more: false,
            changes: [harness.record("kept", "x", at: 1, tag: 19)],
            lostTags: [TagGap(after: 2, through: 5), TagGap(after: 20, through: 39)]))
      ]))
    #expect(harness.changed.map(\.name.text) == ["deleted"])
    harness.bringBack()
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["lost"])
  }

  /// It saved before it read, so that its token only covers its last save.
  @Test func aPageThatPassesOverLostTagsWhichAreHeldLeadsToASnapshot() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("lost", "x", at: 1, tag: 21)])
    let since = ChangeToken(generation: 1, sequence: 2)
    let next = ChangeToken(generation: 1, sequence: now)
    func page(_ gap: TagGap) -> ReplicaTask {
      .apply([
        .page(
          ChangePage(
            since: since, token: next, more: false,
            changes: [harness.record("new", "y", at: 2, tag: now)], lostTags: [gap]))
      ])
    }
    harness.perform(page(TagGap(after: 20, through: 30)))
    #expect(try harness.store.record(.desk("new")) == nil)
    #expect(try harness.store.cursor() == nil)
    harness.page([harness.record("new", "y", at: 2, tag: now)], from: nil, to: now)
    harness.bringBack()
    #expect(try harness.sendAll(from: now + 1).map(\.name.text) == ["lost"])
    // Lost tags that this device does not hold do not concern it.
    var other = try ReplicaHarness()
    try other.apply([other.record("kept", "x", at: 1, tag: 2)])
    other.perform(page(TagGap(after: 20, through: 30)))
    #expect(try other.store.record(.desk("new"))?.text == "y")
  }

  /// The device was restarted in the middle of the snapshot.
  @Test func whatAnUnfinishedSnapshotHasBroughtIsNotTakenForDeleted() throws {
    var harness = try ReplicaHarness()
    // A device that has just joined.
    try harness.store.write([.setCursor(nil)])
    harness.reopen()
    let token = ChangeToken(generation: 1, sequence: 5, pinned: 9)
    let first = ChangePage(
      since: nil, token: token, more: true, changes: [harness.record("a", "x", at: 1, tag: 5)])
    harness.perform(.apply([.page(first)]))
    harness.reopen()
    // The relay is restored, and shows another history.
    harness.generation = 2
    let found = harness.page([], from: nil, to: now)
    #expect(found?.foundGap == true)
    #expect(found?.position.cursor?.generation == 1)
    harness.perform(.forgetCursor(restoredThrough: 0, in: 2))
    harness.page([], from: nil, to: now)
    harness.bringBack()
    #expect(try harness.sendAll(from: now + 1).map(\.name.text) == ["a"])
  }

  @Test func whatTheRelayDoesNotNameGoesBackAsNew() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("kept", "x", at: 1, tag: 19), harness.record("deleted", "x", at: 1, tag: 20),
      harness.record("lost", "x", at: 1, tag: 21),
    ])
    harness.reportRestore(through: 20)
    // Another device has deleted one since the restore.
    harness.page([harness.record("kept", "x", at: 1, tag: 19)], from: nil, to: now)
    #expect(harness.changed.map(\.name.text) == ["deleted"])
    harness.bringBack()
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["lost"])
    #expect(sent.map(\.baseTag) == [0])
    #expect(try harness.store.allRecords().map(\.name.text) == ["kept", "lost"])
  }

  @Test func deletesThatTheRelayHasLostGoBackAsDeletes() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.tombstone("a", at: 9, tag: 50), harness.tombstone("b", at: 9, tag: 51),
      harness.tombstone("old", at: 9, tag: 7),
    ])
    harness.reportRestore(through: 20)
    harness.page([harness.record("a", "x", at: 5, tag: 20)], from: nil, to: now)
    harness.bringBack()
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["a", "b"])
    #expect(sent.map(\.isDelete) == [true, true])
    #expect(sent.map(\.baseTag) == [20, 0])
    #expect(try harness.store.allRecords().map(\.isDeleted) == [true, true, true])
  }

  @Test func whatSomebodySavedSinceMeetsTheRuleWithoutABase() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    harness.reportRestore(through: 20)
    var server = harness.record("a", TestApp.counter, ["y": 1], at: 12, tag: now)
    server.device = DeviceID(rawValue: 3)
    harness.page([server], from: nil, to: now)
    #expect(harness.conflicts == 1)
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [now])
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 5, "y": 1])
  }

  /// Here the user set "done"; the lost text was written by another device.
  @Test func aLostTextThatTheChangeDidNotTouchIsKeptAsACopy() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.memo, ["text": "lost"], at: 10, tag: 50)])
    harness.edit(.fields("a", TestApp.memo, ["text": "lost", "done": true]))
    harness.reportRestore(through: 20)
    var theirs = harness.record("a", TestApp.memo, ["text": "theirs"], at: 15, tag: now)
    theirs.device = DeviceID(rawValue: 3)
    harness.page([theirs], from: nil, to: now)
    #expect(try harness.store.record(.desk("a"))?.text == "theirs")
    #expect(try harness.store.record(.desk("a"))?.value?["done"] == true)
    let copies = try harness.store.allRecords().filter { $0.key != .desk("a") }
    #expect(copies.map(\.text) == ["lost"])
  }

  @Test func whatAnotherDeviceBroughtBackAlreadyIsTaken() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)])
    harness.reportRestore(through: 20)
    let back = harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: now)
    harness.page([back], from: nil, to: now)
    #expect(try harness.store.record(.desk("a")) == back)
    #expect(harness.freezeBatch() == nil)
    #expect(harness.conflicts == 0)
  }

  @Test func twoDevicesThatBringBackTheSameDoNotQuarrel() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)])
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    harness.bringBack()
    let back = harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: now + 1)
    try harness.answer(
      try harness.freezeOneBatch(), [.conflict(name: Name(trusted: "a"), record: back)])
    #expect(try harness.store.record(.desk("a")) == back)
    #expect(harness.outbox == OutboxSummary())
    #expect(harness.conflicts == 0)
  }

  // MARK: unsent changes

  @Test func anEditOfALostVersionStandsOnWhatTheRelayHas() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    _ = harness.edit(.count("a"))
    harness.reportRestore(through: 20)
    harness.page(
      [harness.record("a", TestApp.counter, ["x": 1], at: 5, tag: 20)], from: nil, to: now)
    #expect(harness.conflicts == 0)
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 5, harness.device.text: 1])
  }

  @Test func anEditOfAVersionThatIsThereConflictsAsEver() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: 10)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 2]))
    harness.reportRestore(through: 20)
    harness.page(
      [harness.record("a", TestApp.choice, ["v": 3], at: 5, tag: 20)], from: nil, to: now)
    #expect(harness.outbox.asking == [.desk("a")])
  }

  @Test func anEditOfALostVersionIsNewWhereTheRelayHasNothing() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", "x", at: 9, tag: 50), harness.record("b", "x", at: 9, tag: 51),
    ])
    _ = harness.edit(.note("a", "mine"))
    _ = harness.edit(.delete("b"))
    harness.reportRestore(through: 20)
    harness.page([], from: nil, to: now)
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [0, 0])
    // Other devices may save `b` again: the delete must not be lost.
    #expect(sent.map(\.isDelete) == [false, true])
    #expect(try harness.store.record(.desk("a"))?.text == "mine")
  }

  @Test func anEditOfALostVersionStandsOnThatVersionBroughtBack() throws {
    var harness = try ReplicaHarness()
    let lost = harness.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)
    try harness.apply([lost])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 2]))
    harness.reportRestore(through: 20)
    var back = lost
    back.tag = now
    harness.page([back], from: nil, to: now)
    #expect(harness.conflicts == 0)
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [now])
  }

  @Test(arguments: [true, false]) func aQuestionAboutALostVersionCanStillBeAnswered(
    keepsLocal: Bool
  ) throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 1]))
    let lost = harness.record("a", TestApp.choice, ["v": 2], at: 10, tag: 50)
    try harness.answer(
      try harness.freezeOneBatch(), [.conflict(name: Name(trusted: "a"), record: lost)])
    harness.reportRestore(through: 20)
    let older = harness.record("a", TestApp.choice, ["v": 0], at: 5, tag: 20)
    harness.page([older], from: nil, to: now)
    #expect(harness.outbox.asking == [.desk("a")])
    _ = try harness.decide("a", keepLocal: keepsLocal).get()
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    let expected: JSONValue = keepsLocal ? ["v": 1] : ["v": 2]
    #expect(try harness.store.record(.desk("a"))?.value == expected)
  }

  @Test func aParkedEditOfALostVersionStaysParked() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 9, tag: 50)])
    _ = harness.edit(.note("a", "mine"))
    try harness.answer(
      try harness.freezeOneBatch(),
      [.refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large"))])
    harness.reportRestore(through: 20)
    harness.page([harness.record("a", "y", at: 5, tag: 20)], from: nil, to: now)
    #expect(harness.outbox.parkedCount == 1)
    _ = harness.edit(.note("a", "smaller"))
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [20])
  }

  // MARK: changes in flight

  @Test func aSaveThatLandsOnTheRestoredRelayIsNotLost() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("old", "x", at: 1, tag: 50)])
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    // It is sent again after the restore, which the device detects by the answer's token.
    harness.generation = 2
    try harness.answer(batch, [.saved(name: Name(trusted: "a"), tag: now)])
    guard case .success(.applied(let applied)) = harness.outcome.result else {
      throw TestFault("not applied")
    }
    #expect(applied.foundGap)
    harness.reopen()
    harness.perform(.forgetCursor(restoredThrough: 20))
    // Another device deletes it before the snapshot.
    harness.page([], from: nil, to: now + 5)
    harness.bringBack()
    let sent = try harness.sendAll(from: now + 6)
    #expect(sent.map(\.name.text) == ["old"])
    #expect(try harness.store.allRecords().map(\.name.text) == ["old"])
  }

  @Test func aConflictBeforeTheRestoreIsKnownWaitsForTheSnapshot() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try harness.freezeOneBatch()
    harness.generation = 2
    let older = harness.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(try harness.store.outbox().map(\.state) == [.waiting])
    harness.perform(.forgetCursor(restoredThrough: 20))
    harness.page([older], from: nil, to: now)
    #expect(harness.conflicts == 0)
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [20])
    #expect(try harness.store.record(.desk("a"))?.value == ["v": 6])
  }

  @Test(arguments: [true, false]) func aConflictAfterTheRestoreIsKnownIsNone(
    hasOlder: Bool
  ) throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try harness.freezeOneBatch()
    harness.reportRestore(through: 20)
    let older = harness.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    let server = hasOlder ? older : .nothing(at: .desk("a"))
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(harness.conflicts == 0)
    harness.page(hasOlder ? [older] : [], from: nil, to: now)
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [server.tag])
    #expect(try harness.store.record(.desk("a"))?.value == ["v": 6])
  }

  @Test func anOlderVersionThanTheBaseIsNoConflictWhateverIsKnown() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 6]))
    let older = harness.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    try harness.answer(
      try harness.freezeOneBatch(), [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(harness.conflicts == 0)
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [20])
  }

  /// The relay has nothing of what gave the base its tag. Its tags may be smaller, so that another
  /// device's new version must not be taken for an older one and be overwritten.
  @Test func aSmallerTagOfARelayThatKnowsNothingOfTheBaseIsAConflict() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 6]))
    harness.reportRestore(through: 0)
    var server = harness.record("a", TestApp.counter, ["y": 1], at: 12, tag: 40)
    server.device = DeviceID(rawValue: 3)
    harness.page([server], from: nil, to: 45)
    #expect(harness.conflicts == 1)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 6, "y": 1])
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == [40])
  }

  /// The relay's clock was set back between two restores, so that its tags are smaller than one
  /// that this device was given. A version that another device has saved since is not an older one.
  @Test(arguments: [false, true])
  func aSmallerTagOfARelayWhoseClockWasSetBackIsAConflict(isEdited: Bool) throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    if isEdited { _ = harness.edit(.fields("a", TestApp.counter, ["x": 6])) }
    harness.reportRestore(through: 20)
    var server = harness.record("a", TestApp.counter, ["y": 1], at: 12, tag: 40)
    server.device = DeviceID(rawValue: 3)
    harness.page([server], from: nil, to: 45)
    #expect(harness.conflicts == 1)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": isEdited ? 6 : 5, "y": 1])
  }

  /// Saves after other devices have saved in between: the cursor does not move.
  private func saveBeyondTheCursor(_ harness: inout ReplicaHarness) throws {
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    let others = ChangeToken(generation: 1, sequence: 49)
    harness.perform(
      .apply([
        .answer(
          batch.id,
          SaveAnswer(
            since: others, token: ChangeToken(generation: 1, sequence: 50),
            results: [.saved(name: Name(trusted: "a"), tag: 50)]), isLink: true)
      ]))
  }

  @Test func whatWasSavedBeyondACursorThatTheBackupCoversIsBroughtBackToo() throws {
    var harness = try ReplicaHarness()
    try saveBeyondTheCursor(&harness)
    let cursor = try #require(try harness.store.cursor())
    harness.generation = 2
    let applied = harness.page([harness.record("b", "x", at: 1, tag: 20)], since: cursor, to: now)
    // A request from before the save does not cover it: the next one uses a token that includes it.
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(cursor.extendingHorizon(to: 50)))
    harness.perform(.forgetCursor(restoredThrough: 20, in: 2))
    harness.page([harness.record("b", "x", at: 1, tag: 20)], from: nil, to: now)
    harness.bringBack()
    let sent = try harness.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["a"])
  }

  @Test func whatARestoredRelayVouchesForIsNotBroughtBack() throws {
    var harness = try ReplicaHarness()
    try saveBeyondTheCursor(&harness)
    let cursor = try #require(try harness.store.cursor()).extendingHorizon(to: 50)
    harness.generation = 2
    // A device that had received it has changed it since.
    var theirs = harness.record("a", "theirs", at: harness.now + 1, tag: now)
    theirs.device = DeviceID(rawValue: 9)
    let applied = harness.page([theirs], since: cursor, to: now)
    #expect(applied?.foundGap == false)
    #expect(try harness.store.record(.desk("a"))?.text == "theirs")
    #expect(try harness.store.outbox().isEmpty)
  }

  @Test func whatWasMadeInAZoneThatWasOffKnowsNothingOfTheBackup() throws {
    var harness = try ReplicaHarness()
    let order = OrderID(rawValue: 1)
    harness.perform(.setSyncing(order, zone: TestApp.zone, false))
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 1]))
    let theirs = harness.record("a", TestApp.counter, ["y": 2], at: 5, tag: 20)
    try harness.apply([theirs])
    harness.reportRestore(through: 30)
    harness.page([theirs], from: nil, to: now)
    harness.perform(.setSyncing(order, zone: TestApp.zone, true))
    harness.page([theirs], from: nil, to: now)
    #expect(harness.conflicts == 1)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 1, "y": 2])
  }

  @Test func whatTheRelayHasFromBeforeTheLostVersionIsNoConflict() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "first", at: 5, tag: 40)])
    try harness.apply([harness.record("a", "second", at: 9, tag: 50)])
    // The cursor was set back to 20 meanwhile, so the backup is only known to reach that tag.
    harness.reportRestore(through: 20)
    harness.page([harness.record("a", "first", at: 5, tag: 40)], from: nil, to: now)
    #expect(harness.conflicts == 0)
    #expect(try harness.sendAll(from: now + 1).map(\.baseTag) == [40])
  }

  @Test func aCursorThatTheBackupCoversIsFollowedWhereNothingIsBeyondIt() throws {
    var harness = try ReplicaHarness()
    let cursor = try #require(try harness.store.cursor())
    harness.generation = 2
    let applied = harness.page([harness.record("b", "x", at: 1, tag: 20)], since: cursor, to: now)
    #expect(applied?.foundGap == false)
    #expect(try harness.store.cursor() == ChangeToken(generation: 2, sequence: now))
  }
}
