import LockstepModel
import LockstepStorage
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SQLiteReplicaStoreTests {
  @Test(arguments: ReplicaStory.all) func holds(_ story: ReplicaStory) throws {
    let directory = try TemporaryFolder()
    let scene = ReplicaScene(try SQLiteReplicaStore(home: directory.path)) { store in
      (store as? SQLiteReplicaStore)?.close()
      return try SQLiteReplicaStore(home: directory.path)
    }
    try story.tell(scene)
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func walksInStepWithTheReference(
    seed: UInt64
  ) throws {
    let directory = try TemporaryFolder()
    func open() throws -> SQLiteReplicaStore {
      let store = try SQLiteReplicaStore(home: directory.path)
      // Only the results matter here; a sync for each step would only take time.
      try store.connection.execute("PRAGMA synchronous = OFF")
      return store
    }
    var walk = ReplicaWalk(seed: seed)
    try walk.lead(try open(), steps: 600) { store in
      (store as? SQLiteReplicaStore)?.close()
      return try open()
    }
  }

  /// The home cannot tell by its content that it was restored.
  @Test func aRestoredHomeHasAnotherIncarnation() throws {
    let directory = try TemporaryFolder()
    func incarnation(in folder: TemporaryFolder) throws -> String {
      let store = try SQLiteReplicaStore(home: folder.path)
      try store.write([.setValue(key: "k", "v")])
      defer { store.close() }
      return try #require(store.incarnation)
    }
    let first = try incarnation(in: directory)
    let backup = try directory.crashed()
    #expect(try incarnation(in: directory) == first)
    let copy = try backup.crashed()
    #expect(try incarnation(in: copy) != first)
    try directory.replaceContent(by: backup)
    #expect(try incarnation(in: directory) != first)
  }

  @Test func writtenTransactionsSurviveACrashAsAWhole() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    for number in 0..<10 as Range<Int64> {
      let token = ChangeToken(generation: 1, sequence: number)
      try store.write([.setCursor(token), .setValue(key: "k", "\(number)")])
      let crashed = try directory.crashed()
      let copy = try SQLiteReplicaStore(home: crashed.path)
      #expect(try copy.cursor() == token)
      #expect(try copy.value("k") == "\(number)")
    }
  }

  /// Zeros ahead of the log's end are no commits, wherever a crash comes.
  @Test func aReservedLogHoldsWhatWasWrittenAndNothingElse() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    func logBytes() throws -> [UInt8] { try directory.bytes("replica.sqlite-wal") }
    store.reserveLog()
    let reserved = try logBytes().count
    for number in 0..<30 as Range<Int64> {
      let token = ChangeToken(generation: 1, sequence: number)
      let value = String(repeating: "v", count: Int(number) * 900)
      try store.write([.setCursor(token), .setValue(key: "k", value)])
      if number % 7 == 3 { store.reserveLog() }
      #expect(try logBytes().count >= reserved)
      let crashed = try directory.crashed()
      let copy = try SQLiteReplicaStore(home: crashed.path)
      #expect(try copy.cursor() == token)
      #expect(try copy.value("k") == value)
      #expect(try copy.integrityErrors(limit: 1).isEmpty)
      // A store that was opened after a crash continues, also with space of its own.
      copy.reserveLog()
      try copy.write([.setValue(key: "k", "after")])
      #expect(try copy.value("k") == "after")
    }
    #expect(try logBytes().count >= reserved)
    #if os(Linux)
      #expect(reserved >= Limits.replicaLogReserveBytes)
      #expect(try logBytes().suffix(1_000).allSatisfy { $0 == 0 })
    #endif
  }

  @Test func aLogWithSpaceEnoughIsNotMadeLonger() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    store.reserveLog()
    let first = try directory.bytes("replica.sqlite-wal").count
    try store.write([.setValue(key: "k", "v")])
    store.reserveLog()
    #expect(try directory.bytes("replica.sqlite-wal").count == first)
    store.close()
    #expect(!directory.has("replica.sqlite-wal"))
    store.reserveLog()
  }

  @Test func aReaderSeesOneStateAndWritesNothing() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    try store.write([.setValue(key: "k", "before")])
    let looking = try SQLiteReplicaStore(reading: directory.path)
    let seen = try looking.onOneView { () throws(StorageError) in
      let before = try looking.value("k")
      try store.write([.setValue(key: "k", "after")])
      return [before, "\(try looking.outbox().count)", try looking.value("k")]
    }
    #expect(seen == ["before", "0", "before"])
    #expect(try looking.value("k") == "after")
    #expect(throws: StorageError.self) { try looking.write([.setValue(key: "k", "never")]) }
    #expect(try store.value("k") == "after")
    #expect(throws: StorageError.self) {
      try SQLiteReplicaStore(reading: directory.path("nowhere"))
    }
  }

  @Test func aFullDiskUndoesTheWriteAndTheStoreContinues() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    try store.write([.setValue(key: "k", "before")])
    let pages = try store.connection.firstInteger(of: "PRAGMA page_count")
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = \(pages + 2)")
    let large = String(repeating: "x", count: 100_000)
    #expect(throws: StorageError.diskFull(path: directory.path("replica.sqlite"))) {
      try store.write([.setValue(key: "k", "after"), .setValue(key: "large", large)])
    }
    #expect(try store.value("k") == "before")
    try store.write([.setValue(key: "k", "later")])
    #expect(try store.value("k") == "later")
    #expect(try store.value("large") == nil)
  }

  @Test func aRelaysStoreIsNotTakenForADevices() throws {
    let directory = try TemporaryFolder()
    try SQLiteZoneStore(directory: directory.path).close()
    try directory.write(try directory.bytes("zones.sqlite"), to: "replica.sqlite")
    let error = #expect(throws: StorageError.self) {
      try SQLiteReplicaStore(home: directory.path)
    }
    guard case .corrupt = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
  }

  @Test func aScopeThatIsNotUnderstoodIsNotTakenForTheWholeAccount() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    try store.write([
      .setIdentity(
        HomeIdentity(
          relay: "http://relay",
          credentials: Credentials(
            account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret"),
          deviceName: "tv"))
    ])
    for scope in ["", "[]", #"{"zones":7}"#, #"{"access":"half"}"#, #"{"until":1}"#] {
      try store.connection.execute("UPDATE identity SET scope = '\(scope)'")
      #expect(throws: StorageError.self, "\(scope)") { try store.identity() }
    }
  }

  @Test func aDamagedLineageIsReported() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    var entry = OutboxEntry(
      number: 1, key: RecordKey(zone: Name(trusted: "Z"), name: Name(trusted: "n")),
      type: Name(trusted: "T"), fields: nil, modifiedAt: 1, isStampTrusted: true, base: nil,
      state: .waiting)
    entry.lineage = OutboxEntry.Lineage(base: nil, made: VersionVector())
    try store.write([.putEntry(entry)])
    let noVersions = "00000008" + String(repeating: "00", count: 14)
    for bytes in [
      "x''", "zeroblob(13)", "zeroblob(29)", "x'\(String(repeating: "ff", count: 30))'",
      "x'\(noVersions)00'", "x'\(noVersions)0001'", "x'\(noVersions)000100'",
      "x'\(noVersions)00000000'",
    ] {
      try store.connection.execute("UPDATE outbox SET lineage = \(bytes)")
      #expect(throws: StorageError.self) { try store.outbox() }
    }
  }

  @Test func theRecordTableReportsDamage() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("replica.sqlite"), role: .writer, schema: .replica)
    let table = try HeldRecordTable(connection, try ChunkTable(connection))
    let record = Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "n"), type: Name(trusted: "T"), fields: [],
      modifiedAt: 1, device: DeviceID(rawValue: 1), tag: 1)
    try table.put(record, snapshot: nil, replacing: [], nil)
    try connection.execute("UPDATE records SET version = zeroblob(9)")
    #expect(throws: StorageError.self) { try table.version(record.key) }
    try connection.execute("UPDATE records SET chunks = zeroblob(33)")
    #expect(throws: StorageError.self) { try table.record(record.key) }
    #expect(throws: StorageError.self) { try table.all() }
    try connection.execute("UPDATE records SET chunks = NULL")
    #expect(try table.all() == [record])
  }

  @Test func theOutboxTableReportsDamage() throws {
    let directory = try TemporaryFolder()
    let connection = try SQLiteConnection(
      path: directory.path("replica.sqlite"), role: .writer, schema: .replica)
    let table = try OutboxTable(connection)
    let entry = OutboxEntry(
      number: 1, key: RecordKey(zone: Name(trusted: "Z"), name: Name(trusted: "n")),
      type: Name(trusted: "T"), fields: nil, modifiedAt: 1, isStampTrusted: true, base: nil,
      state: .waiting)
    try table.put(entry)
    #expect(try table.entries() == [entry])
    for state in ["nonsense", "asking"] {
      try connection.execute("UPDATE outbox SET state = '\(state)'")
      #expect(throws: StorageError.self) { try table.entries() }
    }
    // The table can be read again after a fault.
    try connection.execute("UPDATE outbox SET state = 'waiting'")
    #expect(try table.entries() == [entry])
  }
}
