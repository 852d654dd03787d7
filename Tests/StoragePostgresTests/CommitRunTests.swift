import Foundation
import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

/// Commits, and concurrent commits of several relays.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct CommitRunTests {
  private let account = AccountID(rawValue: 1)

  @Test(arguments: [1, 40, 512]) func aBatchOfSavesIsTwoRoundTrips(count: Int) throws {
    let database = try TestDatabase()
    let store = try database.store()
    let accounts = (1...8 as ClosedRange<UInt64>).map { AccountID(rawValue: $0) }
    _ = try store.commit(accounts.map(TestRequests.create), wall: 0)
    func cost(_ requests: [CommitRequest]) throws -> Int {
      let before = store.roundTrips
      _ = try store.commit(requests, wall: 1)
      return store.roundTrips - before
    }
    let saves = (0..<count).map { TestRequests.save("n\($0)", "m", in: accounts[$0 % 8]) }
    #expect(try cost(saves) == 2)
    // A retry and conflicts cost no more.
    #expect(try cost(saves) == 2)
    let late = (0..<count).map { TestRequests.save("n\($0)", in: accounts[$0 % 8], over: 0) }
    #expect(try cost(late) == 2)
    let sightings = accounts.map {
      DeviceSighting(account: $0, device: TestRequests.device, lastSeen: 9)
    }
    #expect(try cost([.touchDevices(sightings)]) == 1)
    let contacts = sightings.map { sighting in
      DeviceSighting(
        account: sighting.account, device: sighting.device, lastSeen: 9,
        contact: WakeContact(seen: WakeMark(generation: 1, sequence: 1)))
    }
    #expect(try cost([.touchDevices(contacts)]) == 2)
    #expect(try cost(saves + [.touchDevices(sightings), .setPlan(accounts[0], .everything)]) == 2)
    let before = store.roundTrips
    _ = try store.read(.changes(account, since: nil, zones: .all, limit: 9))
    #expect(store.roundTrips - before == 1)
  }

  /// A commit waits for the standbys only if it writes. After a crash, the server may hold a save
  /// that no standby has; a retry must not be acknowledged before one has it.
  @Test func theAnswerToARetryWaitsForTheStandbys() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    let save = TestRequests.save("a", in: account, id: 1)
    let saved = try store.commit([save], wall: 1)
    let writer = "SELECT xmin::text::bigint FROM \(database.schema).accounts"
    let before = try database.number(writer)
    let again = try store.commit([save], wall: 2)
    #expect(try database.number(writer) != before)
    guard case .saved(let first) = saved[0], case .saved(let second) = again[0] else {
      Issue.record("it was refused")
      return
    }
    #expect(first.answer.results == second.answer.results && second.changed.isEmpty)
  }

  /// Simulates a full notification queue of the server.
  @Test func aNoticeThatIsRefusedTakesNothingBack() throws {
    let database = try TestDatabase(isNew: true)
    try database.run(
      """
      CREATE FUNCTION \(database.schema).pg_notify(text, text) RETURNS void LANGUAGE plpgsql
      AS 'BEGIN RAISE EXCEPTION ''too many notifications in the NOTIFY queue''; END'
      """)
    let path = "-csearch_path=\(database.schema),pg_catalog"
    let store = try PostgresZoneStore(database.address.setting("options", to: path))
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    for tag in 1...3 as ClosedRange<ChangeTag> {
      let results = try store.commit([TestRequests.save("n\(tag)", in: account)], wall: 1)
      guard case .saved(let outcome) = results.first else {
        Issue.record("it was not saved: \(results)")
        return
      }
      #expect(outcome.changed.map(\.tag) == [tag])
    }
    #expect(try database.number("SELECT count(*) FROM \(database.schema).records") == 3)
  }

  @Test func aLargeBatchIsWrittenInPortionsAndIsOneCommit() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    let saves = (0..<20).map { TestRequests.save("n\($0)", "same", in: account, bytes: 1 << 20) }
    let before = store.roundTrips
    let results = try store.commit(saves, wall: 1)
    #expect(store.roundTrips - before > 2)
    let tags = results.flatMap { result -> [ChangeTag] in
      guard case .saved(let outcome) = result else { return [] }
      return outcome.changed.map(\.tag)
    }
    #expect(tags == Array(1...40))
    #expect(try database.number("SELECT count(*) FROM \(database.schema).records") == 21)
  }

  @Test func aFailedRequestLeavesNoTraceAndDoesNotAffectOthers() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let stranger = AccountID(rawValue: 9)
    let results = try store.commit(
      [
        TestRequests.create(account), TestRequests.create(account),
        TestRequests.save("a", in: stranger), TestRequests.save("b", in: account),
      ], wall: 0)
    #expect(results[0] == .done)
    #expect(results[1] == .refused(StoreRefusals.taken))
    #expect(results[2] == .refused(StoreRefusals.revokedDevice))
    #expect(try TestRequests.names(account, in: store) == ["b"])
  }

  /// Two relays save to the same accounts in opposite orders, at the same time.
  @Test func theOrderIsTotalWhicheverRelayTakesTheSave() throws {
    let database = try TestDatabase()
    let accounts = (1...4 as ClosedRange<UInt64>).map { AccountID(rawValue: $0) }
    let first = try database.store()
    _ = try first.commit(accounts.map(TestRequests.create), wall: 0)
    first.close()
    let rounds = 25
    let outcomes = try inParallel(2) { relay -> [[Record]] in
      let store = try database.store()
      var told: [[Record]] = []
      for round in 0..<rounds {
        let order = relay == 0 ? accounts : accounts.reversed()
        let saves = order.map { TestRequests.save("r\(relay) \(round)", "both", in: $0) }
        let touch = order.map {
          DeviceSighting(
            account: $0, device: TestRequests.device, lastSeen: Int64(round * 2 + relay))
        }
        let requests = saves + [.touchDevices(touch), .collectChunks(atMost: 5)]
        for result in try store.commit(requests, wall: Int64(round)) {
          if case .saved(let outcome) = result { told.append(outcome.changed) }
        }
      }
      return told
    }
    let tags = outcomes.flatMap { $0 }.flatMap { $0 }.map(\.tag).sorted()
    // Each account assigned each of its tags once.
    let last = ChangeTag(rounds * 2 * 2)
    #expect(tags == (1...last).flatMap { [ChangeTag](repeating: $0, count: 4) })
    let reader = try database.store()
    for account in accounts {
      #expect(try TestRequests.records(account, in: reader).last?.tag == last)
    }
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    #expect(try database.number(deadlocks) == 0)
  }

  @Test func aCollisionOfIdsOfTwoRelaysIsDetected() throws {
    let database = try TestDatabase()
    let results = try inParallel(2) { _ in
      try database.store().commit([TestRequests.create(account)], wall: 0)[0]
    }
    #expect(results.filter { $0 == .done }.count == 1)
    #expect(results.filter { $0 == .refused(StoreRefusals.taken) }.count == 1)
  }

  @Test func aBackendThatIsKilledCostsNothingButARepetition() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let reader = try store.makeReader()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    try database.endSessions()
    let save = TestRequests.save("a", in: account, id: 5)
    guard case .saved(let outcome) = try store.commit([save], wall: 1)[0] else {
      Issue.record("not saved")
      return
    }
    #expect(outcome.changed.map(\.tag) == [1])
    try database.endSessions()
    #expect(try TestRequests.names(account, in: reader) == ["a"])
    guard case .saved(let again) = try store.commit([save], wall: 2)[0] else {
      Issue.record("not recognised")
      return
    }
    #expect(again.changed.isEmpty && again.answer.results == outcome.answer.results)
  }

  /// While backends are killed continuously, no acknowledged save is lost, and none is made twice.
  @Test func noSaveIsLostOrDoubledWhileBackendsDie() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    store.close()
    let lasting = Lasting()
    _ = try inParallel(2) { worker in
      if worker == 1 {
        while lasting.awaitSave() { try database.endSessions() }
        return
      }
      defer { lasting.end() }
      var store = try? database.store()
      for number in 0..<60 {
        let save = TestRequests.save("n\(number)", in: account, id: UInt64(number))
        for _ in 0..<50 {
          do {
            if store == nil { store = try database.store() }
            if let result = try store?.commit([save], wall: 1)[0], case .saved = result {
              lasting.saved()
              break
            }
          } catch {
            store = nil
          }
        }
      }
    }
    let reader = try database.store()
    let records = try TestRequests.records(account, in: reader)
    #expect(records.map(\.name.text) == (0..<60).map { "n\($0)" })
    #expect(records.map(\.tag) == Array(1...60))
  }

  @Test func aLockHeldTooLongIsReportedAndChangesNothing() throws {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    let holder = PostgresConnection(database.address)
    try holder.perform("hold") { () throws(PostgresFault) in
      _ = try holder.run(.begin)
      _ = try holder.run(PostgresStatement("", "SELECT account FROM accounts FOR UPDATE"))
    }
    #expect(throws: StorageError.self) {
      try store.commit([TestRequests.save("a", in: account)], wall: 1)
    }
    // Statements that skip locked rows do not wait.
    _ = try store.commit([.collectChunks(atMost: 5), .touchDevices([])], wall: 1)
    holder.close()
    _ = try store.commit([TestRequests.save("b", in: account)], wall: 1)
    #expect(try TestRequests.names(account, in: store) == ["b"])
  }

  /// A relay waits for an account that another transaction has locked, and meanwhile another relay
  /// begins a run.
  @Test func anAccountDoesNotGoBackToARunThatHasEnded() throws {
    let database = try TestDatabase()
    let account = AccountID(rawValue: 1)
    let first = try database.store(beginsRun: true)
    _ = try first.commit([TestRequests.create(account)], wall: 0)
    try database.runHere("BEGIN")
    try database.run("SELECT 1 FROM accounts WHERE account = 1 FOR UPDATE")
    _ = try inParallel(2) { index in
      guard index == 0 else {
        try saveOnceTheLockIsFree(in: database.store(), account)
        return
      }
      let waiting = """
        SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))
        """
      for _ in 0..<6_000 where try database.number(waiting) == 0 {
        try database.run("SELECT pg_sleep(0.01), pg_stat_clear_snapshot()")
      }
      _ = try database.store(beginsRun: true)
      try database.run("COMMIT")
    }
    let run = try database.runHere("SELECT run FROM accounts").first { $0.bits(0) }
    let current = try database.runHere("SELECT run FROM opening").first { $0.bits(0) }
    #expect(run == current && run != nil)
  }

  /// Saves as a relay does that retries after the limit for locks: on a busy machine, the other
  /// thread may hold the lock for longer.
  private func saveOnceTheLockIsFree(in store: PostgresZoneStore, _ account: AccountID) throws {
    for remaining in (0..<20).reversed() {
      do {
        _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
        return
      } catch {
        if remaining == 0 { throw error }
      }
    }
  }
}

