import Foundation
import Glibc
import LockstepModel
import LockstepStorage
import StorageContract
import Synchronization
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// A store with a commit log: what is acknowledged is never lost, and no reader can tell that the
/// database has it only later.
struct CommitLogTests {
  private let account = AccountID(rawValue: 1)
  private let zone = Name(trusted: "Z")

  private func open(
    _ directory: TemporaryFolder, rules: StoreRules = StoreRules()
  ) throws -> SQLiteZoneStore {
    try SQLiteZoneStore(directory: directory.path, rules: rules, usesCommitLog: true)
  }

  /// Opens a store with an account that has saved in this run.
  private func begin(_ directory: TemporaryFolder) throws -> SQLiteZoneStore {
    let store = try open(directory)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    return store
  }

  /// Number of an account's records in the database alone.
  private func storedRecords(_ store: SQLiteZoneStore) throws -> Int64 {
    try store.connection.firstInteger(of: "SELECT count(*) FROM records")
  }

  /// Faults of the tables; the tests' own fields and digests are not those of devices.
  private func tableFaults(_ inspector: ZoneInspector) throws -> [StoreFault] {
    let faults = try #require(try inspector.faults { true })
    return faults.filter { $0.code != "fields" && $0.code != "batchDigest" }
  }

  // MARK: The contract

  @Test(arguments: ZoneStory.all) func holds(_ story: ZoneStory) throws {
    let directory = try TemporaryFolder()
    let scene = ZoneScene(try open(directory, rules: story.rules)) { store in
      (store as? SQLiteZoneStore)?.close()
      return try open(directory, rules: story.rules)
    } copying: { _ in
      let copy = try StoreCopy(backingUp: directory)
      return { store in
        (store as? SQLiteZoneStore)?.close()
        try copy.putBack(in: directory)
        return try open(directory, rules: story.rules)
      }
    }
    try story.tell(scene)
  }

  @Test(arguments: ZoneStory.all) func holdsForItsReader(_ story: ZoneStory) throws {
    let directory = try TemporaryFolder()
    func open() throws -> StoreAndReader {
      try StoreAndReader(directory.path, story.rules, usesCommitLog: true)
    }
    let scene = ZoneScene(try open()) { store in
      (store as? StoreAndReader)?.close()
      return try open()
    } copying: { _ in
      let copy = try StoreCopy(backingUp: directory)
      return { store in
        (store as? StoreAndReader)?.close()
        try copy.putBack(in: directory)
        return try open()
      }
    }
    try story.tell(scene)
  }

