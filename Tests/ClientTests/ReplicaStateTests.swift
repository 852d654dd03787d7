import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// The worker's side alone: each rule of the outbox as a sequence of jobs.
struct ReplicaStateTests {
  @Test func anEditWritesRecordAndEntryTogether() throws {
    var desk = try Desk()
    #expect(try desk.edit(.note("a", "one")).get().text == "one")
    let entry = try #require(try desk.store.outbox().first)
    #expect(entry.state == .waiting)
    #expect(entry.base == nil)
    #expect(entry.isStampTrusted)
    #expect(try desk.store.record(.desk("a"))?.tag == 0)
    #expect(desk.changed.map(\.text) == ["one"])
  }

  @Test func waitingEditsOfOneRecordBecomeOne() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "one"))
    _ = desk.edit(.note("a", "two"))
    let entries = try desk.store.outbox()
    #expect(entries.count == 1)
    #expect(entries[0].number == 1)
    #expect(entries[0].modifiedAt == desk.now + 1)
  }

  @Test func whatIsInFlightIsFrozenAndALaterEditStandsOnIt() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "one"))
    let batch = try desk.takeOne()
    _ = desk.edit(.note("a", "two"))
    _ = desk.edit(.note("a", "three"))
    let entries = try desk.store.outbox()
    #expect(entries.map(\.state) == [.sent(batch.id), .waiting])
    #expect(entries[1].base?.fields == entries[0].fields)
    // The next request returns the same batch, not a new one.
    #expect(desk.take() == batch)
    try desk.answer(batch, [.saved(name: Name(trusted: "a"), tag: 5)])
    let rest = try #require(try desk.store.outbox().first)
    #expect(rest.base?.tag == 5)
    #expect(try desk.store.record(.desk("a"))?.tag == 5)
    #expect(try desk.store.record(.desk("a"))?.text == "three")
    #expect(desk.take()?.mutations[0].baseTag == 5)
  }

  @Test func whatIsMadeAndDeletedBeforeItWasSentIsGone() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "one"))
    _ = desk.edit(.delete("a"))
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a")) == nil)
    #expect(desk.changed.map(\.isDeleted) == [true])
    #expect(throws: EditFailure.self) { try desk.edit(.delete("a")).get() }
  }

  @Test func aDeleteNamesTheType() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "theirs", at: 10, tag: 3)])
    _ = desk.edit(.delete("a"))
    let mutation = try desk.takeOne().mutations[0]
    #expect(mutation.isDelete)
    #expect(mutation.type == TestApp.note)
    #expect(mutation.baseTag == 3)
  }

  @Test func theServersVersionIsTakenWhereNothingWasEdited() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "theirs", at: 10, tag: 3)])
    #expect(try desk.store.record(.desk("a"))?.text == "theirs")
    #expect(desk.changed.map(\.text) == ["theirs"])
    // Applying it twice has no further effect, and an older version changes nothing.
    try desk.reapply([desk.record("a", "theirs", at: 10, tag: 3)])
    #expect(desk.changed.isEmpty)
    try desk.apply([desk.record("a", "older", at: 9, tag: 2)])
    #expect(try desk.store.record(.desk("a"))?.text == "theirs")
  }

  @Test func aConflictIsResolvedAndItsResultIsANewBatch() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.counter, ["x": 2]))
    let first = try desk.takeOne()
    let server = desk.record("a", TestApp.counter, ["y": 3], at: 10, tag: 4)
    try desk.answer(first, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(desk.changed.count == 1)
    #expect(desk.conflicts == 1)
    let second = try desk.takeOne()
    #expect(second.id != first.id)
    #expect(second.mutations[0].baseTag == 4)
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 2, "y": 3])
    #expect(try desk.store.outbox().first?.base == server)
  }

  @Test func anEditOnTopOfOneThatConflictsIsTheLocalVersion() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "one"))
    let batch = try desk.takeOne()
    _ = desk.edit(.note("a", "two"))
    let server = desk.record("a", "theirs", at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let entries = try desk.store.outbox()
    #expect(entries.count == 1)
    #expect(entries[0].base == server)
    #expect(try desk.store.record(.desk("a"))?.text == "two")
  }

  @Test func aConflictThatLeavesTheServersVersionNeedsNoSave() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    let server = desk.record("a", "newer", at: desk.now + 9_000, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a")) == server)
  }

  /// Another device deleted it first. An edit of a third device in between must not restore it, so
  /// the relay receives the stamp of the last delete.
  @Test func whatWasDeletedTwiceIsGoneSinceTheLaterOfTheTwo() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "theirs", at: 10, tag: 3)])
    _ = desk.edit(.delete("a"))
    let batch = try desk.takeOne()
    let at = batch.mutations[0].modifiedAt
    let theirs = desk.tombstone("a", at: at - 5_000, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: theirs)])
    let again = try desk.takeOne()
    #expect(again.mutations[0].fields == nil)
    #expect(again.mutations[0].modifiedAt == at)
    #expect(again.mutations[0].baseTag == 4)
    // Another device deleted it even later: nothing is left to send.
    let later = desk.tombstone("a", at: at + 1, tag: 5)
    try desk.answer(again, [.conflict(name: Name(trusted: "a"), record: later)])
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a")) == later)
  }

  @Test func itsOwnVersionInAConflictIsItsAcknowledgement() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    var landed = desk.record("a", "mine", at: batch.mutations[0].modifiedAt, tag: 4)
    (landed.device, landed.fields) = (desk.device, batch.mutations[0].fields)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: landed)])
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a"))?.tag == 4)
    #expect(desk.conflicts == 0)
  }

  @Test func itsOwnVersionThatIsFetchedIsItsAcknowledgement() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let entry = try #require(try desk.store.outbox().first)
    var landed = entry.record(by: desk.device, tag: 4)
    landed.fields = entry.fields
    try desk.apply([landed])
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a"))?.tag == 4)
  }

  @Test func anEarlierVersionThatLandedUnansweredIsWhatTheLaterOneStandsOn() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.counter, ["x": 1]))
    let batch = try desk.takeOne()
    desk.perform(.refuseBatch(batch.id, Refusal(.batchMismatch, "")))
    _ = desk.edit(.fields("a", TestApp.counter, ["y": 2]))
    let sent = batch.mutations[0].modifiedAt
    var landed = desk.record("a", TestApp.counter, ["x": 1], at: sent, tag: 4)
    landed.device = desk.device
    try desk.apply([landed])
    #expect(desk.conflicts == 0)
    #expect(try desk.store.outbox().map(\.base) == [landed])
    #expect(try desk.store.record(.desk("a"))?.value == ["y": 2])
  }

  /// The home was restored from a backup: its saves since count as another device's edits.
  @Test func whatTheDeviceSavedAndKnowsNothingOfIsNotOverwritten() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.counter, ["y": 2]))
    var forgotten = desk.record("a", TestApp.counter, ["x": 1], at: desk.now - 1_000, tag: 4)
    forgotten.device = desk.device
    try desk.apply([forgotten])
    #expect(desk.conflicts == 1)
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 1, "y": 2])
  }

  @Test func whatComesForARecordInFlightWaitsForTheAnswer() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.counter, ["x": 1]))
    let batch = try desk.takeOne()
    let cursor = try desk.store.cursor()
    // Made on top of the local change, whose answer is late.
    let later = desk.record("a", TestApp.counter, ["x": 1, "y": 1], at: 20, tag: 9)
    try desk.apply([later])
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 1])
    // After a crash now it would be fetched again.
    #expect(try desk.store.cursor() == cursor)
    try desk.answer(batch, [.saved(name: Name(trusted: "a"), tag: 8)])
    #expect(try desk.store.record(.desk("a")) == later)
    #expect(try desk.store.cursor() != cursor)
    #expect(try desk.store.outbox().isEmpty)
  }

  @Test func aCopyIsSavedTogetherWithWhatItWasCutFrom() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try desk.takeOne()
    let stamp = batch.mutations[0].modifiedAt
    let server = desk.record("a", TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let group = try desk.takeOne()
    #expect(group.atomic)
    #expect(group.mutations.map(\.name.text) == ["a~\(server.device.text)-10", "a"])
    #expect(group.mutations.map(\.baseTag) == [0, 4])
    // The stamp is that of the newer version, not of the merge.
    #expect(group.mutations[1].modifiedAt == stamp)
    // One fails, and both are sent again; the other one is unchanged.
    let refusal = Refusal(.batchAborted, "aborted")
    let newer = desk.record("a", TestApp.draft, ["text": "third"], at: 11, tag: 5)
    try desk.answer(
      group,
      [
        .refused(name: group.mutations[0].name, refusal),
        .conflict(name: Name(trusted: "a"), record: newer),
      ])
    #expect(try desk.store.outbox().allSatisfy { $0.state == .waiting })
    #expect(try desk.store.outbox().count == 3)
    #expect(try desk.store.record(.desk("a"))?.text == "mine")
  }

  @Test func aLostVersionThatTheServerKeptAlreadyIsNotCopiedAgain() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("a~0000000000000001-\(desk.now)", TestApp.draft, ["text": "mine"], at: 5, tag: 2)
    ])
    _ = desk.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try desk.takeOne()
    let server = desk.record("a", TestApp.draft, ["text": "t"], at: desk.now + 100, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try desk.store.outbox().isEmpty)
  }

  /// Copies of two versions with the same stamp have the same name.
  @Test func aCopyIsNeverWrittenOverAnother() throws {
    var desk = try Desk()
    let server = desk.record("a", TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    let name = "a~\(server.device.text)-10"
    try desk.apply([desk.record(name, TestApp.draft, ["text": "another's"], at: 5, tag: 2)])
    _ = desk.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try desk.takeOne()
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let group = try desk.takeOne()
    let texts = try group.mutations.map { try desk.store.record(.desk($0.name.text))?.text }
    #expect(Set(texts) == ["theirs", "another's", "mine"])
    #expect(group.mutations.first { $0.name.text == name }?.baseTag == 2)
    #expect(group.atomic && group.mutations.count == 3)
  }

  /// Long names are truncated, so that a copy of a copy may have the copy's own name.
  @Test func copiesThatLeadToThemselvesComeToAnEnd() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("echo", TestApp.echo, ["text": "another's"], at: desk.now + 500, tag: 2)
    ])
    _ = desk.edit(.fields("a", TestApp.echo, ["text": "mine"]))
    let batch = try desk.takeOne()
    let server = desk.record("a", TestApp.echo, ["text": "theirs"], at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try desk.store.record(.desk("a"))?.text == "mine")
    #expect(try desk.store.outbox().count <= Limits.copiesOfOneMerge + 2)
  }

  /// The end of a name makes a copy unique; no character is split.
  @Test func aCopysLongNameLosesItsBeginning() throws {
    var desk = try Desk()
    let name = String(repeating: "é", count: 120)
    _ = desk.edit(.fields(name, TestApp.draft, ["text": "mine"]))
    let batch = try desk.takeOne()
    let server = desk.record(name, TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: name), record: server)])
    let copy = try #require(try desk.takeOne().mutations.first).name.text
    #expect(copy.utf8.count == Limits.nameBytes || copy.utf8.count == Limits.nameBytes - 1)
    #expect(copy.hasPrefix("éé") && copy.hasSuffix("é~\(server.device.text)-10"))
  }

  @Test func aQuestionHoldsUpItsRecordAlone() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    let batch = try desk.takeOne()
    let server = desk.record("a", TestApp.choice, ["v": 2], at: 10, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(desk.outbox.asking == [.desk("a")])
    #expect(try desk.store.record(.desk("a"))?.value == ["v": 1])
    #expect(desk.take() == nil)
    _ = desk.edit(.note("b", "goes on"))
    #expect(desk.take()?.mutations.map(\.name.text) == ["b"])
  }

  @Test(arguments: [true, false]) func thePersonsChoiceStands(_ keepsLocal: Bool) throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    let batch = try desk.takeOne()
    let server = desk.record("a", TestApp.choice, ["v": 2], at: desk.now + 50, tag: 4)
    try desk.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let chosen = try desk.decide("a", keepLocal: keepsLocal).get()
    #expect(chosen.value == (keepsLocal ? ["v": 1] : ["v": 2]))
    let next = desk.take()
    #expect((next != nil) == keepsLocal)
    if let next {
      #expect(next.mutations[0].baseTag == 4)
      #expect(next.mutations[0].modifiedAt > server.modifiedAt)
    }
    #expect(throws: EditFailure.nothingToDecide) {
      try desk.decide("b", keepLocal: true).get()
    }
  }

  @Test func whatIsRefusedForGoodIsParkedAndTheRestGoesOn() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "bad"))
    _ = desk.edit(.note("b", "good"))
    let batch = try desk.takeOne()
    try desk.answer(
      batch,
      [
        .refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large")),
        .saved(name: Name(trusted: "b"), tag: 1),
      ])
    #expect(desk.outbox.parked.map(\.key) == [.desk("a")])
    #expect(desk.take() == nil)
    // The user edits it: it is tried again.
    _ = desk.edit(.note("a", "better"))
    #expect(desk.outbox.parkedCount == 0)
    #expect(desk.take()?.mutations.map(\.name.text) == ["a"])
  }

  @Test func aConflictTooLargeToBeToldIsFetchedAndResolved() throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.counter, ["x": 2]))
    let first = try desk.takeOne()
    let refusal = Refusal(.conflictTooLarge, "because")
    try desk.answer(first, [.refused(name: Name(trusted: "a"), refusal)])
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      Issue.record("\(desk.outcome.result)")
      return
    }
    #expect(applied.foundGap, "the agent fetches")
    #expect(try desk.store.outbox().map(\.state) == [.waiting])
    let server = desk.record("a", TestApp.counter, ["y": 3], at: 10, tag: 4)
    try desk.apply([server])
    #expect(desk.conflicts == 1)
    let second = try desk.takeOne()
    #expect(second.id != first.id)
    #expect(second.mutations[0].baseTag == 4)
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 2, "y": 3])
  }
}
