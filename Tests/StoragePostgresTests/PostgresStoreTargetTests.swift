import Foundation
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStoragePostgres

/// A database for one test, because a move checks for other sessions.
final class MovingDatabase {
  let address: PostgresAddress
  private let name = "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
  private let server: PostgresConnection

  init() throws {
    let url = try #require(TestDatabase.url)
    address = try PostgresAddress(url).setting("dbname", to: name)
    server = PostgresConnection(try PostgresAddress(url))
    try run("CREATE DATABASE \(name)")
  }

  deinit {
    do {
      try run("DROP DATABASE \(name) WITH (FORCE)")
    } catch {
      Issue.record("\(name) cannot be removed: \(error)")
    }
    server.close()
  }

  private func run(_ sql: String) throws {
    try server.perform("test") { () throws(PostgresFault) in
      _ = try server.run(PostgresStatement("", sql), within: 60_000)
    }
  }

  /// Returns when the server holds at most `count` sessions of this database: it ends a session
  /// some time after its client has disconnected.
  func awaitSessions(_ count: Int) throws {
    try run(
      """
      DO $$ BEGIN
        FOR look IN 1..3000 LOOP
          PERFORM pg_stat_clear_snapshot();
          IF (SELECT count(*) FROM pg_stat_activity WHERE datname = '\(name)') <= \(count) THEN
            RETURN;
          END IF;
          PERFORM pg_sleep(0.01);
        END LOOP;
        RAISE 'sessions are left';
      END $$
      """)
  }

