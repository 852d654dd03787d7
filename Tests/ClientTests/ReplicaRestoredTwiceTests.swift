import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// A restore of the relay while a device is in the middle of something else: a snapshot, an answer,
/// or an earlier restore.
struct ReplicaRestoredTwiceTests {
  private let now: ChangeTag = 1 << 32

  private func names(_ sent: [Mutation]) -> [String] { sent.map(\.name.text) }

  @Test func aSnapshotOfAnotherHistoryDropsNothingBeforeTheLossIsKnown() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 9, tag: 50)])
    let cursor = try #require(try harness.store.cursor())
    // The cursor has expired; the relay is restored before the snapshot.
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.reopen()
    harness.generation = 2
    let applied = harness.page([], from: nil, to: now)
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(cursor))
    #expect(try harness.store.record(.desk("a")) != nil)
    // The relay reports the loss when asked for changes after the former position.
    harness.perform(.forgetCursor(restoredThrough: 20, in: 2))
    harness.page([], from: nil, to: now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: now + 1)) == ["a"])
  }

  @Test func aPlaceThatTheBackupCoversLosesNothing() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 9, tag: 2)])
    let cursor = try #require(try harness.store.cursor())
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.generation = 2
    harness.page([], from: nil, to: now)
    // The cursor is accepted, and then the snapshot follows after all.
    let followed = harness.page([], since: cursor, to: now)
    #expect(followed?.foundGap == true)
    #expect(followed?.position == .nothing)
    let snapshot = harness.page([], from: nil, to: now)
    #expect(snapshot?.foundGap == false)
    #expect(try harness.store.cursor() == ChangeToken(generation: 2, sequence: now))
    // Another device has deleted the record that the snapshot does not name.
    #expect(try harness.store.record(.desk("a")) == nil)
  }

  @Test func whatWasSavedBetweenTwoRestoresIsBroughtBack() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("old", "x", at: 1, tag: 50)])
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    harness.generation = 2
    try harness.answer(batch, [.saved(name: Name(trusted: "a"), tag: now)])
    // The relay is restored again before it has reported how far back it went.
    harness.reopen()
    harness.generation = 3
    harness.perform(.forgetCursor(restoredThrough: 20, in: 3))
    harness.page([], from: nil, to: 2 * now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: 2 * now + 1)) == ["a", "old"])
  }

  @Test func aSecondRestoreBeforeTheSnapshotIsNoticedByIt() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("old", "x", at: 1, tag: 50)])
    harness.generation = 2
    harness.perform(.forgetCursor(restoredThrough: 40, in: 2))
    _ = harness.edit(.note("a", "mine"))
    try harness.answer(try harness.freezeOneBatch(), [.saved(name: Name(trusted: "a"), tag: now)])
    harness.generation = 3
    #expect(harness.page([], from: nil, to: 2 * now)?.foundGap == true)
    harness.perform(.forgetCursor(restoredThrough: 20, in: 3))
    harness.page([], from: nil, to: 2 * now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: 2 * now + 1)) == ["a", "old"])
  }

  @Test func whatWasReadBetweenTwoRestoresAndSurvivedTheSecondIsNotBroughtBack() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 9, tag: 50)])
    harness.generation = 2
    harness.perform(.forgetCursor(restoredThrough: 20, in: 2))
    // An unsent change keeps the first restore from ending.
    _ = harness.edit(.note("b", "mine"))
    harness.page([harness.record("a", "y", at: 10, tag: now)], from: nil, to: now)
    harness.generation = 3
    harness.perform(.forgetCursor(restoredThrough: now, in: 3))
    // Another device deletes it, with a clock that is behind.
    var gone = harness.record("a", "", at: 9, tag: 2 * now)
    gone.fields = nil
    harness.page([gone], from: nil, to: 2 * now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: 2 * now + 1)) == ["b"])
    #expect(try harness.store.record(.desk("a"))?.fields == nil)
  }

  @Test func aDeletionThatOnlyTheSecondRestoreHasLostIsBroughtBack() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.tombstone("a", at: 9, tag: 30)])
    // The first copy has the deletion: its snapshot does not name the deleted record.
    harness.generation = 2
    harness.perform(.forgetCursor(restoredThrough: 40, in: 2))
    harness.page([], from: nil, to: now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: now + 1)).isEmpty)
    // The second copy was made before the deletion.
    harness.reopen()
    harness.generation = 3
    harness.perform(.forgetCursor(restoredThrough: 20, in: 3))
    harness.page([harness.record("a", "x", at: 1, tag: 10)], from: nil, to: 2 * now)
    harness.bringBack()
    let sent = try harness.sendAll(from: 2 * now + 1)
    #expect(names(sent) == ["a"] && sent.first?.isDelete == true && sent.first?.baseTag == 10)
    #expect(try harness.store.record(.desk("a"))?.isDeleted == true)
  }

  @Test func whatCameSinceARestoreIsNotLostByACrashThatTakesTheCursorBack() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 1, tag: 1)])
    let cursor = try #require(try harness.store.cursor())
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    // The restored relay has lost nothing of this device. The change in flight holds the store's
    // cursor.
    harness.generation = 2
    harness.page(
      [
        harness.record("a", "y", at: 2, tag: now),
        harness.record("b", "theirs", at: 2, tag: now + 1),
      ],
      since: cursor, to: now + 1)
    // It is a cursor of the new history, which has accepted it.
    let kept = ChangeToken(generation: 2, sequence: cursor.sequence)
    #expect(try harness.store.cursor() == kept)
    harness.reopen()
    let position = try #require(harness.loadedPosition)
    #expect(position.isSamePosition(as: kept) && position.reach == now + 1)
    // Meanwhile another device deletes the received record.
    var gone = harness.record("b", "", at: 3, tag: now + 2)
    gone.fields = nil
    let again = harness.page(
      [harness.record("a", "y", at: 2, tag: now), gone], since: position, to: now + 2)
    #expect(again?.foundGap == false)
    try harness.answer(
      batch,
      [.conflict(name: Name(trusted: "a"), record: harness.record("a", "y", at: 2, tag: now))])
    harness.bringBack()
    #expect(try harness.store.record(.desk("b"))?.fields == nil)
    #expect(!names(try harness.sendAll(from: now + 3)).contains("b"))
  }

  /// `isKept`: the second backup was made after the record had come.
  @Test(arguments: [true, false])
  func whatCameBetweenTwoRestoresIsLostOnlyByTheSecondDespiteACrash(isKept: Bool) throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 1, tag: 1)])
    let cursor = try #require(try harness.store.cursor())
    _ = harness.edit(.note("a", "mine"))
    _ = try harness.freezeOneBatch()
    harness.generation = 2
    harness.page(
      [
        harness.record("a", "y", at: 2, tag: now),
        harness.record("b", "theirs", at: 2, tag: now + 1),
      ],
      since: cursor, to: now + 1)
    // A crash takes the cursor back to where the batch in flight was sent.
    harness.reopen()
    let since = try #require(harness.loadedPosition)
    harness.generation = 3
    let relay = AccountHead(generation: 3, newest: 2 * now)
    let end = since.generation == 1 ? 2 : isKept ? now + 1 : now
    var page = [harness.record("a", "y", at: 2, tag: now)]
    // Another device deletes the record after the second restore.
    if isKept { page.append(harness.tombstone("b", at: 3, tag: 2 * now)) }
    do throws(Refusal) {
      try relay.check(since, endedAt: end)
      harness.page(page, since: since, to: 2 * now)
    } catch {
      harness.perform(.forgetCursor(restoredThrough: error.provenLoss, in: 3))
      harness.page(page.filter { !$0.isDeleted }, from: nil, to: 2 * now)
    }
    harness.bringBack()
    let held = try #require(try harness.store.record(.desk("b")))
    #expect(held.isDeleted == isKept && (isKept || held.text == "theirs"))
    #expect(names(try harness.sendAll(from: 2 * now + 1)).contains("b") == !isKept)
  }

  @Test(arguments: [false, true])
  func aSaveToARestoredRelayWhoseDiskThenGoesBackIsBroughtBack(isReopened: Bool) throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 1, tag: 2)])
    let cursor = try #require(try harness.store.cursor())
    _ = harness.edit(.note("b", "mine"))
    let batch = try harness.freezeOneBatch()
    harness.generation = 2
    try harness.answer(batch, [.saved(name: Name(trusted: "b"), tag: now + 1)])
    if isReopened { harness.reopen() }
    // The relay's disk goes back to the state before that save. The backup covers the cursor.
    let followed = harness.page([], since: cursor, to: now)
    #expect(followed?.foundGap == true)
    #expect(followed?.position == .nothing)
    #expect(try harness.store.cursor() == nil)
    harness.page([harness.record("a", "x", at: 1, tag: 2)], from: nil, to: now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: now + 2)) == ["b"])
  }

  @Test func aSaveToARestoredRelayThatHasItIsNotAskedFor() throws {
    var harness = try ReplicaHarness()
    let cursor = try #require(try harness.store.cursor())
    _ = harness.edit(.note("b", "mine"))
    let batch = try harness.freezeOneBatch()
    harness.generation = 2
    try harness.answer(batch, [.saved(name: Name(trusted: "b"), tag: now + 1)])
    #expect(harness.page([], since: cursor, to: now + 1)?.foundGap == false)
    #expect(try harness.store.cursor() == ChangeToken(generation: 2, sequence: now + 1))
  }

  @Test func aSaveWithoutACursorWhoseRelayThenGoesBackIsBroughtBack() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("b", "mine"))
    let batch = try harness.freezeOneBatch()
    // The cursor has expired. The relay's disk goes back between the answer and the snapshot.
    harness.perform(.forgetCursor(restoredThrough: nil))
    try harness.answer(batch, [.saved(name: Name(trusted: "b"), tag: 50)])
    harness.page([], from: nil, to: 40)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: 60)) == ["b"])
  }

  @Test func anOwnSaveThatWasHeldBackIsNotForgotten() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    // Its push arrives before its answer, which is lost with the relay's state.
    var own = harness.record("a", "mine", at: batch.mutations[0].modifiedAt, tag: 50)
    own.device = harness.device
    try harness.apply([own])
    harness.generation = 2
    try harness.answer(
      batch, [.conflict(name: Name(trusted: "a"), record: .nothing(at: .desk("a")))])
    harness.perform(.forgetCursor(restoredThrough: 20, in: 2))
    harness.page([], from: nil, to: now)
    harness.bringBack()
    #expect(names(try harness.sendAll(from: now + 1)) == ["a"])
    #expect(try harness.store.record(.desk("a"))?.text == "mine")
  }

  @Test func aLaterEditWaitsForWhatBecomesOfTheFirst() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.choice, ["v": 5], at: 9, tag: 10)])
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try harness.freezeOneBatch()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 7]))
    harness.generation = 2
    harness.perform(.forgetCursor(restoredThrough: 5, in: 2))
    harness.page([], from: nil, to: now)
    #expect(harness.outbox.asking == [])
    try harness.answer(batch, [.saved(name: Name(trusted: "a"), tag: now + 1)])
    #expect(try harness.sendAll(from: now + 2).map(\.baseTag) == [now + 1])
  }

  @Test func whatWasSentAndTurnedDownIsDeletedAtTheRelayToo() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    // The first try may still be saved.
    harness.perform(.refuseBatch(batch.id, Refusal(.planRequired, "no zone")))
    _ = harness.edit(.delete("a"))
    #expect(try harness.freezeOneBatch().mutations.map(\.isDelete) == [true])
  }
}
