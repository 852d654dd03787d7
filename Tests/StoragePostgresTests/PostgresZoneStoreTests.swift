import LockstepModel
import LockstepStorage
import StorageContract
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresZoneStoreTests {
  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let database = try TestDatabase()
    let scene = ZoneScene(try database.store(rules: story.rules)) { store in
      (store as? PostgresZoneStore)?.close()
      return try database.store(rules: story.rules)
    } copying: { _ in
      let copy = try TableCopy(database)
      return { store in
        (store as? PostgresZoneStore)?.close()
        try copy.putBack()
        return try database.store(rules: story.rules)
      }
    }
    try story.tell(scene)
  }

  /// The same stories, with all reads on the connection of another thread.
  @Test(arguments: ZoneStory.all) func holdsForItsReader(_ story: ZoneStory) throws {
    let database = try TestDatabase()
    let scene = ZoneScene(try StoreAndReader(database, story.rules)) { store in
      (store as? StoreAndReader)?.close()
      return try StoreAndReader(database, story.rules)
    } copying: { _ in
      let copy = try TableCopy(database)
      return { store in
        (store as? StoreAndReader)?.close()
        try copy.putBack()
        return try StoreAndReader(database, story.rules)
      }
    }
    try story.tell(scene)
  }

  /// Simulates a reset of the server's disk to an earlier state.
  @Test(arguments: RunStories.all) func distinguishesItsRuns(_ story: ZoneStory) throws {
    let database = try TestDatabase()
    func open() throws -> StoreAndReader {
      try StoreAndReader(database, story.rules, beginsRun: true)
    }
    let runs = ZoneScene.Runs { store, _ in
      (store as? StoreAndReader)?.close()
      return try open()
    } copying: { _ in
      let copy = try TableCopy(database)
      return { store, _ in
        (store as? StoreAndReader)?.close()
        try copy.putBack(isSeen: false)
        let opened = try open()
        #expect(!opened.writer.wasRestored)
        return opened
      }
    }
    let scene = ZoneScene(
      try StoreAndReader(database, story.rules), reopening: { $0 }, copying: { _ in { $0 } },
      runs: runs)
    try story.tell(scene)
  }

  /// Sessions end, also when the server is reset, and each new writing session begins another run,
  /// for all relays.
  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func eachSessionBeginsARunOfAllRelays() throws {
    let database = try TestDatabase()
    let (one, other) = (try database.store(beginsRun: true), try database.store(beginsRun: true))
    let account = AccountID(rawValue: 5)
    func run() throws -> UInt64 {
      UInt64(bitPattern: try database.number("SELECT run FROM \(database.schema).opening"))
    }
    func newest(_ store: PostgresZoneStore) throws -> ChangeTag {
      guard case .token(let token) = try store.read(.newestToken(account)) else { return -1 }
      return token.sequence
    }
    _ = try one.commit([TestRequests.create(account)], wall: 0)
    _ = try one.commit([TestRequests.save("a", in: account)], wall: 0)
    _ = try other.commit([TestRequests.save("b", in: account)], wall: 0)
    #expect(try newest(other) == 2)
    let first = try run()
    try database.endSessions()
    #expect(try newest(one) == 2)
    _ = try other.commit([TestRequests.save("c", in: account)], wall: 0)
    let second = try run()
    #expect(second != first)
    let third = try newest(one)
    #expect(third > 1 << 40)
    _ = try one.commit([TestRequests.save("d", in: account)], wall: 0)
    #expect(try newest(other) == third + 1)
    #expect(try database.number("SELECT count(*) FROM \(database.schema).gaps") == 1)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    let database = try TestDatabase()
    var walk = ZoneWalk(seed: seed)
    let store = try walk.lead(
      try StoreAndReader(database, ZoneWalk.rules), steps: 700
    ) { store in
      (store as? StoreAndReader)?.close()
      return try StoreAndReader(database, ZoneWalk.rules)
    }
    let writer = try #require(store as? StoreAndReader).writer
    try expectCountsHold(in: database)
    try walk.clear(writer)
    try expectCountsHold(in: database)
  }

  @Test(arguments: 21...24 as ClosedRange<UInt64>) func hidesNothingFromItsReaders(
    seed: UInt64
  ) throws {
    let database = try TestDatabase()
    var walk = FollowerWalk(seed: seed)
    try walk.lead(try database.store(rules: ZoneWalk.rules), steps: 1_500) { _ in
      let copy = try TableCopy(database)
      return { store in
        (store as? PostgresZoneStore)?.close()
        try copy.putBack()
        return try database.store(rules: ZoneWalk.rules)
      }
    }
    #expect(walk.restores > 3 && walk.expiries > 3)
  }

  /// Compares the stored counters with counts of the rows.
  private func expectCountsHold(in database: TestDatabase) throws {
    func count(_ sql: String) throws -> Int64 {
      let rows = try database.runHere("SELECT (\(sql))::bigint")
      return try #require(rows.first { $0.integer(0) })
    }
    let named = """
      SELECT count(*) FROM records WHERE records.account = chunks.account
        AND position(chunks.hash IN records.chunks) % 32 = 1
      """
    #expect(try count("SELECT count(*) FROM chunks WHERE uses <> (\(named))") == 0)
    let live = """
      SELECT account, zone, count(*) FROM records WHERE fields IS NOT NULL GROUP BY account, zone
      """
    let kept = "SELECT account, zone, live FROM zones"
    #expect(try count("SELECT count(*) FROM (\(kept) EXCEPT \(live)) AS more") == 0)
    #expect(try count("SELECT count(*) FROM (\(live) EXCEPT \(kept)) AS less") == 0)
    let held = """
      SELECT coalesce(sum(bytes), 0) FROM chunks WHERE chunks.account = accounts.account
      """
    #expect(try count("SELECT count(*) FROM accounts WHERE chunk_bytes <> (\(held))") == 0)
    #expect(
      try count("SELECT count(*) FROM records WHERE (fields IS NULL) = (deleted_at IS NULL)") == 0)
  }
}

/// Commits with the writer, and reads with the reader.
private final class StoreAndReader: ZoneStore {
  let writer: PostgresZoneStore
  private let reader: PostgresZoneReader

  init(_ database: TestDatabase, _ rules: StoreRules, beginsRun: Bool = false) throws {
    writer = try database.store(rules: rules, beginsRun: beginsRun)
    reader = try writer.makeReader()
  }

  func close() {
    reader.close()
    writer.close()
  }

  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult] {
    try writer.commit(requests, wall: wall)
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    try reader.read(request)
  }
}
