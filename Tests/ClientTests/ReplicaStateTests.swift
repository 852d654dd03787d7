import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// The worker's side alone: each rule of the outbox as a sequence of jobs.
struct ReplicaStateTests {
  @Test func anEditWritesRecordAndEntryTogether() throws {
    var harness = try ReplicaHarness()
    #expect(try harness.edit(.note("a", "one")).get().text == "one")
    let entry = try #require(try harness.store.outbox().first)
    #expect(entry.state == .waiting)
    #expect(entry.base == nil)
    #expect(entry.isStampTrusted)
    #expect(try harness.store.record(.desk("a"))?.tag == 0)
    #expect(harness.changed.map(\.text) == ["one"])
  }

  @Test func waitingEditsOfOneRecordBecomeOne() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "one"))
    _ = harness.edit(.note("a", "two"))
    let entries = try harness.store.outbox()
    #expect(entries.count == 1)
    #expect(entries[0].number == 1)
    #expect(entries[0].modifiedAt == harness.now + 1)
  }

  @Test func whatIsInFlightIsFrozenAndALaterEditStandsOnIt() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "one"))
    let batch = try harness.freezeOneBatch()
    _ = harness.edit(.note("a", "two"))
    _ = harness.edit(.note("a", "three"))
    let entries = try harness.store.outbox()
    #expect(entries.map(\.state) == [.sent(batch.id), .waiting])
    #expect(entries[1].base?.fields == entries[0].fields)
    // The next request returns the same batch, not a new one.
    #expect(harness.freezeBatch() == batch)
    try harness.answer(batch, [.saved(name: Name(trusted: "a"), tag: 5)])
    let rest = try #require(try harness.store.outbox().first)
    #expect(rest.base?.tag == 5)
    #expect(try harness.store.record(.desk("a"))?.tag == 5)
    #expect(try harness.store.record(.desk("a"))?.text == "three")
    #expect(harness.freezeBatch()?.mutations[0].baseTag == 5)
  }

  @Test func whatIsMadeAndDeletedBeforeItWasSentIsGone() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "one"))
    _ = harness.edit(.delete("a"))
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a")) == nil)
    #expect(harness.changed.map(\.isDeleted) == [true])
    #expect(throws: EditFailure.self) { try harness.edit(.delete("a")).get() }
  }

  @Test func aDeleteNamesTheType() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "theirs", at: 10, tag: 3)])
    _ = harness.edit(.delete("a"))
    let mutation = try harness.freezeOneBatch().mutations[0]
    #expect(mutation.isDelete)
    #expect(mutation.type == TestApp.note)
    #expect(mutation.baseTag == 3)
  }

  @Test func theServersVersionIsTakenWhereNothingWasEdited() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "theirs", at: 10, tag: 3)])
    #expect(try harness.store.record(.desk("a"))?.text == "theirs")
    #expect(harness.changed.map(\.text) == ["theirs"])
    // Applying it twice has no further effect, and an older version changes nothing.
    try harness.reapply([harness.record("a", "theirs", at: 10, tag: 3)])
    #expect(harness.changed.isEmpty)
    try harness.apply([harness.record("a", "older", at: 9, tag: 2)])
    #expect(try harness.store.record(.desk("a"))?.text == "theirs")
  }

  @Test func aConflictIsResolvedAndItsResultIsANewBatch() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 2]))
    let first = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.counter, ["y": 3], at: 10, tag: 4)
    try harness.answer(first, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(harness.changed.count == 1)
    #expect(harness.conflicts == 1)
    let second = try harness.freezeOneBatch()
    #expect(second.id != first.id)
    #expect(second.mutations[0].baseTag == 4)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 2, "y": 3])
    #expect(try harness.store.outbox().first?.base == server)
  }

  @Test func anEditOnTopOfOneThatConflictsIsTheLocalVersion() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "one"))
    let batch = try harness.freezeOneBatch()
    _ = harness.edit(.note("a", "two"))
    let server = harness.record("a", "theirs", at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let entries = try harness.store.outbox()
    #expect(entries.count == 1)
    #expect(entries[0].base == server)
    #expect(try harness.store.record(.desk("a"))?.text == "two")
  }

  @Test func aConflictThatLeavesTheServersVersionNeedsNoSave() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", "newer", at: harness.now + 9_000, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a")) == server)
  }

  /// Another device deleted it first. An edit of a third device in between must not restore it, so
  /// the relay receives the stamp of the last delete.
  @Test func whatWasDeletedTwiceIsGoneSinceTheLaterOfTheTwo() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "theirs", at: 10, tag: 3)])
    _ = harness.edit(.delete("a"))
    let batch = try harness.freezeOneBatch()
    let at = batch.mutations[0].modifiedAt
    let theirs = harness.tombstone("a", at: at - 5_000, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: theirs)])
    let again = try harness.freezeOneBatch()
    #expect(again.mutations[0].fields == nil)
    #expect(again.mutations[0].modifiedAt == at)
    #expect(again.mutations[0].baseTag == 4)
    // Another device deleted it even later: nothing is left to send.
    let later = harness.tombstone("a", at: at + 1, tag: 5)
    try harness.answer(again, [.conflict(name: Name(trusted: "a"), record: later)])
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a")) == later)
  }

  @Test func itsOwnVersionInAConflictIsItsAcknowledgement() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    var landed = harness.record("a", "mine", at: batch.mutations[0].modifiedAt, tag: 4)
    (landed.device, landed.fields) = (harness.device, batch.mutations[0].fields)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: landed)])
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a"))?.tag == 4)
    #expect(harness.conflicts == 0)
  }

  @Test func itsOwnVersionThatIsFetchedIsItsAcknowledgement() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let entry = try #require(try harness.store.outbox().first)
    var landed = entry.record(by: harness.device, tag: 4)
    landed.fields = entry.fields
    try harness.apply([landed])
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a"))?.tag == 4)
  }

  @Test func anEarlierVersionThatLandedUnansweredIsWhatTheLaterOneStandsOn() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 1]))
    let batch = try harness.freezeOneBatch()
    harness.perform(.refuseBatch(batch.id, Refusal(.batchMismatch, "")))
    _ = harness.edit(.fields("a", TestApp.counter, ["y": 2]))
    let sent = batch.mutations[0].modifiedAt
    var landed = harness.record("a", TestApp.counter, ["x": 1], at: sent, tag: 4)
    landed.device = harness.device
    try harness.apply([landed])
    #expect(harness.conflicts == 0)
    #expect(try harness.store.outbox().map(\.base) == [landed])
    #expect(try harness.store.record(.desk("a"))?.value == ["y": 2])
  }

  /// The home was restored from a backup: its saves since count as another device's edits.
  @Test func whatTheDeviceSavedAndKnowsNothingOfIsNotOverwritten() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.counter, ["y": 2]))
    var forgotten = harness.record("a", TestApp.counter, ["x": 1], at: harness.now - 1_000, tag: 4)
    forgotten.device = harness.device
    try harness.apply([forgotten])
    #expect(harness.conflicts == 1)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 1, "y": 2])
  }

  @Test func whatComesForARecordInFlightWaitsForTheAnswer() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 1]))
    let batch = try harness.freezeOneBatch()
    let cursor = try harness.store.cursor()
    // Made on top of the local change, whose answer is late.
    let later = harness.record("a", TestApp.counter, ["x": 1, "y": 1], at: 20, tag: 9)
    try harness.apply([later])
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 1])
    // After a crash now it would be fetched again.
    #expect(try harness.store.cursor() == cursor)
    try harness.answer(batch, [.saved(name: Name(trusted: "a"), tag: 8)])
    #expect(try harness.store.record(.desk("a")) == later)
    #expect(try harness.store.cursor() != cursor)
    #expect(try harness.store.outbox().isEmpty)
  }

  @Test func aCopyIsSavedTogetherWithWhatItWasCutFrom() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    let stamp = batch.mutations[0].modifiedAt
    let server = harness.record("a", TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let group = try harness.freezeOneBatch()
    #expect(group.atomic)
    #expect(group.mutations.map(\.name.text) == ["a~\(server.device.text)-10", "a"])
    #expect(group.mutations.map(\.baseTag) == [0, 4])
    // The stamp is that of the newer version, not of the merge.
    #expect(group.mutations[1].modifiedAt == stamp)
    // One fails, and both are sent again; the other one is unchanged.
    let refusal = Refusal(.batchAborted, "aborted")
    let newer = harness.record("a", TestApp.draft, ["text": "third"], at: 11, tag: 5)
    try harness.answer(
      group,
      [
        .refused(name: group.mutations[0].name, refusal),
        .conflict(name: Name(trusted: "a"), record: newer),
      ])
    #expect(try harness.store.outbox().allSatisfy { $0.state == .waiting })
    #expect(try harness.store.outbox().count == 3)
    #expect(try harness.store.record(.desk("a"))?.text == "mine")
  }

  @Test func aLostVersionThatTheServerKeptAlreadyIsNotCopiedAgain() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record(
        "a~0000000000000001-\(harness.now)", TestApp.draft, ["text": "mine"], at: 5, tag: 2)
    ])
    _ = harness.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.draft, ["text": "t"], at: harness.now + 100, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try harness.store.outbox().isEmpty)
  }

  /// Copies of two versions with the same stamp have the same name.
  @Test func aCopyIsNeverWrittenOverAnother() throws {
    var harness = try ReplicaHarness()
    let server = harness.record("a", TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    let name = "a~\(server.device.text)-10"
    try harness.apply([harness.record(name, TestApp.draft, ["text": "another's"], at: 5, tag: 2)])
    _ = harness.edit(.fields("a", TestApp.draft, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let group = try harness.freezeOneBatch()
    let texts = try group.mutations.map { try harness.store.record(.desk($0.name.text))?.text }
    #expect(Set(texts) == ["theirs", "another's", "mine"])
    #expect(group.mutations.first { $0.name.text == name }?.baseTag == 2)
    #expect(group.atomic && group.mutations.count == 3)
  }

  /// Long names are truncated, so that a copy of a copy may have the copy's own name.
  @Test func copiesThatLeadToThemselvesComeToAnEnd() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("echo", TestApp.echo, ["text": "another's"], at: harness.now + 500, tag: 2)
    ])
    _ = harness.edit(.fields("a", TestApp.echo, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.echo, ["text": "theirs"], at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(try harness.store.record(.desk("a"))?.text == "mine")
    #expect(try harness.store.outbox().count <= Limits.copiesOfOneMerge + 2)
  }

  /// The end of a name makes a copy unique; no character is split.
  @Test func aCopysLongNameLosesItsBeginning() throws {
    var harness = try ReplicaHarness()
    let name = String(repeating: "é", count: 120)
    _ = harness.edit(.fields(name, TestApp.draft, ["text": "mine"]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record(name, TestApp.draft, ["text": "theirs"], at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: name), record: server)])
    let copy = try #require(try harness.freezeOneBatch().mutations.first).name.text
    #expect(copy.utf8.count == Limits.nameBytes || copy.utf8.count == Limits.nameBytes - 1)
    #expect(copy.hasPrefix("éé") && copy.hasSuffix("é~\(server.device.text)-10"))
  }

  @Test func aQuestionHoldsUpItsRecordAlone() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 1]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.choice, ["v": 2], at: 10, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    #expect(harness.outbox.asking == [.desk("a")])
    #expect(try harness.store.record(.desk("a"))?.value == ["v": 1])
    #expect(harness.freezeBatch() == nil)
    _ = harness.edit(.note("b", "goes on"))
    #expect(harness.freezeBatch()?.mutations.map(\.name.text) == ["b"])
  }

  @Test(arguments: [true, false]) func thePersonsChoiceStands(_ keepsLocal: Bool) throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 1]))
    let batch = try harness.freezeOneBatch()
    let server = harness.record("a", TestApp.choice, ["v": 2], at: harness.now + 50, tag: 4)
    try harness.answer(batch, [.conflict(name: Name(trusted: "a"), record: server)])
    let chosen = try harness.decide("a", keepLocal: keepsLocal).get()
    #expect(chosen.value == (keepsLocal ? ["v": 1] : ["v": 2]))
    let next = harness.freezeBatch()
    #expect((next != nil) == keepsLocal)
    if let next {
      #expect(next.mutations[0].baseTag == 4)
      #expect(next.mutations[0].modifiedAt > server.modifiedAt)
    }
    #expect(throws: EditFailure.nothingToDecide) {
      try harness.decide("b", keepLocal: true).get()
    }
  }

  @Test func whatIsRefusedForGoodIsParkedAndTheRestGoesOn() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "bad"))
    _ = harness.edit(.note("b", "good"))
    let batch = try harness.freezeOneBatch()
    try harness.answer(
      batch,
      [
        .refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large")),
        .saved(name: Name(trusted: "b"), tag: 1),
      ])
    #expect(harness.outbox.parked.map(\.key) == [.desk("a")])
    #expect(harness.freezeBatch() == nil)
    // The user edits it: it is tried again.
    _ = harness.edit(.note("a", "better"))
    #expect(harness.outbox.parkedCount == 0)
    #expect(harness.freezeBatch()?.mutations.map(\.name.text) == ["a"])
  }

  @Test func aConflictTooLargeToBeToldIsFetchedAndResolved() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.counter, ["x": 2]))
    let first = try harness.freezeOneBatch()
    let refusal = Refusal(.conflictTooLarge, "because")
    try harness.answer(first, [.refused(name: Name(trusted: "a"), refusal)])
    guard case .success(.applied(let applied)) = harness.outcome.result else {
      Issue.record("\(harness.outcome.result)")
      return
    }
    #expect(applied.foundGap, "the agent fetches")
    #expect(try harness.store.outbox().map(\.state) == [.waiting])
    let server = harness.record("a", TestApp.counter, ["y": 3], at: 10, tag: 4)
    try harness.apply([server])
    #expect(harness.conflicts == 1)
    let second = try harness.freezeOneBatch()
    #expect(second.id != first.id)
    #expect(second.mutations[0].baseTag == 4)
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 2, "y": 3])
  }

  /// The answer begins after the cursor, and the page that follows brings nothing new.
  @Test func whatIsTooMuchGoesAlsoIfTheAnswerWasNoLink() throws {
    var harness = try ReplicaHarness()
    harness.replica = Replica(store: harness.store, apps: [TestApp(), TallyApp()])
    let names = ["a", "b", "c", "d"].map { Name(trusted: $0) }
    for name in names {
      let key = RecordKey(zone: TallyApp().zone, name: name)
      harness.edit(EditRequest(key: key, type: TallyApp.tally) { _ in ["1": 1] })
    }
    let batch = try harness.freezeOneBatch()
    func token(_ sequence: Int64) -> ChangeToken { ChangeToken(generation: 1, sequence: sequence) }
    let tags = names.enumerated().map { MutationResult.saved(name: $1, tag: Int64($0) + 3) }
    let answer = SaveAnswer(since: token(2), token: token(6), results: tags)
    harness.perform(.apply([.answer(batch.id, answer, isLink: true)]))
    #expect(harness.changed.isEmpty)
    let other = harness.record("other", "new", at: 1, tag: 2)
    harness.page([other] + (try harness.store.allRecords()), from: 1, to: 6)
    #expect(harness.changed.filter(\.isDeleted).map(\.name.text) == ["a"])
  }
}