  /// Saves are buffered for longer than the reference takes to forget something, so here nothing is
  /// forgotten.
  @Test(arguments: 31...42 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    let directory = try TemporaryFolder()
    var rules = ZoneWalk.rules
    rules.historyMilliseconds = 1 << 40
    func open() throws -> StoreAndReader {
      let store = try StoreAndReader(directory.path, rules, usesCommitLog: true)
      try store.writer.connection.execute("PRAGMA synchronous = OFF")
      return store
    }
    var walk = ZoneWalk(seed: seed, rules: rules)
    let store = try walk.lead(try open(), steps: 700) { store in
      // Every second time the relay is killed: the files are as they were at that moment.
      if seed.isMultiple(of: 2) {
        let crashed = try directory.crashed()
        (store as? StoreAndReader)?.close()
        try directory.replaceContent(by: crashed)
      } else {
        (store as? StoreAndReader)?.close()
      }
      return try open()
    }
    let writer = try #require(store as? StoreAndReader).writer
    try walk.clear(writer)
    #expect(try writer.connection.firstText(of: "PRAGMA integrity_check") == "ok")
    writer.close()
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try tableFaults(inspector) == [])
  }

  @Test(arguments: 51...54 as ClosedRange<UInt64>) func hidesNothingFromItsReaders(
    seed: UInt64
  ) throws {
    let directory = try TemporaryFolder()
    func open() throws -> SQLiteZoneStore {
      let store = try self.open(directory, rules: ZoneWalk.rules)
      try store.connection.execute("PRAGMA synchronous = OFF")
      return store
    }
    var walk = FollowerWalk(seed: seed)
    try walk.lead(try open(), steps: 1_500) { _ in
      let copy = try StoreCopy(backingUp: directory)
      return { store in
        (store as? SQLiteZoneStore)?.close()
        try copy.putBack(in: directory)
        return try open()
      }
    }
    #expect(walk.restores > 3 && walk.expiries > 3)
  }

  // MARK: Short commits

  /// A save that another thread commits is as durable as one of the writer's, and so is what the
  /// writer does next.
  @Test func aShortCommitIsDurableAndInOrder() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let short = SQLiteShortCommits(store)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    let result = short.commit(TestRequests.save("b", in: account), wall: 0)
    guard case .saved(let outcome) = result else {
      Issue.record("the save was left to the writer")
      return
    }
    #expect(outcome.answer.token.sequence == outcome.answer.since.sequence + 1)
    _ = try store.commit([TestRequests.save("c", in: account)], wall: 0)
    #expect(try storedRecords(store) == 0)
    let crashed = try directory.crashed()
    let reopened = try SQLiteZoneStore(directory: crashed.path, usesCommitLog: true)
    #expect(try storedRecords(reopened) == 3)
  }

  /// Requests that need more than an append to the log are left to the writer's thread.
  @Test func aShortCommitIsAnOrdinarySave() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    let short = SQLiteShortCommits(store)
    let save = TestRequests.save("a", in: account)
    #expect(short.commit(save, wall: 0) == nil, "the files are not checked")
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    #expect(short.commit(save, wall: 0) != nil)
    let other = TestRequests.save("b", in: account)
    #expect(short.commit(other, wall: 1 << 40) == nil, "the check of the files is old")
    _ = try store.commit([TestRequests.create(AccountID(rawValue: 2))], wall: 0)
    #expect(short.commit(.checkWritable, wall: 0) == nil)
    #expect(short.commit(save, wall: 0) == nil, "a batch that was saved before")
    #expect(short.commit(other, wall: 0) != nil)
    for number in 1..<Limits.bufferedSavesAtRest {
      let result = short.commit(TestRequests.save("c\(number)", in: account), wall: 0)
      #expect(result != nil)
    }
    #expect(short.commit(TestRequests.save("d", in: account), wall: 0) == nil, "a flush is due")
    try store.performMaintenance()
    #expect(short.commit(TestRequests.save("d", in: account), wall: 0) != nil)
    store.close()
    #expect(short.commit(TestRequests.save("e", in: account), wall: 0) == nil)
  }

  /// The log's file fails: the event loop's thread leaves the save to the writer, and waits for no
  /// flush. Nothing is lost, and the next save may be short again.
  @Test(arguments: [FailingFile.full, .unsynced]) func aShortCommitIsLeftToTheWriterIfTheLogFails(
    _ failure: FailingFile
  ) throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let short = SQLiteShortCommits(store)
    #expect(short.commit(TestRequests.save("a", in: account), wall: 0) != nil)
    let file = try failure.begin(in: directory)
    let save = TestRequests.save("b", in: account)
    #expect(short.commit(save, wall: 0) == nil)
    #expect(try storedRecords(store) == 0, "it did not wait for the database")
    #expect(short.commit(save, wall: 0) == nil, "the database comes first")
    guard case .saved(let outcome) = try store.commit([save], wall: 0).first else {
      Issue.record("the writer does not save it")
      return
    }
    #expect(outcome.changed.count == 1)
    file.end()
    #expect(short.commit(TestRequests.save("c", in: account), wall: 0) != nil)
    let copy = try open(try directory.crashed())
    #expect(try TestRequests.names(account, in: copy) == ["a", "b", "c"])
  }

  // MARK: The way of a save

  @Test func aSaveWaitsInTheLogUntilAReaderAsks() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let reader = try store.makeReader()
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    _ = try store.commit([TestRequests.save("b", in: account)], wall: 0)
    #expect(try storedRecords(store) == 0)
    #expect(try TestRequests.names(account, in: reader) == ["a", "b"])
    #expect(try storedRecords(store) == 2)
  }

  @Test func readersOfOtherAccountsDoNotFlush() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let other = AccountID(rawValue: 2)
    _ = try store.commit([TestRequests.create(other)], wall: 0)
    let reader = try store.makeReader()
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    #expect(try TestRequests.names(other, in: reader) == [])
    #expect(try storedRecords(store) == 0)
  }

  @Test func readsTogetherContainTheSavesBeforeThem() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let reader = try store.makeReader()
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    let first = reader.readTogether { Result { try TestRequests.names(account, in: reader) } }
    #expect(try first.get() == ["a"])
    _ = try store.commit([TestRequests.save("b", in: account)], wall: 0)
    let other = AccountID(rawValue: 2)
    let names = reader.readTogether {
      Result {
        // The first read sees only the database; then the writer moves the save into it.
        _ = try? reader.read(.newestToken(other))
        _ = try store.read(.newestToken(other))
        return try TestRequests.names(account, in: reader)
      }
    }
    #expect(try names.get() == ["a", "b"])
  }

  @Test func readsTogetherShareOneView() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let reader = try store.makeReader()
    let names = reader.readTogether {
      Result {
        _ = try TestRequests.names(account, in: reader)
        _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
        return try TestRequests.names(account, in: reader)
      }
    }
    #expect(try names.get() == [])
    #expect(try TestRequests.names(account, in: reader) == ["a"])
  }

  @Test func readsTogetherOfAClosedReaderFailOnceEach() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let reader = try store.makeReader()
    reader.close()
    var calls = 0
    let result = reader.readTogether {
      calls += 1
      return Result { try reader.read(.accountCount) }
    }
    #expect(calls == 1)
    #expect(throws: StorageError.self) { try result.get() }
  }

  @Test func manySavesReachTheDatabaseInAnIdlePeriod() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    for number in 0..<Limits.bufferedSavesAtRest {
      try store.performMaintenance()
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
    }
    #expect(try storedRecords(store) == 0)
    try store.performMaintenance()
    #expect(try storedRecords(store) == Int64(Limits.bufferedSavesAtRest))
  }

  /// A retry in the log, of a batch in the database, and under another content.
  @Test func aBatchIsRecognizedWhereverItIs() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let request = TestRequests.save("a", in: account, id: 1)
    let first = try store.commit([request], wall: 0)
    #expect(try tags(store.commit([request], wall: 0)) == tags(first))
    _ = try store.commit([TestRequests.save("b", in: account, id: 2)], wall: 0)
    #expect(try tags(store.commit([request], wall: 0)) == tags(first))
    #expect(try TestRequests.names(account, in: store) == ["a", "b"])
  }

  private func tags(_ results: [CommitResult]) -> [MutationResult]? {
    guard case .saved(let outcome) = results.first else { return nil }
    return outcome.answer.results
  }

  // MARK: Crashes

  @Test func whatWasAcknowledgedSurvivesACrash() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    for number in 0..<40 {
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
      if number == 10 { _ = try TestRequests.names(account, in: store) }
      if number == 20 { try store.connection.checkpoint(waits: false) }
      if number == 30 { _ = try store.commit([.checkWritable], wall: 0) }
      let copy = try open(try directory.crashed())
      #expect(!copy.wasRestored)
      #expect(try TestRequests.names(account, in: copy) == (0...number).map { "r\($0)" })
      // Opened again without the log, and without another crash.
      copy.close()
    }
  }

  /// After a flush the file is written from its beginning again, so the database must be durable.
  @Test func aFlushIsSynced() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    let syncs = SyncCount()
    store.observeSyncs { _ in syncs.count += 1 }
    for round in 1...5 {
      _ = try store.commit([TestRequests.save("r\(round)", in: account)], wall: 0)
      #expect(syncs.count == 2 * round - 1)
      #expect(try TestRequests.names(account, in: store).count == round)
      #expect(syncs.count == 2 * round)
    }
    // A request that writes nothing syncs nothing, and the log keeps its place.
    _ = try store.commit([.collectChunks(atMost: 10)], wall: 0)
    #expect(syncs.count == 10)
    _ = try store.commit([.checkWritable], wall: 0)
    #expect(syncs.count == 11)
  }

  /// A log that ends anywhere holds whole commits only.
  @Test func aTornLogHoldsWholeCommits() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    for number in 0..<6 {
      let pair = ["a\(number)", "b\(number)"].map { TestRequests.save($0, in: account) }
      _ = try store.commit(pair, wall: 0)
    }
    let whole = (0..<6).flatMap { ["a\($0)", "b\($0)"] }
    let log = try directory.bytes("zones.commitlog")
    let used = try #require(log.lastIndex { $0 != 0 }) + 1
    var random = SeededRandom(seed: 7)
    var lengths: Set<Int> = []
    for attempt in 0..<60 {
      let crashed = try directory.crashed()
      var bytes = log
      let position = Int.random(in: 0..<used, using: &random)
      if attempt.isMultiple(of: 2) {
        bytes.removeLast(bytes.count - position)
      } else {
        bytes[position] ^= 0x10
      }
      try crashed.write(bytes, to: "zones.commitlog")
      let copy = try open(crashed)
      let names = try TestRequests.names(account, in: copy)
      #expect(names == Array(whole.prefix(names.count)))
      #expect(names.count % 2 == 0)
      lengths.insert(names.count)
      _ = try copy.commit([TestRequests.save("next", in: account)], wall: 0)
      #expect(try TestRequests.names(account, in: copy) == names + ["next"])
    }
    #expect(lengths.count > 3)
  }

  /// Blocks of an earlier round follow those of this one, and are not taken for newer.
  @Test func olderBlocksBehindTheNewestAreIgnored() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    for number in 0..<30 {
      _ = try store.commit([TestRequests.save("old \(number)", in: account, id: 100)], wall: 0)
      if number % 10 == 9 { _ = try store.commit([.checkWritable], wall: 0) }
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
      let copy = try open(try directory.crashed())
      #expect(
        try TestRequests.names(account, in: copy) == ["old 0"] + (0...number).map { "r\($0)" })
    }
  }

  @Test func anOlderDatabaseBesideANewerLogIsARestore() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    let copy = try StoreCopy(backingUp: directory)
    for name in ["b", "c"] {
      _ = try store.commit([TestRequests.save(name, in: account)], wall: 0)
      _ = try store.commit([.checkWritable], wall: 0)
    }
    _ = try store.commit([TestRequests.save("d", in: account)], wall: 0)
    let crashed = try directory.crashed()
    try copy.putBack(in: crashed)
    let inspector = try ZoneInspector(directory: crashed.path)
    #expect(try tableFaults(inspector).map(\.code) == ["databaseOlder"])
    inspector.close()
    let restored = try open(crashed)
    #expect(restored.wasRestored)
    #expect(try TestRequests.names(account, in: restored) == ["a"])
  }

  @Test func aStoreWithoutALogPerformsWhatOneLeft() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    let crashed = try directory.crashed()
    let copy = try SQLiteZoneStore(directory: crashed.path)
    #expect(try TestRequests.names(account, in: copy) == ["a"])
    _ = try copy.commit([TestRequests.save("b", in: account)], wall: 0)
    let again = try open(try crashed.crashed())
    #expect(try TestRequests.names(account, in: again) == ["a", "b"])
  }

  @Test func aBackupContainsWhatOnlyTheLogHolds() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    #expect(try storedRecords(store) == 0)
    let copy = try StoreCopy(backingUp: directory)
    let place = try TemporaryFolder()
    try copy.putBack(in: place)
    #expect(try TestRequests.names(account, in: try open(place)) == ["a"])
  }

  @Test func aMoveReadsWhatACrashLeftInTheLog() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    let crashed = try directory.crashed()
    let source = try SQLiteStoreSource(directory: crashed.path, retirement: 5)
    var records = 0
    while let rows = try source.next() {
      if case .records(let found) = rows { records += found.count }
    }
    #expect(records == 1)
  }

  @Test func aClosedStoreHasNoLog() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    #expect(try directory.rights("zones.commitlog") == 0o600)
    store.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["lock", "opening", "zones.sqlite"])
    #expect(try TestRequests.names(account, in: try open(directory)) == ["a"])
  }

  // MARK: Faults

  /// The database has no room: saves are accepted up to a bound, then refused, and none is lost.
  @Test func aFullDatabaseRefusesSavesOnlyWhenTheBufferIsFull() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("first", in: account)], wall: 0)
    _ = try store.commit([.checkWritable], wall: 0)
    let pages = try store.connection.firstInteger(of: "PRAGMA page_count")
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = \(pages)")
    var accepted = 1
    var fault: StorageError?
    while fault == nil, accepted < 4 * Limits.bufferedSaves {
      do throws(StorageError) {
        _ = try store.commit(
          [TestRequests.save("r\(accepted)", in: account, bytes: 4_000)], wall: 0)
        accepted += 1
      } catch {
        fault = error
      }
    }
    #expect(fault == .diskFull(path: directory.path("zones.sqlite")))
    #expect(throws: StorageError.self) { try TestRequests.names(account, in: store) }
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = 1000000")
    _ = try store.commit([TestRequests.save("last", in: account)], wall: 0)
    #expect(try storedRecords(store) >= Int64(accepted))
    #expect(try TestRequests.names(account, in: try open(try directory.crashed())).count > 0)
  }

  /// Requests that fail in the database take the saves of their commit with them, no others.
  @Test func aFailedCommitTakesBackItsOwnSavesOnly() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("kept", in: account)], wall: 0)
    let pages = try store.connection.firstInteger(of: "PRAGMA page_count")
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = \(pages + 4)")
    let batch = [
      TestRequests.save("small", in: account, id: 1),
      TestRequests.save("large", in: account, bytes: 100_000, id: 2),
    ]
    #expect(throws: StorageError.self) { try store.commit(batch, wall: 0) }
    #expect(try TestRequests.names(account, in: try open(try directory.crashed())) == ["kept"])
    #expect(try TestRequests.names(account, in: store) == ["kept"])
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = 1000000")
    #expect(try store.commit(batch, wall: 0).count == 2)
    #expect(try TestRequests.names(account, in: store) == ["kept", "small", "large"])
  }

  /// The log's file fails. The database takes the saves, and nothing is lost or refused.
  @Test(arguments: [FailingFile.full, .unsynced]) func aLogThatFailsIsReplacedByTheDatabase(
    _ failure: FailingFile
  ) throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    var expected: [String] = []
    for round in 0..<4 {
      let file = round.isMultiple(of: 2) ? nil : try failure.begin(in: directory)
      for number in 0..<3 {
        let name = "r\(round) \(number)"
        _ = try store.commit([TestRequests.save(name, in: account)], wall: 0)
        expected.append(name)
        let copy = try open(try directory.crashed())
        #expect(!copy.wasRestored)
        #expect(try TestRequests.names(account, in: copy) == expected)
      }
      file?.end()
    }
  }

  /// The file and the database fail: the save is refused. It may come back after a crash right
  /// then, but never beside a later one, and a later one is never lost.
  @Test(arguments: [FailingFile.full, .unsynced]) func aSaveThatNothingTakesIsRefused(
    _ failure: FailingFile
  ) throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("kept", in: account)], wall: 0)
    for round in 0..<3 {
      let file = try failure.begin(in: directory)
      let pages = try store.connection.firstInteger(of: "PRAGMA page_count")
      _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = \(pages)")
      #expect(throws: StorageError.self) {
        for _ in 0..<40 {
          _ = try store.commit(
            [TestRequests.save("refused", in: account, bytes: 9_000)], wall: 0)
        }
      }
      file.end()
      _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = 1000000")
      _ = try store.commit([TestRequests.save("r\(round)", in: account)], wall: 0)
      _ = try store.commit([TestRequests.save("s\(round)", in: account)], wall: 0)
      let held = try TestRequests.names(account, in: try open(try directory.crashed()))
      #expect(held == (try TestRequests.names(account, in: store)))
      #expect(held.suffix(2) == ["r\(round)", "s\(round)"])
    }
  }

  /// The log was removed by another program: nothing more is accepted, and what it held is safe.
  @Test func whatALostLogHeldIsInTheDatabase() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    try FileManager.default.removeItem(atPath: directory.path(SQLiteZoneStore.commitLogName))
    let gone = StorageError.gone(path: directory.path, name: SQLiteZoneStore.commitLogName)
    #expect(throws: gone) {
      try store.commit(
        [TestRequests.save("b", in: account)], wall: Limits.storeFileCheckMilliseconds)
    }
    #expect(try storedRecords(store) == 1)
    store.close()
    let again = try open(directory)
    #expect(!again.wasRestored)
    #expect(try TestRequests.names(account, in: again) == ["a"])
  }

  /// A record that is made and deleted in the log leaves no zone behind, as in the database.
  @Test func aZoneThatCameAndWentIsNotListed() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    _ = try store.commit([TestRequests.save("a", in: account)], wall: 0)
    _ = try store.commit([TestRequests.delete("a", in: account)], wall: 0)
    #expect(
      try store.read(.zones(account, after: nil, within: nil, limit: 10)) == .zones([], more: false)
    )
  }

  /// More saves than the file holds, in large commits.
  @Test func theFileStartsAgainWhenItIsFull() throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    try store.connection.execute("PRAGMA synchronous = OFF")
    var count = 0
    for _ in 0..<12 {
      let group = (0..<200).map { index in
        TestRequests.save("r\(count + index)", in: account, bytes: 14_000)
      }
      _ = try store.commit(group, wall: 0)
      count += group.count
      #expect(try directory.bytes("zones.commitlog").count <= Limits.commitLogBytes)
    }
    let copy = try open(try directory.crashed())
    #expect(try copy.connection.firstInteger(of: "SELECT count(*) FROM records") == Int64(count))
  }

  /// One thread saves, two read: each reader sees all that was acknowledged before it asked.
  @Test func readersOnOtherThreadsSeeAllThatWasAcknowledged() async throws {
    let directory = try TemporaryFolder()
    let store = try begin(directory)
    try store.connection.execute("PRAGMA synchronous = OFF")
    _ = try store.commit([TestRequests.save("r", in: account)], wall: 0)
    let acknowledged = AcknowledgedTag()
    let account = account
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        guard let own = try? store.makeReader() else {
          Issue.record("no reader")
          return
        }
        let handover = ReaderHandover(reader: own)
        group.addTask {
          let reader = handover.reader
          var reads = 0
          while !acknowledged.isEnded || reads == 0 {
            let before = acknowledged.tag
            let result = try? reader.read(.newestToken(account))
            guard case .token(let token) = result else {
              Issue.record("no token")
              return
            }
            #expect(token.sequence >= before)
            reads += 1
          }
          reader.close()
        }
      }
      for _ in 0..<3_000 {
        let results = try? store.commit([TestRequests.save("r", in: account)], wall: 0)
        guard case .saved(let outcome) = results?.first else {
          Issue.record("not saved")
          break
        }
        acknowledged.tag = outcome.answer.token.sequence
      }
      acknowledged.isEnded = true
    }
    store.close()
  }
}

