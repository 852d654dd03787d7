import Foundation
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// A store detects that an older copy of it was put back, and only then.
struct StoreOpeningTests {
  private let account = AccountID(rawValue: 1)
  private let directory: TemporaryFolder

  init() throws { directory = try TemporaryFolder() }

  private func open(declareRestored: Bool = false) throws -> SQLiteZoneStore {
    try SQLiteZoneStore(directory: directory.path, declareRestored: declareRestored)
  }

  private func save(_ name: String, in store: SQLiteZoneStore, bytes: Int = 20) throws {
    _ = try store.commit([TestRequests.save(name, in: account, bytes: bytes)], wall: 0)
  }

  /// Makes a closed store with one account and one record.
  private func makeStore() throws {
    let store = try open()
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    try save("a", in: store)
    store.close()
  }

  private func generation(_ store: SQLiteZoneStore) throws -> UInt32 {
    guard case .token(let token) = try store.read(.newestToken(account)) else { return 0 }
    return token.generation
  }

  /// Returns true if the present store considers itself an older copy.
  private func isRestored() throws -> Bool {
    let store = try open()
    defer { store.close() }
    #expect(try (generation(store) != 1) == store.wasRestored)
    return store.wasRestored
  }

  // MARK: Copies

  @Test func openingAgainAndAgainIsNoRestore() throws {
    try makeStore()
    for number in 0..<5 {
      let store = try open()
      if number % 2 == 0 { try save("b\(number)", in: store) }
      #expect(!store.wasRestored)
      #expect(try generation(store) == 1)
      store.close()
    }
  }

  @Test func aCopyOfAnEarlierOpeningIsOlder() throws {
    try makeStore()
    let copy = try StoreCopy(directory)
    let store = try open()
    try save("b", in: store)
    store.close()
    try copy.putBack(in: directory)
    #expect(try isRestored())
  }