/// The progress of a test, for its other thread.
private final class Lasting: @unchecked Sendable {
  private let condition = NSCondition()
  private var hasEnded = false
  private var saves = 0

  func saved() { change { saves += 1 } }
  func end() { change { hasEnded = true } }

  private func change(_ work: () -> Void) {
    condition.withLock(work)
    condition.broadcast()
  }

  /// Returns true after the next save, or false after the last one.
  func awaitSave() -> Bool {
    condition.withLock {
      let former = saves
      while saves == former && !hasEnded { condition.wait() }
      return !hasEnded
    }
  }
}

/// Runs `work` once per index, each on a thread of its own.
func inParallel<Value: Sendable>(
  _ count: Int, _ work: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
  let results = Results<Value>()
  let ended = DispatchGroup()
  for index in 0..<count {
    ended.enter()
    // `concurrentPerform` would run them one after another if its threads are all busy.
    Thread.detachNewThread {
      results.put(Result { try work(index) }, at: index)
      ended.leave()
    }
  }
  ended.wait()
  return try results.inOrder.map { try $0.get() }
}

private final class Results<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var all: [(Int, Result<Value, any Error>)] = []
  func put(_ result: Result<Value, any Error>, at index: Int) {
    lock.withLock { all.append((index, result)) }
  }
  var inOrder: [Result<Value, any Error>] {
    lock.withLock { all.sorted { $0.0 < $1.0 }.map(\.1) }
  }
}
