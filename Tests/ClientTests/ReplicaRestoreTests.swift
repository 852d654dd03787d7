import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// A relay restored from a backup: the devices save again what it has lost.
struct ReplicaRestoreTests {
  /// First tag of a restored relay.
  private let now: ChangeTag = 1 << 32

  @Test func whatTheRelayHasLostFollowsWhatItHas() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "lost on the relay", at: 9, tag: 50)])
    desk.learnOfRestore(through: 20)
    desk.page([desk.record("a", "from the backup", at: 5, tag: 20)], from: nil, to: now)
    #expect(try desk.store.record(.desk("a"))?.text == "lost on the relay")
    #expect(desk.changed.isEmpty)
    #expect(desk.conflicts == 0)
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    #expect(sent.map(\.modifiedAt) == [9])
    #expect(try desk.store.record(.desk("a"))?.tag == now + 1)
    #expect(try desk.store.value("restore") == nil)
  }

  /// The device lost its cursor, or was offline for long, and only the snapshot reports the
  /// restore.
  @Test func aSnapshotThatTellsOfLostTagsBringsBackWhatHasThem() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("kept", "x", at: 1, tag: 19), desk.record("lost", "x", at: 1, tag: 21),
      desk.record("deleted", "x", at: 1, tag: 40),
    ])
    desk.perform(.forgetCursor(restoredThrough: nil))
    let token = ChangeToken(generation: 1, sequence: now)
    desk.perform(
      .apply([
        .page(
          ChangePage(
            since: nil, token: token, more: false,
            changes: [desk.record("kept", "x", at: 1, tag: 19)],
            lostTags: [TagGap(after: 2, through: 5), TagGap(after: 20, through: 39)]))
      ]))
    #expect(desk.changed.map(\.name.text) == ["deleted"])
    desk.bringBack()
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["lost"])
  }

  /// It saved before it read, so that its token only covers its last save.
  @Test func aPageThatPassesOverLostTagsWhichAreHeldLeadsToASnapshot() throws {
    var desk = try Desk()
    try desk.apply([desk.record("lost", "x", at: 1, tag: 21)])
    let since = ChangeToken(generation: 1, sequence: 2)
    let next = ChangeToken(generation: 1, sequence: now)
    func page(_ gap: TagGap) -> ReplicaTask {
      .apply([
        .page(
          ChangePage(
            since: since, token: next, more: false,
            changes: [desk.record("new", "y", at: 2, tag: now)], lostTags: [gap]))
      ])
    }
    desk.perform(page(TagGap(after: 20, through: 30)))
    #expect(try desk.store.record(.desk("new")) == nil)
    #expect(try desk.store.cursor() == nil)
    desk.page([desk.record("new", "y", at: 2, tag: now)], from: nil, to: now)
    desk.bringBack()
    #expect(try desk.sendAll(from: now + 1).map(\.name.text) == ["lost"])
    // Lost tags that this device does not hold do not concern it.
    var other = try Desk()
    try other.apply([other.record("kept", "x", at: 1, tag: 2)])
    other.perform(page(TagGap(after: 20, through: 30)))
    #expect(try other.store.record(.desk("new"))?.text == "y")
  }

  @Test func whatTheRelayDoesNotNameGoesBackAsNew() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("kept", "x", at: 1, tag: 19), desk.record("deleted", "x", at: 1, tag: 20),
      desk.record("lost", "x", at: 1, tag: 21),
    ])
    desk.learnOfRestore(through: 20)
    // Another device has deleted one since the restore.
    desk.page([desk.record("kept", "x", at: 1, tag: 19)], from: nil, to: now)
    #expect(desk.changed.map(\.name.text) == ["deleted"])
    desk.bringBack()
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["lost"])
    #expect(sent.map(\.baseTag) == [0])
    #expect(try desk.store.allRecords().map(\.name.text) == ["kept", "lost"])
  }

  @Test func deletesThatTheRelayHasLostGoBackAsDeletes() throws {
    var desk = try Desk()
    try desk.apply([
      desk.tombstone("a", at: 9, tag: 50), desk.tombstone("b", at: 9, tag: 51),
      desk.tombstone("old", at: 9, tag: 7),
    ])
    desk.learnOfRestore(through: 20)
    desk.page([desk.record("a", "x", at: 5, tag: 20)], from: nil, to: now)
    desk.bringBack()
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["a", "b"])
    #expect(sent.map(\.isDelete) == [true, true])
    #expect(sent.map(\.baseTag) == [20, 0])
    #expect(try desk.store.allRecords().map(\.isDeleted) == [true, true, true])
  }

  @Test func whatSomebodySavedSinceMeetsTheRuleWithoutABase() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    desk.learnOfRestore(through: 20)
    var server = desk.record("a", TestApp.counter, ["y": 1], at: 12, tag: now)
    server.device = DeviceID(rawValue: 3)
    desk.page([server], from: nil, to: now)
    #expect(desk.conflicts == 1)
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [now])
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 5, "y": 1])
  }

  @Test func whatAnotherDeviceBroughtBackAlreadyIsTaken() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)])
    desk.learnOfRestore(through: 20)
    let back = desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: now)
    desk.page([back], from: nil, to: now)
    #expect(try desk.store.record(.desk("a")) == back)
    #expect(desk.take() == nil)
    #expect(desk.conflicts == 0)
  }

  @Test func twoDevicesThatBringBackTheSameDoNotQuarrel() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)])
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    desk.bringBack()
    let back = desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: now + 1)
    try desk.answer(
      try desk.takeOne(), [.conflict(name: Name(trusted: "a"), record: back)])
    #expect(try desk.store.record(.desk("a")) == back)
    #expect(desk.outbox == OutboxSummary())
    #expect(desk.conflicts == 0)
  }

  // MARK: unsent changes

  @Test func anEditOfALostVersionStandsOnWhatTheRelayHas() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.counter, ["x": 5], at: 9, tag: 50)])
    _ = desk.edit(.count("a"))
    desk.learnOfRestore(through: 20)
    desk.page(
      [desk.record("a", TestApp.counter, ["x": 1], at: 5, tag: 20)], from: nil, to: now)
    #expect(desk.conflicts == 0)
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 5, desk.device.text: 1])
  }

  @Test func anEditOfAVersionThatIsThereConflictsAsEver() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: 10)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 2]))
    desk.learnOfRestore(through: 20)
    desk.page(
      [desk.record("a", TestApp.choice, ["v": 3], at: 5, tag: 20)], from: nil, to: now)
    #expect(desk.outbox.asking == [.desk("a")])
  }

  @Test func anEditOfALostVersionIsNewWhereTheRelayHasNothing() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("a", "x", at: 9, tag: 50), desk.record("b", "x", at: 9, tag: 51),
    ])
    _ = desk.edit(.note("a", "mine"))
    _ = desk.edit(.delete("b"))
    desk.learnOfRestore(through: 20)
    desk.page([], from: nil, to: now)
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [0, 0])
    // Other devices may save `b` again: the delete must not be lost.
    #expect(sent.map(\.isDelete) == [false, true])
    #expect(try desk.store.record(.desk("a"))?.text == "mine")
  }

  @Test func anEditOfALostVersionStandsOnThatVersionBroughtBack() throws {
    var desk = try Desk()
    let lost = desk.record("a", TestApp.choice, ["v": 1], at: 9, tag: 50)
    try desk.apply([lost])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 2]))
    desk.learnOfRestore(through: 20)
    var back = lost
    back.tag = now
    desk.page([back], from: nil, to: now)
    #expect(desk.conflicts == 0)
    #expect(desk.take()?.mutations.map(\.baseTag) == [now])
  }

  @Test(arguments: [true, false]) func aQuestionAboutALostVersionCanStillBeAnswered(
    keepsLocal: Bool
  ) throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    let lost = desk.record("a", TestApp.choice, ["v": 2], at: 10, tag: 50)
    try desk.answer(try desk.takeOne(), [.conflict(name: Name(trusted: "a"), record: lost)])
    desk.learnOfRestore(through: 20)
    let older = desk.record("a", TestApp.choice, ["v": 0], at: 5, tag: 20)
    desk.page([older], from: nil, to: now)
    #expect(desk.outbox.asking == [.desk("a")])
    _ = try desk.decide("a", keepLocal: keepsLocal).get()
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.baseTag) == [20])
    let expected: JSONValue = keepsLocal ? ["v": 1] : ["v": 2]
    #expect(try desk.store.record(.desk("a"))?.value == expected)
  }

  @Test func aParkedEditOfALostVersionStaysParked() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 9, tag: 50)])
    _ = desk.edit(.note("a", "mine"))
    try desk.answer(
      try desk.takeOne(),
      [.refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large"))])
    desk.learnOfRestore(through: 20)
    desk.page([desk.record("a", "y", at: 5, tag: 20)], from: nil, to: now)
    #expect(desk.outbox.parkedCount == 1)
    _ = desk.edit(.note("a", "smaller"))
    #expect(desk.take()?.mutations.map(\.baseTag) == [20])
  }

  // MARK: changes in flight

  @Test func aSaveThatLandsOnTheRestoredRelayIsNotLost() throws {
    var desk = try Desk()
    try desk.apply([desk.record("old", "x", at: 1, tag: 50)])
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    // It is sent again after the restore, which the device detects by the answer's token.
    desk.generation = 2
    try desk.answer(batch, [.saved(name: Name(trusted: "a"), tag: now)])
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      throw TestFault("not applied")
    }
    #expect(applied.foundGap)
    desk.reopen()
    desk.perform(.forgetCursor(restoredThrough: 20))
    // Another device deletes it before the snapshot.
    desk.page([], from: nil, to: now + 5)
    desk.bringBack()
    let sent = try desk.sendAll(from: now + 6)
    #expect(sent.map(\.name.text) == ["old"])
    #expect(try desk.store.allRecords().map(\.name.text) == ["old"])
  }

  @Test func aConflictBeforeTheRestoreIsKnownWaitsForTheSnapshot() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try desk.takeOne()
    desk.generation = 2
    let older = desk.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(try desk.store.outbox().map(\.state) == [.waiting])
    desk.perform(.forgetCursor(restoredThrough: 20))
    desk.page([older], from: nil, to: now)
    #expect(desk.conflicts == 0)
    #expect(desk.take()?.mutations.map(\.baseTag) == [20])
    #expect(try desk.store.record(.desk("a"))?.value == ["v": 6])
  }

  @Test(arguments: [true, false]) func aConflictAfterTheRestoreIsKnownIsNone(
    hasOlder: Bool
  ) throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try desk.takeOne()
    desk.learnOfRestore(through: 20)
    let older = desk.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    let server = hasOlder ? older : .nothing(at: .desk("a"))
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(desk.conflicts == 0)
    desk.page(hasOlder ? [older] : [], from: nil, to: now)
    #expect(desk.take()?.mutations.map(\.baseTag) == [server.tag])
    #expect(try desk.store.record(.desk("a"))?.value == ["v": 6])
  }

  @Test func anOlderVersionThanTheBaseIsNoConflictWhateverIsKnown() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 5], at: 9, tag: 50)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 6]))
    let older = desk.record("a", TestApp.choice, ["v": 1], at: 5, tag: 20)
    try desk.answer(try desk.takeOne(), [.conflict(name: Name(trusted: "a"), record: older)])
    #expect(desk.conflicts == 0)
    #expect(desk.take()?.mutations.map(\.baseTag) == [20])
  }

  /// Saves after other devices have saved in between: the cursor does not move.
  private func saveBeyondTheCursor(_ desk: inout Desk) throws {
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    let others = ChangeToken(generation: 1, sequence: 49)
    desk.perform(
      .apply([
        .answer(
          batch.id,
          SaveAnswer(
            since: others, token: ChangeToken(generation: 1, sequence: 50),
            results: [.saved(name: Name(trusted: "a"), tag: 50)]), isLink: true)
      ]))
  }

  @Test func whatWasSavedBeyondACursorThatTheBackupCoversIsBroughtBackToo() throws {
    var desk = try Desk()
    try saveBeyondTheCursor(&desk)
    let cursor = try #require(try desk.store.cursor())
    desk.generation = 2
    let applied = desk.page([desk.record("b", "x", at: 1, tag: 20)], since: cursor, to: now)
    // A request from before the save does not cover it: the next one uses a token that includes it.
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(cursor.knowing(50)))
    desk.perform(.forgetCursor(restoredThrough: 20, in: 2))
    desk.page([desk.record("b", "x", at: 1, tag: 20)], from: nil, to: now)
    desk.bringBack()
    let sent = try desk.sendAll(from: now + 1)
    #expect(sent.map(\.name.text) == ["a"])
  }

  @Test func whatARestoredRelayVouchesForIsNotBroughtBack() throws {
    var desk = try Desk()
    try saveBeyondTheCursor(&desk)
    let cursor = try #require(try desk.store.cursor()).knowing(50)
    desk.generation = 2
    // A device that had received it has changed it since.
    var theirs = desk.record("a", "theirs", at: desk.now + 1, tag: now)
    theirs.device = DeviceID(rawValue: 9)
    let applied = desk.page([theirs], since: cursor, to: now)
    #expect(applied?.foundGap == false)
    #expect(try desk.store.record(.desk("a"))?.text == "theirs")
    #expect(try desk.store.outbox().isEmpty)
  }

  @Test func whatWasMadeInAZoneThatWasOffKnowsNothingOfTheBackup() throws {
    var desk = try Desk()
    let order = OrderID(rawValue: 1)
    desk.perform(.setSyncing(order, zone: TestApp.zone, false))
    _ = desk.edit(.fields("a", TestApp.counter, ["x": 1]))
    let theirs = desk.record("a", TestApp.counter, ["y": 2], at: 5, tag: 20)
    try desk.apply([theirs])
    desk.learnOfRestore(through: 30)
    desk.page([theirs], from: nil, to: now)
    desk.perform(.setSyncing(order, zone: TestApp.zone, true))
    desk.page([theirs], from: nil, to: now)
    #expect(desk.conflicts == 1)
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 1, "y": 2])
  }

  @Test func whatTheRelayHasFromBeforeTheLostVersionIsNoConflict() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "first", at: 5, tag: 40)])
    try desk.apply([desk.record("a", "second", at: 9, tag: 50)])
    // The cursor was set back to 20 meanwhile, so the backup is only known to reach that tag.
    desk.learnOfRestore(through: 20)
    desk.page([desk.record("a", "first", at: 5, tag: 40)], from: nil, to: now)
    #expect(desk.conflicts == 0)
    #expect(try desk.sendAll(from: now + 1).map(\.baseTag) == [40])
  }

  @Test func aCursorThatTheBackupCoversIsFollowedWhereNothingIsBeyondIt() throws {
    var desk = try Desk()
    let cursor = try #require(try desk.store.cursor())
    desk.generation = 2
    let applied = desk.page([desk.record("b", "x", at: 1, tag: 20)], since: cursor, to: now)
    #expect(applied?.foundGap == false)
    #expect(try desk.store.cursor() == ChangeToken(generation: 2, sequence: now))
  }
}
