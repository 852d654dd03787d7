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
    var desk = try Desk()
    try desk.apply([desk.record("a", "one", at: 1, tag: 2)])
    #expect(try desk.store.cursor() == token(2))
    #expect(try desk.store.record(.desk("a")) != nil)
  }

  @Test func aPageThatDoesNotFollowIsAGap() throws {
    var desk = try Desk()
    let applied = desk.page([desk.record("a", "one", at: 1, tag: 9)], from: 8, to: 9)
    #expect(applied?.foundGap == true)
    #expect(applied?.position == .cursor(token(1)))
    #expect(try desk.store.record(.desk("a")) == nil)
  }

  @Test func aPageThatEndsWhereItStandsIsNoGap() throws {
    var desk = try Desk()
    let applied = desk.page([desk.record("a", "one", at: 1, tag: 1)], from: 0, to: 1)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
  }

  @Test func aPageThatBeginsWhereItHasBeenBringsWhatIsNew() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "one", at: 1, tag: 2)])
    try desk.apply([desk.record("b", "two", at: 2, tag: 3)])
    let records = [
      desk.record("b", "two", at: 2, tag: 3), desk.record("a", "newer", at: 4, tag: 4),
    ]
    let applied = desk.page(records, from: 2, to: 4)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
    #expect(desk.changed.map(\.name.text) == ["a"])
    #expect(try desk.store.record(.desk("a"))?.text == "newer")
    #expect(try desk.store.cursor() == token(4))
  }

  @Test func aPageThatEndsWhereItHasBeenChangesNothing() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "one", at: 1, tag: 2)])
    try desk.apply([desk.record("a", "two", at: 2, tag: 3)])
    let old = ChangePage(
      since: token(1), token: token(2), more: false,
      changes: [desk.record("a", "one", at: 1, tag: 2)])
    let new = ChangePage(
      since: token(3), token: token(4), more: false,
      changes: [desk.record("a", "three", at: 3, tag: 4)])
    desk.perform(.apply([.page(old), .page(new), .page(old)]))
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      Issue.record("it was not applied")
      return
    }
    #expect(!applied.foundGap)
    #expect(applied.isAtEnd, "what is old says nothing of the end")
    #expect(try desk.store.record(.desk("a"))?.text == "three")
    #expect(try desk.store.cursor() == token(4))
    // Another generation has another order.
    let other = ChangePage(
      since: ChangeToken(generation: 2, sequence: 1),
      token: ChangeToken(generation: 2, sequence: 2),
      more: false, changes: [])
    desk.perform(.apply([.page(other)]))
    guard case .success(.applied(let after)) = desk.outcome.result else { return }
    #expect(after.foundGap)
  }

  @Test func atTheEndOfASnapshotWhatItDidNotNameIsDropped() throws {
    var desk = try Desk()
    try desk.apply([
      desk.record("gone", "x", at: 1, tag: 2), desk.record("stays", "x", at: 1, tag: 3),
      desk.record("edited", "x", at: 1, tag: 4),
    ])
    _ = desk.edit(.note("edited", "mine"))
    _ = desk.edit(.note("new", "mine"))
    desk.perform(.forgetCursor(restoredThrough: nil))
    #expect(try desk.store.cursor() == nil)
    desk.page([desk.record("stays", "x", at: 1, tag: 3)], from: nil, to: 20, more: true)
    #expect(try desk.store.record(.desk("gone")) != nil)
    #expect(try desk.store.cursor() == nil)
    desk.page([desk.record("more", "x", at: 1, tag: 9)], from: 20, to: 30)
    #expect(try desk.store.record(.desk("gone")) == nil)
    #expect(desk.changed.map(\.name.text) == ["gone", "more"])
    #expect(desk.changed.map(\.isDeleted) == [true, false])
    let names = try desk.store.allRecords().map(\.name.text)
    #expect(names == ["edited", "more", "new", "stays"])
    #expect(try desk.store.cursor() == token(30))
  }

  @Test func aCrashInASnapshotBeginsItAnew() throws {
    var desk = try Desk()
    try desk.apply([desk.record("gone", "x", at: 1, tag: 2)])
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page([desk.record("stays", "x", at: 1, tag: 3)], from: nil, to: 20, more: true)
    desk.replica = Replica(store: desk.store, apps: [TestApp()])
    desk.perform(.load)
    guard case .success(.loaded(let home)) = desk.outcome.result else {
      Issue.record("the home is not loaded")
      return
    }
    #expect(home.position == .nothing)
    let stray = desk.page([], from: 20, to: 30)
    #expect(stray?.foundGap == true)
    #expect(try desk.store.record(.desk("gone")) != nil)
    desk.page([desk.record("stays", "x", at: 1, tag: 3)], from: nil, to: 40)
    #expect(try desk.store.record(.desk("gone")) == nil)
  }

  @Test func whatIsSavedWhileTheSnapshotIsReadIsThereAfterwards() throws {
    var desk = try Desk()
    try desk.apply([desk.record("moved", "x", at: 1, tag: 2)])
    desk.perform(.forgetCursor(restoredThrough: nil))
    // The record was changed after the snapshot, and the change follows in the same job.
    let moved = desk.record("moved", "y", at: 2, tag: 21)
    desk.perform(
      .apply([
        .page(ChangePage(since: nil, token: token(20), more: false, changes: [])),
        .page(ChangePage(since: token(20), token: token(21), more: false, changes: [moved])),
      ]))
    #expect(try desk.store.record(.desk("moved")) == moved)
    #expect(desk.changed.map(\.isDeleted) == [true, false])
    #expect(desk.changed.last == moved)
  }

  @Test func aCrashInASnapshotForgetsWhatThatOneNamed() throws {
    var desk = try Desk()
    try desk.apply([desk.record("gone", "x", at: 1, tag: 2)])
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page([desk.record("gone", "x", at: 1, tag: 2)], from: nil, to: 20, more: true)
    desk.replica = Replica(store: desk.store, apps: [TestApp()])
    desk.page([desk.record("stays", "x", at: 1, tag: 3)], from: nil, to: 40)
    #expect(try desk.store.allRecords().map(\.name.text) == ["stays"])
  }

  @Test func aDeleteMadeOfflineGoesUpAfterASnapshot() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 1, tag: 2), desk.record("b", "x", at: 1, tag: 3)])
    _ = desk.edit(.delete("a"))
    _ = desk.edit(.delete("b"))
    desk.perform(.forgetCursor(restoredThrough: nil))
    // The relay has forgotten that `b` was deleted there as well.
    desk.page([desk.record("a", "x", at: 1, tag: 2)], from: nil, to: 20)
    let batch = try desk.takeOne()
    #expect(batch.mutations.map(\.baseTag) == [2, 3])
    let nothing = Record.nothing(at: .desk("b"))
    try desk.answer(
      batch,
      [
        .saved(name: Name(trusted: "a"), tag: 21),
        .conflict(name: Name(trusted: "b"), record: nothing),
      ])
    #expect(try desk.store.outbox().isEmpty)
    #expect(try desk.store.record(.desk("a"))?.isDeleted == true)
    #expect(try desk.store.record(.desk("b")) == nil)
  }

  @Test func anEditOfWhatTheRelayHasForgottenOutlivesTheDelete() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", TestApp.counter, ["x": 1], at: 1, tag: 2)])
    _ = desk.edit(.count("a"))
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page([], from: nil, to: 20)
    let batch = try desk.takeOne()
    #expect(batch.mutations[0].baseTag == 2)
    try desk.answer(
      batch, [.conflict(name: Name(trusted: "a"), record: .nothing(at: .desk("a")))])
    #expect(desk.conflicts == 1)
    let again = try desk.takeOne()
    #expect(again.mutations[0].baseTag == 0)
    try desk.answer(again, [.saved(name: Name(trusted: "a"), tag: 22)])
    #expect(try desk.store.record(.desk("a"))?.value == ["x": 1, desk.device.text: 1])
  }

  @Test func parkedEntriesOutliveASnapshot() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "x", at: 1, tag: 2)])
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    try desk.answer(
      batch, [.refused(name: Name(trusted: "a"), Refusal(.recordTooLarge, "too large"))])
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page([], from: nil, to: 20)
    #expect(desk.outbox.parked.map(\.key) == [.desk("a")])
    #expect(try desk.store.record(.desk("a"))?.text == "mine")
  }

  @Test(arguments: [true, false]) func aQuestionAboutWhatWasDeletedIsAskedAnew(
    keepsLocal: Bool
  ) throws {
    var desk = try Desk()
    _ = desk.edit(.fields("a", TestApp.choice, ["v": 1]))
    let server = desk.record("a", TestApp.choice, ["v": 2], at: 10, tag: 4)
    try desk.answer(
      try desk.takeOne(), [.conflict(name: Name(trusted: "a"), record: server)])
    desk.perform(.forgetCursor(restoredThrough: nil))
    desk.page([], from: nil, to: 20)
    #expect(desk.outbox.asking == [.desk("a")])
    let decided = try desk.decide("a", keepLocal: keepsLocal).get()
    #expect(decided.isDeleted == !keepsLocal)
    #expect(desk.take()?.mutations.map(\.baseTag) == (keepsLocal ? [0] : nil))
    #expect(try (desk.store.record(.desk("a")) != nil) == keepsLocal)
  }

  @Test func onlyTimedTypesAreReadWhenAHomeIsOpened() throws {
    var desk = try Desk()
    var records = (0..<20).map { desk.record("n\($0)", "x", at: 1, tag: 2 + Int64($0)) }
    records.append(
      desk.record("egg", TestApp.egg, ["dueAt": 1_500_000, "owner": "x"], at: 1, tag: 30))
    try desk.apply(records)
    let counting = CountingStore(desk.store)
    var replica = Replica(store: counting, apps: [TestApp()])
    let outcome = replica.perform(ReplicaJob(task: .load, clock: desk.clock))
    #expect(outcome.due.whileOffline == 1_500_000)
    #expect(counting.recordsRead == 1)
  }

  @Test func recordsOfUnknownZonesAreKeptAsTheyCame() throws {
    var desk = try Desk()
    var record = desk.record("a", Name(trusted: "FromLater"), ["z": [1]], at: 1, tag: 2)
    record.zone = Name(trusted: "Elsewhere")
    try desk.apply([record])
    #expect(try desk.store.record(record.key) == record)
  }

  @Test func batchesStayWithinTheirBounds() throws {
    var desk = try Desk()
    for index in 0..<(Limits.batchRecords + 10) { _ = desk.edit(.note("n\(index)", "x")) }
    let first = try desk.takeOne()
    #expect(first.mutations.count == Limits.batchRecords)
    #expect(first.mutations[0].name.text == "n0")
    #expect(!first.atomic)
    var narrow = try Desk()
    for index in 0..<9 { _ = narrow.edit(.note("n\(index)", "x")) }
    #expect(narrow.take(BatchBounds(records: 4))?.mutations.count == 4)
  }

  @Test func largeRecordsMakeSmallBatches() throws {
    var desk = try Desk()
    let large = String(repeating: "x", count: Limits.recordBytes - 200)
    for name in ["a", "b", "c"] { _ = desk.edit(.note(name, large)) }
    let batch = try desk.takeOne()
    #expect(batch.mutations.count == 1)
    #expect(batch.encodedBody().count <= Limits.batchBytes)
    let tooLarge = desk.edit(.note("d", large + large))
    guard case .failure(.tooLarge) = tooLarge else {
      Issue.record("a record beyond the limit was taken")
      return
    }
  }

  @Test func aBatchIsOfOneZoneAndBlockedZonesWait() throws {
    var desk = try Desk()
    let elsewhere = RecordKey(zone: Name(trusted: "Elsewhere"), name: Name(trusted: "z"))
    _ = desk.edit(.note("a", "x"))
    _ = desk.edit(EditRequest(key: elsewhere, type: TestApp.note) { _ in [:] })
    _ = desk.edit(.note("b", "x"))
    let blocked = BatchBounds(blockedZones: [TestApp.zone])
    #expect(desk.take(blocked)?.zone == elsewhere.zone)
    desk = try Desk()
    _ = desk.edit(.note("a", "x"))
    _ = desk.edit(EditRequest(key: elsewhere, type: TestApp.note) { _ in [:] })
    _ = desk.edit(.note("b", "x"))
    #expect(desk.take()?.mutations.map(\.name.text) == ["a", "b"])
    desk = try Desk()
    _ = desk.edit(.note("a", "x"))
    #expect(desk.take(blocked) == nil)
  }

  @Test func guessedStampsAreMadeAnewBeforeTheyAreSent() throws {
    var desk = try Desk()
    desk.isMeasured = false
    desk.isTrusted = false
    _ = desk.edit(.note("a", "x"))
    #expect(try desk.store.outbox()[0].modifiedAt == desk.now)
    #expect(desk.take() == nil)
    desk.isMeasured = true
    desk.isTrusted = true
    desk.offset = -50_000
    let batch = try desk.takeOne()
    #expect(batch.mutations[0].modifiedAt == desk.now - 50_000)
    #expect(try desk.store.record(.desk("a"))?.value?["at"]?.int64 == desk.now - 50_000)
    #expect(try desk.store.record(.desk("a"))?.modifiedAt == desk.now - 50_000)
  }

  @Test func aCorrectedStampStaysNewerThanWhatItWasMadeOn() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "seen", at: 999_990, tag: 2)])
    desk.isTrusted = false
    _ = desk.edit(.note("a", "mine"))
    desk.isTrusted = true
    desk.offset = -50_000
    #expect(desk.take()?.mutations[0].modifiedAt == 999_991)
  }

  @Test func anEditIsNewerThanAllThatWasSeen() throws {
    var desk = try Desk()
    try desk.apply([desk.record("a", "from a fast clock", at: desk.now + 4_000, tag: 2)])
    #expect(try desk.edit(.note("a", "mine")).get().modifiedAt == desk.now + 4_001)
  }

  @Test func aFailingStoreChangesNothing() throws {
    let memory = MemoryReplicaStore()
    try memory.write([.setIdentity(try Desk().store.identity())])
    let store = FailingStore(memory)
    var replica = Replica(store: store, apps: [TestApp()])
    store.error = .diskFull(path: "home")
    let clock = ClockReading(wall: 5, offset: 0, isTrusted: true)
    let edit = ReplicaTask.edit(OrderID(rawValue: 1), .note("a", "x"))
    let failed = replica.perform(ReplicaJob(task: edit, clock: clock))
    guard case .failure(.diskFull) = failed.result else {
      Issue.record("the failure is not told")
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
    var desk = try Desk()
    try desk.apply([
      desk.record("egg", TestApp.egg, ["dueAt": 999_000, "owner": "x"], at: 1, tag: 2)
    ])
    #expect(desk.outcome.due == DueTimes(whileConnected: 1_001_000, whileOffline: 999_000))
    desk.perform(.makeDueEdits(isConnected: true))
    #expect(try desk.store.outbox().isEmpty)
    desk.perform(.makeDueEdits(isConnected: false))
    #expect(try desk.store.record(.desk("egg"))?.value == ["rings": 1])
    #expect(desk.outcome.due == DueTimes())
    desk.perform(.makeDueEdits(isConnected: false))
    #expect(try desk.store.record(.desk("egg"))?.value == ["rings": 1])
  }

  @Test func anOwnAnswerFromBeyondTheCursorIsAGap() throws {
    var desk = try Desk()
    _ = desk.edit(.note("a", "mine"))
    let batch = try desk.takeOne()
    for (newest, isGap) in [(Int64(9), true), (1, false)] {
      desk.perform(
        .apply([
          .answer(
            batch.id,
            SaveAnswer(
              since: token(newest - 1), token: token(newest),
              results: [.saved(name: batch.mutations[0].name, tag: newest)]), isLink: true)
        ]))
      guard case .success(.applied(let applied)) = desk.outcome.result else {
        Issue.record("not applied")
        return
      }
      #expect(applied.foundGap == isGap)
      // Tags assigned beyond the cursor stay known, in case the relay has lost them.
      #expect(applied.position == .cursor(token(1).knowing(9)))
    }
  }
}
