import CSQLite
import Foundation
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// Behaviour of a store with damaged files, full disks and crashes.
struct FaultTests {
  private let account = AccountID(rawValue: 1)

  // MARK: Crashes

  @Test func committedDataSurvivesACrash() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    for number in 0..<20 {
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
      if number == 10 { try store.connection.checkpoint(waits: false) }
      let crashed = try directory.crashed()
      let copy = try SQLiteZoneStore(directory: crashed.path)
      #expect(try TestRequests.names(account, in: copy) == (0...number).map { "r\($0)" })
    }
  }

  /// A log that ends anywhere, as a power failure leaves it, holds whole commits only.
  @Test func aTornLogHoldsWholeCommits() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    try store.connection.checkpoint(waits: true)
    for number in 0..<6 {
      let pair = ["a\(number)", "b\(number)"].map { TestRequests.save($0, in: account) }
      _ = try store.commit(pair, wall: 0)
    }
    let whole = (0..<6).flatMap { ["a\($0)", "b\($0)"] }
    let log = try directory.bytes("zones.sqlite-wal")
    var random = SeededRandom(seed: 7)
    var lengths: Set<Int> = []
    for _ in 0..<40 {
      let copy = try directory.crashed()
      let length = Int.random(in: 0...log.count, using: &random)
      try copy.write(Array(log.prefix(length)), to: "zones.sqlite-wal")
      let store = try SQLiteZoneStore(directory: copy.path)
      let names = try TestRequests.names(account, in: store)
      #expect(names == Array(whole.prefix(names.count)))
      #expect(names.count % 2 == 0)
      lengths.insert(names.count)
      // The sequence continues from the existing records.
      _ = try store.commit([TestRequests.save("next", in: account)], wall: 0)
      #expect(
        try store.read(.newestToken(account))
          == .token(ChangeToken(generation: 1, sequence: Int64(names.count + 1))))
    }
    #expect(lengths.count > 3)
  }

  // MARK: No space

  @Test func aFullDiskUndoesTheCommitAndTheStoreContinues() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    _ = try store.commit([TestRequests.save("kept", in: account)], wall: 0)
    let pages = try store.connection.firstInteger(of: "PRAGMA page_count")
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = \(pages + 4)")
    let full = StorageError.diskFull(path: directory.path("zones.sqlite"))
    let batch = [
      TestRequests.save("small", in: account, id: 1),
      TestRequests.save("large", in: account, bytes: 100_000, id: 2),
    ]
    #expect(throws: full) { try store.commit(batch, wall: 0) }
    #expect(try TestRequests.names(account, in: store) == ["kept"])
    _ = try store.commit([TestRequests.save("small", in: account)], wall: 0)
    #expect(throws: full) { try store.commit(batch, wall: 0) }
    _ = try store.connection.firstInteger(of: "PRAGMA max_page_count = 1000000")
    #expect(try store.commit(batch, wall: 0).count == 2)
    #expect(try TestRequests.names(account, in: store) == ["kept", "small", "large"])
    #expect(try store.connection.firstText(of: "PRAGMA integrity_check") == "ok")
  }

  // MARK: Files that are not stores

  @Test func aFileOfRubbishIsRefusedAndLeftAlone() throws {
    let directory = try TemporaryFolder()
    let rubbish = [UInt8](repeating: 0x55, count: 8_192)
    try directory.write(rubbish, to: "zones.sqlite")
    expectCorrupt(directory)
    #expect(try directory.bytes("zones.sqlite") == rubbish)
  }

  @Test func aDatabaseOfAnotherProgramIsRefusedAndLeftAlone() throws {
    let directory = try TemporaryFolder()
    try sql("CREATE TABLE theirs (x)", in: directory)
    let before = try directory.bytes("zones.sqlite")
    expectCorrupt(directory)
    try sql("PRAGMA user_version = 1", in: directory)
    expectCorrupt(directory)
    try sql("PRAGMA user_version = 0", in: directory)
    #expect(try directory.bytes("zones.sqlite").count == before.count)
  }

  @Test func aDevicesStoreIsNotTakenForARelays() throws {
    let directory = try TemporaryFolder()
    try SQLiteReplicaStore(home: directory.path).close()
    try directory.write(try directory.bytes("replica.sqlite"), to: "zones.sqlite")
    expectCorrupt(directory)
  }

  @Test func aStoreOfANewerProgramIsRefused() throws {
    let directory = try TemporaryFolder()
    try SQLiteZoneStore(directory: directory.path).close()
    try sql("PRAGMA user_version = 99", in: directory)
    let tooNew = StorageError.tooNew(
      path: directory.path("zones.sqlite"), found: 99, known: Schema.zones.version)
    #expect(throws: tooNew) { try SQLiteZoneStore(directory: directory.path) }
    // The lock was released.
    #expect(throws: tooNew) { try SQLiteZoneStore(directory: directory.path) }
  }

  @Test func aDamagedPageIsReported() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    for number in 0..<400 {
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
      try store.connection.execute("PRAGMA synchronous = OFF")
    }
    store.close()
    var bytes = try directory.bytes("zones.sqlite")
    // The first page holds the schema; all pages after it are overwritten.
    for index in 4_096..<bytes.count { bytes[index] = 0xA5 }
    try directory.write(bytes, to: "zones.sqlite")
    let error = #expect(throws: StorageError.self) {
      try SQLiteZoneStore(directory: directory.path)
    }
    guard case .corrupt(directory.path("zones.sqlite"), _) = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
  }

  // MARK: No permissions

  /// A superuser may write everywhere, so this thread gives up its file permissions for a while.
  @Test func aReadOnlyDirectoryIsReported() throws {
    let directory = try TemporaryFolder()
    try SQLiteZoneStore(directory: directory.path("store")).close()
    chmod(directory.path("store/zones.sqlite"), 0o444)
    chmod(directory.path("store/lock"), 0o666)
    chmod(directory.path("store"), 0o555)
    chmod(directory.path, 0o555)
    _ = setFileUser(65_534)
    defer {
      _ = setFileUser(getuid())
      chmod(directory.path, 0o755)
      chmod(directory.path("store"), 0o755)
    }
    #expect(throws: StorageError.readOnly(path: directory.path("store/zones.sqlite"))) {
      try SQLiteZoneStore(directory: directory.path("store"))
    }
    #expect(throws: StorageError.readOnly(path: directory.path("other"))) {
      try SQLiteZoneStore(directory: directory.path("other"))
    }
  }

  @Test func aFileInPlaceOfTheDirectoryIsReported() throws {
    let directory = try TemporaryFolder()
    try directory.write([1], to: "file")
    for path in ["file", "file/below"] {
      let error = #expect(throws: StorageError.self) {
        try SQLiteZoneStore(directory: directory.path(path))
      }
      guard case .failed = error else {
        Issue.record("\(path) reported as \(String(describing: error))")
        continue
      }
    }
  }

  // MARK: Helpers

  private func expectCorrupt(
    _ directory: TemporaryFolder, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) {
      try SQLiteZoneStore(directory: directory.path)
    }
    guard case .corrupt(directory.path("zones.sqlite"), _) = error else {
      Issue.record("reported as \(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
  }

  /// Runs SQL as another program would.
  private func sql(_ text: String, in directory: TemporaryFolder) throws {
    var handle: OpaquePointer?
    try #require(sqlite3_open(directory.path("zones.sqlite"), &handle) == SQLITE_OK)
    try #require(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(handle)
  }
}

/// setfsuid(2): the user for this thread's file accesses.
@_silgen_name("setfsuid") private func setFileUser(_ user: UInt32) -> Int32