  /// An invitation that was used after a backup must not admit another device once it is restored.
  @Test func codesOfAnOlderCopyAdmitNobody() throws {
    try makeStore()
    let code = [UInt8](repeating: 7, count: 32)
    var store = try open()
    let pairing = NewPairing(codeHash: code, expiresAt: 1_000)
    #expect(try store.commit([.issuePairing(account, pairing)], wall: 0) == [.done])
    store.close()
    let copy = try StoreCopy(directory)
    store = try open()
    #expect(
      try store.commit([redemption(of: code, by: 2)], wall: 1) == [.redeemed(account, .everything)])
    store.close()
    try copy.putBack(in: directory)
    store = try open()
    defer { store.close() }
    #expect(store.wasRestored)
    #expect(
      try store.commit([redemption(of: code, by: 3)], wall: 2) != [.redeemed(account, .everything)])
  }

  private func redemption(of code: [UInt8], by number: UInt8) -> CommitRequest {
    .redeemPairing(
      codeHash: code,
      device: NewDevice(
        id: DeviceID(rawValue: UInt64(number)),
        description: DeviceDescription(deviceName: "new", platform: "p", appVersion: "1"),
        tokenHash: [UInt8](repeating: number, count: 32)))
  }

  @Test func aCopyThatWasMadeOfTheStoreWhileItWasOpenIsOlder() throws {
    try makeStore()
    let store = try open()
    let copy = try StoreCopy(store)
    try save("b", in: store)
    store.close()
    try copy.putBack(in: directory)
    #expect(try isRestored())
  }

  @Test func aCopyOfAStoreThatCrashedLaterIsOlderOnceMuchWasWritten() throws {
    try makeStore()
    let store = try open()
    let copy = try StoreCopy(store)
    for number in 0..<8 { try save("large \(number)", in: store, bytes: 1 << 20) }
    try store.performMaintenance()
    let crashed = try directory.crashed()
    let standing = try SQLiteZoneStore(directory: crashed.path)
    #expect(!standing.wasRestored)
    standing.close()
    let again = try directory.crashed()
    try copy.putBack(in: again)
    #expect(try SQLiteZoneStore(directory: again.path).wasRestored)
  }

  @Test func aCopyInAnotherDirectoryIsOlderUnlessTheFileBesideItCameAlong() throws {
    try makeStore()
    let bare = try TemporaryFolder()
    try StoreCopy(directory).putBack(in: bare)
    #expect(try SQLiteZoneStore(directory: bare.path).wasRestored)
    // With the log, but without the file `opening`.
    let store = try open()
    try save("b", in: store)
    let crashed = try directory.crashed()
    try FileManager.default.removeItem(atPath: crashed.path("opening"))
    let copy = try SQLiteZoneStore(directory: crashed.path)
    #expect(copy.wasRestored)
    #expect(try TestRequests.names(account, in: copy) == ["a", "b"])
    // The whole directory, moved to another place.
    #expect(try !SQLiteZoneStore(directory: directory.crashed().path).wasRestored)
    store.close()
  }

  @Test func aRestoreOfTheWholeDirectoryCanBeDeclared() throws {
    try makeStore()
    let store = try open(declareRestored: true)
    #expect(store.wasRestored)
    let restored = try generation(store)
    #expect(restored != 1)
    store.close()
    let next = try open()
    #expect(!next.wasRestored)
    #expect(try generation(next) == restored)
  }

  @Test func aStoreOpenedTwiceUnderOneNumberDetectsItsCopies() throws {
    func open() throws -> SQLiteZoneStore {
      try SQLiteZoneStore(directory: directory.path, opening: 5)
    }
    try makeStore()
    for _ in 0..<3 { try open().close() }
    let copy = try StoreCopy(directory)
    for _ in 0..<3 {
      let store = try open()
      #expect(!store.wasRestored)
      store.close()
    }
    try copy.putBack(in: directory)
    #expect(try open().wasRestored)
  }

  // MARK: Crashes

  /// The content of file and database after a crash at each step between their two writes.
  @Test func aCrashWhileTheStoreIsOpenedIsNoRestoreAndHidesNone() throws {
    let former = "00000000000000f0"
    let newest = "00000000000000f1"
    let cases: [(file: String?, database: Int64, isRestored: Bool)] = [
      // The file was written, and the database was not yet.
      ("\(newest) \(former)\n", 0xF0, false),
      // The database was written, and the file was not settled, or only in part.
      ("\(newest) \(former)\n", 0xF1, false), ("\(newest) 00000000\n", 0xF1, false),
      ("\(newest) \(newest)\n", 0xF1, false),
      // An older copy was put back, and the crash came before the database was written.
      ("\(newest) \(newest)\n", 0xF0, true), ("\(newest) \(former)\n", 0xE0, true),
      (nil, 0xF1, true), ("", 0xF1, true), ("rubbish", 0xF1, true),
      ("\(newest)\(former)\n", 0xF1, true),
    ]
    for (file, database, isRestored) in cases {
      let directory = try TemporaryFolder()
      let store = try SQLiteZoneStore(directory: directory.path)
      _ = try store.commit([TestRequests.create(account)], wall: 0)
      store.close()
      let connection = try SQLiteConnection(
        path: directory.path("zones.sqlite"), role: .writer, schema: .zones)
      try connection.execute("UPDATE opening SET number = \(database)")
      connection.close()
      try FileManager.default.removeItem(atPath: directory.path("opening"))
      if let file { try directory.write(Array(file.utf8), to: "opening") }
      let opened = try SQLiteZoneStore(directory: directory.path)
      #expect(opened.wasRestored == isRestored, "\(file ?? "no file"), \(database)")
      opened.close()
      #expect(try !SQLiteZoneStore(directory: directory.path).wasRestored)
    }
  }

  @Test func aStoreWhoseFileCannotBeWrittenIsNotOpened() throws {
    try makeStore()
    let before = try directory.bytes("opening")
    try FileManager.default.createDirectory(
      atPath: directory.path("opening.new"), withIntermediateDirectories: false)
    let error = #expect(throws: StorageError.self) { try open() }
    guard case .failed(directory.path("opening.new"), _, _) = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
    try FileManager.default.removeItem(atPath: directory.path("opening.new"))
    #expect(try directory.bytes("opening") == before)
    #expect(try !isRestored())
  }

  // MARK: Stores of version 1

  @Test func aStoreOfVersion1IsNoOlderCopyUnlessAFileSaysThatItIs() throws {
    try makeVersion1()
    let version1 = try StoreCopy(directory)
    #expect(try !isRestored())
    let store = try open()
    try save("b", in: store)
    store.close()
    try version1.putBack(in: directory)
    #expect(try isRestored())
  }

  /// The schema is migrated before the number is written: a crash in between is no restore either.
  @Test func aCrashAfterTheMigrationIsNoRestore() throws {
    try makeVersion1()
    try SQLiteConnection(path: directory.path("zones.sqlite"), role: .writer, schema: .zones)
      .close()
    #expect(try !isRestored())
  }

  private func makeVersion1() throws {
    let version1 = Schema(
      applicationID: Schema.zones.applicationID, steps: Array(Schema.zones.steps.prefix(1)))
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer, schema: version1)
    try connection.execute("INSERT INTO accounts VALUES (1, 1, 2, 'Ada', 0);")
    try connection.execute("INSERT INTO devices VALUES (1, 1, 1, 'd', 'p', '1', zeroblob(32), 5)")
    connection.close()
  }
}