/// Makes a store's commit log fail, by putting a device in the place of its open file.
enum FailingFile: String, CaseIterable {
  /// Writing fails: no space.
  case full = "/dev/full"
  /// Writing succeeds, and the sync fails.
  case unsynced = "/dev/null"

  struct Fault {
    let descriptor: Int32
    let original: Int32

    func end() {
      dup2(original, descriptor)
      close(original)
    }
  }

  func begin(in directory: TemporaryFolder) throws -> Fault {
    var (named, held) = (stat(), stat())
    try #require(stat(directory.path(SQLiteZoneStore.commitLogName), &named) == 0)
    let descriptor = try #require(
      (3..<4_096 as Range<Int32>).first { candidate in
        fstat(candidate, &held) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev
      })
    let original = dup(descriptor)
    let device = Glibc.open(rawValue, O_RDWR)
    try #require(device >= 0 && original >= 0)
    dup2(device, descriptor)
    close(device)
    return Fault(descriptor: descriptor, original: original)
  }
}

private final class SyncCount: Sendable {
  private let value = Mutex(0)

  var count: Int {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}

/// Transfers a reader to the one task that uses it.
private struct ReaderHandover: @unchecked Sendable {
  let reader: SQLiteZoneReader
}

/// The newest acknowledged tag, which one thread tells the others.
private final class AcknowledgedTag: Sendable {
  private let state = Mutex<(tag: ChangeTag, isEnded: Bool)>((0, false))

  var tag: ChangeTag {
    get { state.withLock { $0.tag } }
    set { state.withLock { $0.tag = newValue } }
  }

  var isEnded: Bool {
    get { state.withLock { $0.isEnded } }
    set { state.withLock { $0.isEnded = newValue } }
  }
}
