import Foundation
import LockstepModel
import LockstepStorage
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SQLiteZoneStoreTests {
  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let directory = try TemporaryFolder()
    func open() throws -> SQLiteZoneStore {
      try SQLiteZoneStore(directory: directory.path, rules: story.rules)
    }
    let scene = ZoneScene(try open()) { store in
      (store as? SQLiteZoneStore)?.close()
      return try open()
    } copying: { store in
      let copy = try StoreCopy(try #require(store as? SQLiteZoneStore))
      return { store in
        (store as? SQLiteZoneStore)?.close()
        try copy.putBack(in: directory)
        return try open()
      }
    }
    try story.tell(scene)
  }

  /// The same stories, with all reads on the connection of another thread.
  @Test(arguments: ZoneStory.all) func holdsForItsReader(_ story: ZoneStory) throws {
    let directory = try TemporaryFolder()
    let scene = ZoneScene(try StoreAndReader(directory.path, story.rules)) { store in
      (store as? StoreAndReader)?.close()
      return try StoreAndReader(directory.path, story.rules)
    } copying: { store in
      let copy = try StoreCopy(try #require(store as? StoreAndReader).writer)
      return { store in
        (store as? StoreAndReader)?.close()
        try copy.putBack(in: directory)
        return try StoreAndReader(directory.path, story.rules)
      }
    }
    try story.tell(scene)
  }

  /// The folder is copied as a whole, and put back as a whole.
  @Test(arguments: RunStories.all) func distinguishesItsRuns(_ story: ZoneStory) throws {
    let directory = try TemporaryFolder()
    func open(_ run: UInt64) throws -> StoreAndReader {
      try StoreAndReader(directory.path, story.rules, run: run)
    }
    let runs = ZoneScene.Runs { store, run in
      (store as? StoreAndReader)?.close()
      return try open(run)
    } copying: { store in
      let copy = try StoreCopy(try #require(store as? StoreAndReader).writer)
      let opening = try directory.bytes("opening")
      return { store, run in
        (store as? StoreAndReader)?.close()
        try copy.putBack(in: directory)
        try directory.write(opening, to: "opening")
        let opened = try open(run)
        #expect(!opened.writer.wasRestored)
        return opened
      }
    }
    let scene = ZoneScene(
      try open(0), reopening: { $0 }, copying: { _ in { $0 } }, runs: runs)
    try story.tell(scene)
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    let directory = try TemporaryFolder()
    func open() throws -> StoreAndReader {
      let store = try StoreAndReader(directory.path, ZoneWalk.rules)
      // Only the results matter here; a sync for each step would only take time.
      try store.writer.connection.execute("PRAGMA synchronous = OFF")
      return store
    }
    var walk = ZoneWalk(seed: seed)
    let store = try walk.lead(try open(), steps: 700) { store in
      (store as? StoreAndReader)?.close()
      return try open()
    }
    let writer = try #require(store as? StoreAndReader).writer
    #expect(try writer.connection.firstText(of: "PRAGMA integrity_check") == "ok")
    try expectCountsHold(in: writer)
    try walk.clear(writer)
    try expectCountsHold(in: writer)
  }

  @Test(arguments: 21...24 as ClosedRange<UInt64>) func hidesNothingFromItsReaders(
    seed: UInt64
  ) throws {
    let directory = try TemporaryFolder()
    func open() throws -> SQLiteZoneStore {
      let store = try SQLiteZoneStore(directory: directory.path, rules: ZoneWalk.rules)
      try store.connection.execute("PRAGMA synchronous = OFF")
      return store
    }
    var walk = FollowerWalk(seed: seed)
    try walk.lead(try open(), steps: 1_500) { store in
      let copy = try StoreCopy(try #require(store as? SQLiteZoneStore))
      return { store in
        (store as? SQLiteZoneStore)?.close()
        try copy.putBack(in: directory)
        return try open()
      }
    }
    #expect(walk.restores > 3 && walk.expiries > 3)
  }

  /// Compares the stored counters with counts of the rows.
  private func expectCountsHold(in store: SQLiteZoneStore) throws {
    func count(_ sql: String) throws -> Int64 { try store.connection.firstInteger(of: sql) }
    let named = """
      SELECT count(*) FROM records WHERE records.account = chunks.account
        AND instr(records.chunks, chunks.hash) % 32 = 1
      """
    #expect(try count("SELECT count(*) FROM chunks WHERE uses <> (\(named))") == 0)
    let live = """
      SELECT account, zone, count(*) FROM records WHERE fields IS NOT NULL GROUP BY account, zone
      """
    #expect(try count("SELECT count(*) FROM (SELECT * FROM zones EXCEPT \(live))") == 0)
    #expect(try count("SELECT count(*) FROM (\(live) EXCEPT SELECT * FROM zones)") == 0)
    let held = """
      SELECT coalesce(sum(bytes), 0) FROM chunks WHERE chunks.account = accounts.account
      """
    #expect(try count("SELECT count(*) FROM accounts WHERE chunk_bytes <> (\(held))") == 0)
    #expect(
      try count("SELECT count(*) FROM records WHERE (fields IS NULL) = (deleted_at IS NULL)") == 0)
  }

  @Test func isForItsOwnerAlone() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path("a/b"))
    _ = try store.commit([create()], wall: 0)
    #expect(try directory.rights("a") == 0o700)
    #expect(try directory.rights("a/b") == 0o700)
    for name in ["zones.sqlite", "zones.sqlite-wal", "lock", "opening"] {
      #expect(try directory.rights("a/b/" + name) == 0o600)
    }
  }

  @Test func aSecondStoreOnTheSameDirectoryIsRefusedUntilTheFirstIsClosed() throws {
    let directory = try TemporaryFolder()
    let first = try SQLiteZoneStore(directory: directory.path)
    let inUse = StorageError.inUse(path: directory.path, by: "process \(getpid())")
    #expect(throws: inUse) { try SQLiteZoneStore(directory: directory.path) }
    _ = try first.commit([create()], wall: 0)
    first.close()
    let second = try SQLiteZoneStore(directory: directory.path)
    #expect(try second.read(.accountCount) == .count(1))
  }

  @Test func closingLeavesOneDatabaseFileTheLockAndTheOpening() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([create()], wall: 0)
    store.close()
    store.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["lock", "opening", "zones.sqlite"])
    #expect(throws: StorageError.self) { try store.commit([create()], wall: 0) }
    #expect(throws: StorageError.self) { try store.read(.accountCount) }
  }

  @Test func aReaderSeesEachCommitAndCannotWrite() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    let reader = try store.makeReader()
    #expect(try reader.read(.accountCount) == .count(0))
    _ = try store.commit([create()], wall: 0)
    #expect(try reader.read(.accountCount) == .count(1))
    #expect(throws: StorageError.readOnly(path: directory.path("zones.sqlite"))) {
      try reader.connection.execute("DELETE FROM accounts")
    }
  }

  @Test func theLogIsMovedInPausesAndBoundedWithout() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    try store.connection.execute("PRAGMA synchronous = OFF")
    _ = try store.commit([create()], wall: 0)
    func saveMebibytes(_ count: Int) throws -> Int {
      var greatest = 0
      for number in 0..<count {
        _ = try store.commit([save("large \(count) \(number)", bytes: 1 << 20)], wall: 0)
        greatest = max(greatest, store.connection.waitingPages)
      }
      return greatest
    }
    #expect(try saveMebibytes(8) > Limits.logPages)
    try store.performMaintenance()
    #expect(store.connection.waitingPages == 0)
    // A commit of one mebibyte takes slightly more than 256 pages.
    #expect(try saveMebibytes(70) < Limits.logPagesMax + 300)
    #expect(store.connection.waitingPages < 8_000)
  }

  // MARK: Helpers

  private let account = AccountID(rawValue: 1)

  private func create() -> CommitRequest { TestRequests.create(account) }

  private func save(_ name: String, bytes: Int) -> CommitRequest {
    TestRequests.save(name, in: account, bytes: bytes)
  }
}