  /// Runs a query in a temporary session.
  func number(_ sql: String) throws -> Int64 {
    let session = try MovingSession(address)
    defer { session.connection.close() }
    return try session.run("test") { () throws(PostgresFault) in
      try session.connection.run(PostgresStatement("", "SELECT (\(sql))::bigint"))
        .first { $0.integer(0) } ?? -1
    }
  }
}

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresStoreTargetTests {
  private static let account = AccountID(rawValue: .max - 4)
  private static let device = DeviceID(rawValue: 1)

  /// A store that is moved from a folder to a database and back, repeatedly.
  private final class Wanderer {
    private var folder: TemporaryFolder?
    private var database: MovingDatabase?
    private let rules: StoreRules

    init(_ rules: StoreRules) { self.rules = rules }

    func begin() throws -> any ZoneStore {
      let folder = try TemporaryFolder()
      self.folder = folder
      return try SQLiteZoneStore(directory: folder.path, rules: rules, opening: 1, run: 0)
    }

    func move(_ store: any ZoneStore) throws -> any ZoneStore {
      if let old = folder {
        (store as? SQLiteZoneStore)?.close()
        let new = try MovingDatabase()
        let dump = try StoreDump.move(
          try SQLiteStoreSource(directory: old.path, retirement: 7),
          to: try PostgresStoreTarget(new.address))
        #expect(try StoreDump(try PostgresStoreSource(new.address)) == dump)
        (folder, database) = (nil, new)
        let next = try PostgresZoneStore(new.address, rules: rules, beginsRun: false)
        #expect(!next.wasRestored)
        return next
      }
      (store as? PostgresZoneStore)?.close()
      let old = try #require(database)
      let new = try TemporaryFolder()
      let dump = try StoreDump.move(
        try PostgresStoreSource(old.address), to: try SQLiteStoreTarget(directory: new.path))
      let source = try SQLiteStoreSource(directory: new.path, retirement: 7)
      #expect(try StoreDump(source) == dump)
      source.close()
      (folder, database) = (new, nil)
      let next = try SQLiteZoneStore(directory: new.path, rules: rules, opening: 1, run: 0)
      #expect(!next.wasRestored)
      return next
    }
  }

  /// Stories that only use the store's own results; stories that copy the store are skipped.
  @Test(arguments: ZoneStory.all) func holdsWhereverItGoes(_ story: ZoneStory) throws {
    let wanderer = Wanderer(story.rules)
    let first = try wanderer.begin()
    var isCopied = false
    let scene = ZoneScene(first) { store in
      try wanderer.move(store)
    } copying: { _ in
      isCopied = true
      throw CancellationError()
    }
    do {
      try story.tell(scene)
    } catch is CancellationError {
      #expect(isCopied)
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    let wanderer = Wanderer(ZoneWalk.rules)
    var walk = ZoneWalk(seed: seed)
    try walk.lead(try wanderer.begin(), steps: 700) { try wanderer.move($0) }
  }

  @Test func fromOneDatabaseToAnotherNothingChanges() throws {
    // Together, the walks leave rows in each table.
    let dumps = try (9...11).map { try moved(seed: UInt64($0)) }
    #expect(dumps.contains { !$0.records.isEmpty } && dumps.contains { !$0.batches.isEmpty })
    #expect(dumps.contains { !$0.subscriptions.isEmpty } && dumps.contains { !$0.chunks.isEmpty })
    #expect(dumps.contains { !$0.lineage.isEmpty } && dumps.contains { !$0.pairings.isEmpty })
    #expect(dumps.contains { !$0.wakes.isEmpty } && dumps.contains { !$0.wakeKeys.isEmpty })
  }

  /// Moves the store of a random walk, and returns what was moved.
  private func moved(seed: UInt64) throws -> StoreDump {
    let (old, new) = (try MovingDatabase(), try MovingDatabase())
    var walk = ZoneWalk(seed: seed)
    let last = try walk.lead(
      try PostgresZoneStore(old.address, rules: ZoneWalk.rules, beginsRun: false), steps: 300
    ) { store in
      (store as? PostgresZoneStore)?.close()
      return try PostgresZoneStore(old.address, rules: ZoneWalk.rules, beginsRun: false)
    }
    (last as? PostgresZoneStore)?.close()
    // In a new generation, and with a code, so that each table has rows: a restore deletes codes.
    let restored = try PostgresZoneStore(old.address, declareRestored: true)
    let code = NewPairing(codeHash: [UInt8](repeating: 97, count: 32), expiresAt: 1 << 50)
    let made = try restored.commit(
      [
        .createAccount(
          AccountID(rawValue: 77), generation: 1, label: "", device: nil, pairing: code)
      ], wall: 1 << 41)
    #expect(made == [.done])
    restored.close()
    let dump = try StoreDump.move(
      try PostgresStoreSource(old.address), to: try PostgresStoreTarget(new.address))
    #expect(try StoreDump(try PostgresStoreSource(new.address)) == dump)
    return dump
  }

  // MARK: Older copies

  private func fill(_ database: MovingDatabase) throws {
    let store = try PostgresZoneStore(database.address)
    let description = DeviceDescription(deviceName: "d", platform: "p", appVersion: "1")
    let token = [UInt8](repeating: 3, count: 32)
    let device = NewDevice(id: Self.device, description: description, tokenHash: token)
    let result = try store.commit(
      [
        .createAccount(Self.account, generation: 1, label: "Ada", device: device, pairing: nil)
      ], wall: 1)
    #expect(result == [.done])
    store.close()
  }

  @Test func theStoreThatWasLeftIsAnOlderCopyAlsoWhereItIsMovedAgain() throws {
    let (old, new, next) = (try MovingDatabase(), try MovingDatabase(), try MovingDatabase())
    try fill(old)
    try StoreDump.move(
      try PostgresStoreSource(old.address), to: try PostgresStoreTarget(new.address))
    #expect(try !PostgresZoneStore(new.address).wasRestored)
    let again = try PostgresStoreSource(old.address)
    #expect(again.isOlderCopy)
    try StoreDump.move(again, to: try PostgresStoreTarget(next.address))
    for database in [next, old] {
      let store = try PostgresZoneStore(database.address)
      #expect(store.wasRestored)
      store.close()
      let after = try PostgresZoneStore(database.address)
      #expect(!after.wasRestored)
    }
  }

  // MARK: Incomplete moves

  @Test func anUnfinishedStoreCannotBeOpened() throws {
    let (old, new) = (try MovingDatabase(), try MovingDatabase())
    try fill(old)
    let source = try PostgresStoreSource(old.address)
    let target = try PostgresStoreTarget(new.address)
    while let rows = try source.next() {
      try target.insert(rows)
      let fault = #expect(throws: StorageError.self) { try PostgresZoneStore(new.address) }
      #expect("\(try #require(fault))".contains("a move into it"))
      #expect(throws: StorageError.self) { try PostgresStoreSource(new.address) }
    }
    // Simulates a crash.
    target.close()
    #expect(throws: StorageError.self) { try PostgresZoneStore(new.address) }
    #expect(try new.number("SELECT count(*) FROM accounts") == 1)
    // The next move starts from the beginning.
    try new.awaitSessions(0)
    try StoreDump.move(try PostgresStoreSource(old.address), to: PostgresStoreTarget(new.address))
    #expect(try new.number("SELECT count(*) FROM accounts") == 1)
    #expect(try !PostgresZoneStore(new.address).wasRestored)
  }

  @Test func anAbandonedMoveLeavesAnEmptyStore() throws {
    let (old, new) = (try MovingDatabase(), try MovingDatabase())
    try fill(old)
    let source = try PostgresStoreSource(old.address)
    let target = try PostgresStoreTarget(new.address)
    while let rows = try source.next() { try target.insert(rows) }
    try target.abandon()
    target.close()
    let store = try PostgresZoneStore(new.address)
    #expect(try store.read(.accountCount) == .count(0))
    store.close()
    // The source is unchanged too.
    source.close()
    let former = try PostgresZoneStore(old.address)
    #expect(!former.wasRestored)
  }

  @Test func anIncompleteMoveIsNotFinished() throws {
    let (old, new) = (try MovingDatabase(), try MovingDatabase())
    try fill(old)
    let source = try PostgresStoreSource(old.address)
    let target = try PostgresStoreTarget(new.address)
    let fault = #expect(throws: StorageError.self) {
      try target.finish(source.totals, isOlderCopy: false)
    }
    #expect("\(try #require(fault))".contains("0 of 1 accounts are there"))
    try target.abandon()
  }

  // MARK: Refusals

  @Test func aDatabaseWithARelayIsRefused() throws {
    let (old, new) = (try MovingDatabase(), try MovingDatabase())
    try fill(old)
    let relay = try PostgresZoneStore(old.address)
    let source = #expect(throws: StorageError.self) { try PostgresStoreSource(old.address) }
    let target = #expect(throws: StorageError.self) { try PostgresStoreTarget(old.address) }
    for fault in [source, target] {
      guard case .inUse(_, let holder) = try #require(fault) else {
        Issue.record("it is refused for another reason: \(String(describing: fault))")
        continue
      }
      #expect(holder.contains("a relay"))
    }
    // The relay continues as before.
    #expect(try relay.read(.accountCount) == .count(1))
    relay.close()
    _ = new
  }

  @Test func aRelayThatCameMeanwhileIsNoticed() throws {
    let old = try MovingDatabase()
    try fill(old)
    let source = try PostgresStoreSource(old.address)
    _ = try StoreDump(source)
    let relay = try PostgresZoneStore(old.address)
    #expect(throws: StorageError.self) { try source.confirm() }
    _ = try relay.commit([.setPlan(Self.account, Plan(zones: []))], wall: 2)
    relay.close()
    // Only the source's own session is left.
    try old.awaitSessions(1)
    #expect(throws: StorageError.self) { try source.confirm() }
  }

  @Test func aDatabaseWithAccountsOrAnotherMoveIsRefused() throws {
    let (full, empty) = (try MovingDatabase(), try MovingDatabase())
    try fill(full)
    let held = #expect(throws: StorageError.self) { try PostgresStoreTarget(full.address) }
    #expect("\(try #require(held))".contains("there is 1 account in it already"))
    #expect(try full.number("SELECT count(*) FROM accounts") == 1)
    #expect(try !PostgresZoneStore(full.address).wasRestored)
    let first = try PostgresStoreTarget(empty.address)
    let second = #expect(throws: StorageError.self) { try PostgresStoreTarget(empty.address) }
    #expect("\(try #require(second))".contains("another move"))
    try first.abandon()
    #expect(throws: StorageError.self) { try PostgresStoreSource(try MovingDatabase().address) }
  }
}
