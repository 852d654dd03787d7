import LockstepJSON
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// Cursors, gaps, snapshots, batches and stamps on the worker's side.
struct ReplicaSnapshotTests {
  private func token(_ sequence: Int64) -> ChangeToken {
    ChangeToken(generation: 1, sequence: sequence)
  }

  @Test func theCursorIsStoredWithWhatItCovers() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "one", at: 1, tag: 2)])
    #expect(try harness.store.cursor() == token(2))
    #expect(try harness.store.record(.desk("a")) != nil)
  }

  @Test func aPageThatDoesNotFollowIsAGap() throws {
    var harness = try ReplicaHarness()
    let applied = harness.page([harness.record("a", "one", at: 1, tag: 9)], from: 8, to: 9)
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(token(1)))
    #expect(try harness.store.record(.desk("a")) == nil)
  }

  @Test func aPageThatEndsWhereItStandsIsNoGap() throws {
    var harness = try ReplicaHarness()
    let applied = harness.page([harness.record("a", "one", at: 1, tag: 1)], from: 0, to: 1)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
  }

  @Test func aPageThatBeginsWhereItHasBeenBringsWhatIsNew() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "one", at: 1, tag: 2)])
    try harness.apply([harness.record("b", "two", at: 2, tag: 3)])
    let records = [
      harness.record("b", "two", at: 2, tag: 3), harness.record("a", "newer", at: 4, tag: 4),
    ]
    let applied = harness.page(records, from: 2, to: 4)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
    #expect(harness.changed.map(\.name.text) == ["a"])
    #expect(try harness.store.record(.desk("a"))?.text == "newer")
    #expect(try harness.store.cursor() == token(4))
  }

  @Test func aPageThatEndsWhereItHasBeenChangesNothing() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "one", at: 1, tag: 2)])
    try harness.apply([harness.record("a", "two", at: 2, tag: 3)])
    let old = ChangePage(
      since: token(1), token: token(2), more: false,
      changes: [harness.record("a", "one", at: 1, tag: 2)])
    let new = ChangePage(
      since: token(3), token: token(4), more: false,
      changes: [harness.record("a", "three", at: 3, tag: 4)])
    harness.perform(.apply([.page(old), .page(new), .page(old)]))
    guard case .success(.applied(let applied)) = harness.outcome.result else {
      Issue.record("it was not applied")
      return
    }
    #expect(!applied.foundGap)
    #expect(applied.isAtEnd, "what is old says nothing of the end")
    #expect(try harness.store.record(.desk("a"))?.text == "three")
    #expect(try harness.store.cursor() == token(4))
    // Another generation has another order.
    let other = ChangePage(
      since: ChangeToken(generation: 2, sequence: 1),
      token: ChangeToken(generation: 2, sequence: 2),
      more: false, changes: [])
    harness.perform(.apply([.page(other)]))
    guard case .success(.applied(let after)) = harness.outcome.result else { return }
    #expect(after.foundGap)
  }

  @Test func atTheEndOfASnapshotWhatItDidNotNameIsDropped() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("gone", "x", at: 1, tag: 2), harness.record("stays", "x", at: 1, tag: 3),
      harness.record("edited", "x", at: 1, tag: 4),
    ])
    _ = harness.edit(.note("edited", "mine"))
    _ = harness.edit(.note("new", "mine"))
    harness.perform(.forgetCursor(restoredThrough: nil))
    #expect(try harness.store.cursor() == nil)
    harness.page([harness.record("stays", "x", at: 1, tag: 3)], from: nil, to: 20, more: true)
    #expect(try harness.store.record(.desk("gone")) != nil)
    #expect(try harness.store.cursor() == nil)
    harness.page([harness.record("more", "x", at: 1, tag: 9)], from: 20, to: 30)
    #expect(try harness.store.record(.desk("gone")) == nil)
    #expect(harness.changed.map(\.name.text) == ["gone", "more"])
    #expect(harness.changed.map(\.isDeleted) == [true, false])
    let names = try harness.store.allRecords().map(\.name.text)
    #expect(names == ["edited", "more", "new", "stays"])
    #expect(try harness.store.cursor() == token(30))
  }

  @Test func aCrashInASnapshotBeginsItAnew() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("gone", "x", at: 1, tag: 2)])
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.page([harness.record("stays", "x", at: 1, tag: 3)], from: nil, to: 20, more: true)
    harness.replica = Replica(store: harness.store, apps: [TestApp()])
    harness.perform(.load)
    guard case .success(.loaded(let home)) = harness.outcome.result else {
      Issue.record("the home is not loaded")
      return
    }
    #expect(home.position == .nothing)
    let stray = harness.page([], from: 20, to: 30)
    #expect(stray?.foundGap == true)
    #expect(try harness.store.record(.desk("gone")) != nil)
    harness.page([harness.record("stays", "x", at: 1, tag: 3)], from: nil, to: 40)
    #expect(try harness.store.record(.desk("gone")) == nil)
  }

  @Test func whatIsSavedWhileTheSnapshotIsReadIsThereAfterwards() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("moved", "x", at: 1, tag: 2)])
    harness.perform(.forgetCursor(restoredThrough: nil))
    // The record was changed after the snapshot, and the change follows in the same job.
    let moved = harness.record("moved", "y", at: 2, tag: 21)
    harness.perform(
      .apply([
        .page(ChangePage(since: nil, token: token(20), more: false, changes: [])),
        .page(ChangePage(since: token(20), token: token(21), more: false, changes: [moved])),
      ]))
    #expect(try harness.store.record(.desk("moved")) == moved)
    #expect(harness.changed.map(\.isDeleted) == [true, false])
    #expect(harness.changed.last == moved)
  }

  @Test func aCrashInASnapshotForgetsWhatThatOneNamed() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("gone", "x", at: 1, tag: 2)])
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.page([harness.record("gone", "x", at: 1, tag: 2)], from: nil, to: 20, more: true)
    harness.replica = Replica(store: harness.store, apps: [TestApp()])
    harness.page([harness.record("stays", "x", at: 1, tag: 3)], from: nil, to: 40)
    #expect(try harness.store.allRecords().map(\.name.text) == ["stays"])
  }

  @Test func aDeleteMadeOfflineGoesUpAfterASnapshot() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("a", "x", at: 1, tag: 2), harness.record("b", "x", at: 1, tag: 3),
    ])
    _ = harness.edit(.delete("a"))
    _ = harness.edit(.delete("b"))
    harness.perform(.forgetCursor(restoredThrough: nil))
    // The relay has forgotten that `b` was deleted there as well.
    harness.page([harness.record("a", "x", at: 1, tag: 2)], from: nil, to: 20)
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.map(\.baseTag) == [2, 3])
    let nothing = Record.nothing(at: .desk("b"))
    try harness.answer(
      batch,
      [
        .saved(name: Name(trusted: "a"), tag: 21),
        .conflict(name: Name(trusted: "b"), record: nothing),
      ])
    #expect(try harness.store.outbox().isEmpty)
    #expect(try harness.store.record(.desk("a"))?.isDeleted == true)
    #expect(try harness.store.record(.desk("b")) == nil)
  }

  @Test func anEditOfWhatTheRelayHasForgottenOutlivesTheDelete() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", TestApp.counter, ["x": 1], at: 1, tag: 2)])
    _ = harness.edit(.count("a"))
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.page([], from: nil, to: 20)
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations[0].baseTag == 2)
    try harness.answer(
      batch, [.conflict(name: Name(trusted: "a"), record: .nothing(at: .desk("a")))])
    #expect(harness.conflicts == 1)
    let again = try harness.freezeOneBatch()
    #expect(again.mutations[0].baseTag == 0)
    try harness.answer(again, [.saved(name: Name(trusted: "a"), tag: 22)])
    #expect(try harness.store.record(.desk("a"))?.value == ["x": 1, harness.device.text: 1])
  }

  @Test func parkedEntriesOutliveASnapshot() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "x", at: 1, tag: 2)])
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    try harness.answer(
      batch, [.refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large"))])
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.page([], from: nil, to: 20)
    #expect(harness.outbox.parked.map(\.key) == [.desk("a")])
    #expect(try harness.store.record(.desk("a"))?.text == "mine")
  }

  @Test(arguments: [true, false]) func aQuestionAboutWhatWasDeletedIsAskedAnew(
    keepsLocal: Bool
  ) throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.fields("a", TestApp.choice, ["v": 1]))
    let server = harness.record("a", TestApp.choice, ["v": 2], at: 10, tag: 4)
    try harness.answer(
      try harness.freezeOneBatch(), [.conflict(name: Name(trusted: "a"), record: server)])
    harness.perform(.forgetCursor(restoredThrough: nil))
    harness.page([], from: nil, to: 20)
    #expect(harness.outbox.asking == [.desk("a")])
    let decided = try harness.decide("a", keepLocal: keepsLocal).get()
    #expect(decided.isDeleted == !keepsLocal)
    #expect(harness.freezeBatch()?.mutations.map(\.baseTag) == (keepsLocal ? [0] : nil))
    #expect(try (harness.store.record(.desk("a")) != nil) == keepsLocal)
  }

  @Test func onlyTimedTypesAreReadWhenAHomeIsOpened() throws {
    var harness = try ReplicaHarness()
    var records = (0..<20).map { harness.record("n\($0)", "x", at: 1, tag: 2 + Int64($0)) }
    records.append(
      harness.record("egg", TestApp.egg, ["dueAt": 1_500_000, "owner": "x"], at: 1, tag: 30))
    try harness.apply(records)
    let counting = CountingStore(harness.store)
    var replica = Replica(store: counting, apps: [TestApp()])
    let outcome = replica.perform(ReplicaJob(task: .load, clock: harness.clock))
    #expect(outcome.due.whileOffline == 1_500_000)
    #expect(counting.recordsRead == 1)
  }

  @Test func recordsOfUnknownZonesAreKeptAsTheyCame() throws {
    var harness = try ReplicaHarness()
    var record = harness.record("a", Name(trusted: "FromLater"), ["z": [1]], at: 1, tag: 2)
    record.zone = Name(trusted: "Elsewhere")
    try harness.apply([record])
    #expect(try harness.store.record(record.key) == record)
  }

  @Test func batchesStayWithinTheirBounds() throws {
    var harness = try ReplicaHarness()
    for index in 0..<(Limits.batchRecords + 10) { _ = harness.edit(.note("n\(index)", "x")) }
    let first = try harness.freezeOneBatch()
    #expect(first.mutations.count == Limits.batchRecords)
    #expect(first.mutations[0].name.text == "n0")
    #expect(!first.atomic)
    var narrow = try ReplicaHarness()
    for index in 0..<9 { _ = narrow.edit(.note("n\(index)", "x")) }
    #expect(narrow.freezeBatch(BatchBounds(records: 4))?.mutations.count == 4)
  }

  @Test func largeRecordsMakeSmallBatches() throws {
    var harness = try ReplicaHarness()
    let large = String(repeating: "x", count: Limits.recordBytes - 200)
    for name in ["a", "b", "c"] { _ = harness.edit(.note(name, large)) }
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations.count == 1)
    #expect(batch.encodedBody().count <= Limits.batchBytes)
    let tooLarge = harness.edit(.note("d", large + large))
    guard case .failure(.tooLarge) = tooLarge else {
      Issue.record("a record beyond the limit was taken")
      return
    }
  }

  @Test func aBatchIsOfOneZoneAndBlockedZonesWait() throws {
    var harness = try ReplicaHarness()
    let elsewhere = RecordKey(zone: Name(trusted: "Elsewhere"), name: Name(trusted: "z"))
    _ = harness.edit(.note("a", "x"))
    _ = harness.edit(EditRequest(key: elsewhere, type: TestApp.note) { _ in [:] })
    _ = harness.edit(.note("b", "x"))
    let blocked = BatchBounds(blockedZones: [TestApp.zone])
    #expect(harness.freezeBatch(blocked)?.zone == elsewhere.zone)
    harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "x"))
    _ = harness.edit(EditRequest(key: elsewhere, type: TestApp.note) { _ in [:] })
    _ = harness.edit(.note("b", "x"))
    #expect(harness.freezeBatch()?.mutations.map(\.name.text) == ["a", "b"])
    harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "x"))
    #expect(harness.freezeBatch(blocked) == nil)
  }

  @Test func guessedStampsAreMadeAnewBeforeTheyAreSent() throws {
    var harness = try ReplicaHarness()
    harness.isMeasured = false
    harness.isTrusted = false
    _ = harness.edit(.note("a", "x"))
    #expect(try harness.store.outbox()[0].modifiedAt == harness.now)
    #expect(harness.freezeBatch() == nil)
    harness.isMeasured = true
    harness.isTrusted = true
    harness.offset = -50_000
    let batch = try harness.freezeOneBatch()
    #expect(batch.mutations[0].modifiedAt == harness.now - 50_000)
    #expect(try harness.store.record(.desk("a"))?.value?["at"]?.int64 == harness.now - 50_000)
    #expect(try harness.store.record(.desk("a"))?.modifiedAt == harness.now - 50_000)
  }

  @Test func aCorrectedStampStaysNewerThanWhatItWasMadeOn() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "seen", at: 999_990, tag: 2)])
    harness.isTrusted = false
    _ = harness.edit(.note("a", "mine"))
    harness.isTrusted = true
    harness.offset = -50_000
    #expect(harness.freezeBatch()?.mutations[0].modifiedAt == 999_991)
  }

  @Test func anEditIsNewerThanAllThatWasSeen() throws {
    var harness = try ReplicaHarness()
    try harness.apply([harness.record("a", "from a fast clock", at: harness.now + 4_000, tag: 2)])
    #expect(try harness.edit(.note("a", "mine")).get().modifiedAt == harness.now + 4_001)
  }

  @Test func aFailingStoreChangesNothing() throws {
    let memory = MemoryReplicaStore()
    try memory.write([.setIdentity(try ReplicaHarness().store.identity())])
    let store = FailingStore(memory)
    var replica = Replica(store: store, apps: [TestApp()])
    store.error = .diskFull(path: "home")
    let clock = ClockReading(wall: 5, offset: 0, isTrusted: true)
    let edit = ReplicaTask.edit(OrderID(rawValue: 1), .note("a", "x"))
    let failed = replica.perform(ReplicaJob(task: edit, clock: clock))
    guard case .failure(.diskFull) = failed.result else {
      Issue.record("the failure is not reported")
      return
    }
    #expect(failed.changed.isEmpty)
    store.error = nil
    let done = replica.perform(ReplicaJob(task: edit, clock: clock))
    #expect(done.outbox.unsent == 1)
    #expect(try memory.outbox().map(\.number) == [1])
  }

  @Test func aHomeThatHasNotJoinedTakesNoEdit() throws {
    var replica = Replica(store: MemoryReplicaStore(), apps: [TestApp()])
    let edit = ReplicaTask.edit(OrderID(rawValue: 1), .note("a", "x"))
    let outcome = replica.perform(
      ReplicaJob(task: edit, clock: ClockReading(wall: 5, offset: 0, isTrusted: true)))
    guard case .success(.edited(_, .failure(.notJoined))) = outcome.result else {
      Issue.record("an edit without an account")
      return
    }
  }

  @Test func countdownsThatEndedWhileItWasOffAreMadeInTurn() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("egg", TestApp.egg, ["dueAt": 999_000, "owner": "x"], at: 1, tag: 2)
    ])
    #expect(harness.outcome.due == DueTimes(whileConnected: 1_001_000, whileOffline: 999_000))
    harness.perform(.makeDueEdits(isConnected: true))
    #expect(try harness.store.outbox().isEmpty)
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(try harness.store.record(.desk("egg"))?.value == ["rings": 1])
    #expect(harness.outcome.due == DueTimes())
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(try harness.store.record(.desk("egg"))?.value == ["rings": 1])
  }

  @Test func whatTheEndOfACountdownAddsElsewhereIsThereOnce() throws {
    var harness = try ReplicaHarness()
    func egg(_ name: String, _ bell: String) -> Record {
      harness.record(
        name, TestApp.egg, ["dueAt": 999_000, "owner": "x", "bell": .string(bell)], at: 1, tag: 2)
    }
    try harness.apply([egg("egg", "a")])
    harness.perform(.makeDueEdits(isConnected: false))
    #expect(try harness.store.record(.desk("egg"))?.value == ["rings": 1])
    #expect(try harness.store.record(.desk("bells"))?.value == ["rung": ["a": 999_000]])
    // A second countdown names the same bell, and a third one another.
    try harness.apply([egg("egg2", "a")])
    harness.perform(.makeDueEdits(isConnected: false))
    try harness.apply([egg("egg3", "b")])
    harness.perform(.makeDueEdits(isConnected: false))
    let bells: JSONValue = ["rung": ["a": 999_000, "b": 999_000]]
    #expect(try harness.store.record(.desk("bells"))?.value == bells)
    let sent = try harness.store.outbox().map(\.key.name.text).sorted()
    #expect(sent == ["bells", "egg", "egg2", "egg3"])
  }

  @Test func aRecordAddedToKeepsWhatAPersonWroteThere() throws {
    var harness = try ReplicaHarness()
    try harness.apply([
      harness.record("bells", TestApp.note, ["title": "mine", "rung": 5], at: 1, tag: 2),
      harness.record(
        "egg", TestApp.egg, ["dueAt": 999_000, "owner": "x", "bell": "a"], at: 1, tag: 3),
    ])
    harness.perform(.makeDueEdits(isConnected: false))
    let bells: JSONValue = ["title": "mine", "rung": ["a": 999_000]]
    #expect(try harness.store.record(.desk("bells"))?.value == bells)
  }

  @Test func anOwnAnswerFromBeyondTheCursorIsAGap() throws {
    var harness = try ReplicaHarness()
    _ = harness.edit(.note("a", "mine"))
    let batch = try harness.freezeOneBatch()
    for (newest, isGap) in [(Int64(9), true), (1, false)] {
      harness.perform(
        .apply([
          .answer(
            batch.id,
            SaveAnswer(
              since: token(newest - 1), token: token(newest),
              results: [.saved(name: batch.mutations[0].name, tag: newest)]), isLink: true)
        ]))
      guard case .success(.applied(let applied)) = harness.outcome.result else {
        Issue.record("not applied")
        return
      }
      #expect(applied.foundGap == isGap)
      // Tags assigned beyond the cursor stay known, in case the relay has lost them.
      #expect(applied.position == .cursor(token(1).extendingHorizon(to: 9)))
    }
  }
}
