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
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 9, tag: 50)])
    let cursor = try #require(try desk.store.cursor())
    // The cursor has expired; the relay is restored before the snapshot.
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.reopen()
    desk.generation = 2
    let applied = desk.page([], from: nil, to: now)
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(cursor))
    #expect(try desk.store.record(.desk("a")) != nil)
    // The relay reports the loss when asked for changes after the former position.
    desk.perform(.forgetCursor(restoredThrough: 20, in: 2))
    desk.page([], from: nil, to: now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: now + 1)) == ["a"])
  }

  @Test func aPlaceThatTheBackupCoversLosesNothing() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 9, tag: 2)])
    let cursor = try #require(try desk.store.cursor())
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.generation = 2
    desk.page([], from: nil, to: now)
    // The cursor is accepted, and then the snapshot follows after all.
    let followed = desk.page([], since: cursor, to: now)
    #expect(followed?.foundGap == true)
    #expect(followed?.position == .nothing)
    let snapshot = desk.page([], from: nil, to: now)
    #expect(snapshot?.foundGap == false)
    #expect(try desk.store.cursor() == ChangeToken(generation: 2, sequence: now))
    // Another device has deleted the record that the snapshot does not name.
    #expect(try desk.store.record(.desk("a")) == nil)
  }

  @Test func whatWasSavedBetweenTwoRestoresIsBroughtBack() throws {
    var desk = try Desk()
    try desk.apply([desk.record("old", "x", at: 1, tag: 50)])
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    desk.generation = 2
    try desk.answer(batch, [.saved(name: Name(trusted: "a"), tag: now)])
    // The relay is restored again before it has reported how far back it went.
    desk.reopen()
    desk.generation = 3
    desk.perform(.forgetCursor(restoredThrough: 20, in: 3))
    desk.page([], from: nil, to: 2 * now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: 2 * now + 1)) == ["a", "old"])
  }

  @Test func aSecondRestoreBeforeTheSnapshotIsNoticedByIt() throws {
    var desk = try Desk()
    try desk.apply([desk.record("old", "x", at: 1, tag: 50)])
    desk.generation = 2
    desk.perform(.forgetCursor(restoredThrough: 40, in: 2))
    _ = desk.edit(.note("a", "mine"))
    try desk.answer(try desk.takeOne(), [.saved(name: Name(trusted: "a"), tag: now)])
    desk.generation = 3
    #expect(desk.page([], from: nil, to: 2 * now)?.foundGap == true)
    desk.perform(.forgetCursor(restoredThrough: 20, in: 3))
    desk.page([], from: nil, to: 2 * now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: 2 * now + 1)) == ["a", "old"])
  }

  @Test func whatWasReadBetweenTwoRestoresAndSurvivedTheSecondIsNotBroughtBack() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 9, tag: 50)])
    desk.generation = 2
    desk.perform(.forgetCursor(restoredThrough: 20, in: 2))
    // An unsent change keeps the first restore from ending.
    _ = desk.edit(.note("b", "mine"))
    desk.page([desk.record("a", "y", at: 10, tag: now)], from: nil, to: now)
    desk.generation = 3
    desk.perform(.forgetCursor(restoredThrough: now, in: 3))
    // Another device deletes it, with a clock that is behind.
    var gone = desk.record("a", "", at: 9, tag: 2 * now)
    gone.fields = nil
    desk.page([gone], from: nil, to: 2 * now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: 2 * now + 1)) == ["b"])
    #expect(try desk.store.record(.desk("a"))?.fields == nil)
  }

  @Test func aDeletionThatOnlyTheSecondRestoreHasLostIsBroughtBack() throws {
    var desk = try Desk()
    try desk.apply([desk.tombstone("a", at: 9, tag: 30)])
    // The first copy has the deletion: its snapshot does not name the deleted record.
    desk.generation = 2
    desk.perform(.forgetCursor(restoredThrough: 40, in: 2))
    desk.page([], from: nil, to: now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: now + 1)).isEmpty)
    // The second copy was made before the deletion.
    desk.reopen()
    desk.generation = 3
    desk.perform(.forgetCursor(restoredThrough: 20, in: 3))
    desk.page([desk.record("a", "x", at: 1, tag: 10)], from: nil, to: 2 * now)
    desk.bringBack()
    let sent = try desk.sendAll(from: 2 * now + 1)
    #expect(names(sent) == ["a"] && sent.first?.isDelete == true && sent.first?.baseTag == 10)
    #expect(try desk.store.record(.desk("a"))?.isDeleted == true)
  }

  @Test func whatCameSinceARestoreIsNotLostByACrashThatTakesTheCursorBack() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 1, tag: 1)])
    let cursor = try #require(try desk.store.cursor())
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    // The restored relay has lost nothing of this device. The change in flight holds the store's
    // cursor.
    desk.generation = 2
    desk.page(
      [desk.record("a", "y", at: 2, tag: now), desk.record("b", "theirs", at: 2, tag: now + 1)],
      since: cursor, to: now + 1)
    #expect(try desk.store.cursor() == cursor)
    desk.reopen()
    // Meanwhile another device deletes the received record.
    var gone = desk.record("b", "", at: 3, tag: now + 2)
    gone.fields = nil
    let again = desk.page(
      [desk.record("a", "y", at: 2, tag: now), gone], since: cursor, to: now + 2)
    #expect(again?.foundGap == false)
    try desk.answer(
      batch, [.conflict(name: Name(trusted: "a"), record: desk.record("a", "y", at: 2, tag: now))])
    desk.bringBack()
    #expect(try desk.store.record(.desk("b"))?.fields == nil)
    #expect(!names(try desk.sendAll(from: now + 3)).contains("b"))
  }

  @Test func anOwnSaveThatWasHeldBackIsNotForgotten() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    // Its push arrives before its answer, which is lost with the relay's state.
    var own = desk.record("a", "mine", at: batch.mutations[0].modifiedAt, tag: 50)
    own.device = desk.device
    try desk.apply([own])
    desk.generation = 2
    try desk.answer(
      batch, [.conflict(name: Name(trusted: "a"), record: .nothing(at: .desk("a")))])
    desk.perform(.forgetCursor(restoredThrough: 20, in: 2))
    desk.page([], from: nil, to: now)
    desk.bringBack()
    #expect(names(try desk.sendAll(from: now + 1)) == ["a"])
    #expect(try desk.store.record(.desk("a"))?.text == "mine")
  }

  @Test func aLaterEditWaitsForWhatBecomesOfTheFirst() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.choice, ["v": 5], at: 9, tag: 10)])
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 6]))
    let batch = try desk.takeOne()
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 7]))
    desk.generation = 2
    desk.perform(.forgetCursor(restoredThrough: 5, in: 2))
    desk.page([], from: nil, to: now)
    #expect(desk.outbox.asking == [])
    try desk.answer(batch, [.saved(name: Name(trusted: "a"), tag: now + 1)])
    #expect(try desk.sendAll(from: now + 2).map(\.baseTag) == [now + 1])
  }

  @Test func whatWasSentAndTurnedDownIsDeletedAtTheRelayToo() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    // The first try may still be saved.
    desk.perform(.refuseBatch(batch.id, Refusal(.planRequired, "no zone")))
    _ = desk.edit(.delete("a"))
    #expect(try desk.takeOne().mutations.map(\.isDelete) == [true])
  }
}
