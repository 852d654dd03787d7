import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct ZoneInspectorTests {
  private let account = AccountID(rawValue: 1)
  private let directory: TemporaryFolder

  init() throws { directory = try TemporaryFolder() }

  private var hash: ChunkHash {
    get throws { try #require(ChunkHash(bytes: [UInt8](repeating: 3, count: 32))) }
  }

  /// Makes an account with a device, two records, a plan, a subscription, a registration for wakes
  /// and a chunk.
  private func makeStore() throws -> SQLiteZoneStore {
    let store = try SQLiteZoneStore(directory: directory.path)
    let file = ChunkFile(account: account, number: 9)
    _ = try store.commit(
      [
        TestRequests.create(account), TestRequests.save("a", in: account),
        TestRequests.save("b", in: account),
        .addChunk(account, hash, file, bytes: 5),
        .setPlan(account, Plan(zones: [Name(trusted: "Z")])),
        .putSubscription(
          account, DeviceID(rawValue: 1), Subscription(id: Name(trusted: "s"), kind: .database)),
        TestRequests.putWake(in: account),
        .addWakeKey(
          WakeKey(madeAt: 1, privateKey: [UInt8](repeating: 1, count: 32)), onlyFirst: true),
      ], wall: 0)
    return store
  }

  private func codes() throws -> [String] {
    let inspector = try ZoneInspector(directory: directory.path)
    defer { inspector.close() }
    return try #require(try inspector.faults { true }).map(\.code)
  }

  @Test func aWholeStoreHasNoFaultsAlsoWhileItIsOpen() throws {
    let store = try makeStore()
    let inspector = try ZoneInspector(directory: directory.path)
    // The fields of these tests are white space.
    #expect(try inspector.faults { true }?.map(\.code) == ["fields", "fields"])
    let counts = try inspector.counts()
    #expect([counts.schema, counts.accounts, counts.devices] == [Schema.zones.version, 1, 1])
    #expect([counts.records, counts.chunks] == [2, 1] && counts.chunkBytes == 5)
    let chunk = try #require(try inspector.chunks(after: nil, limit: 9).first)
    #expect(try chunk.hash == hash && chunk.file.number == 9 && !chunk.isNamed)
    #expect(try inspector.chunks(after: chunk, limit: 9).isEmpty)
    #expect(try inspector.has(chunk) && inspector.hasChunk(in: chunk.file))
    #expect(try !inspector.hasChunk(in: ChunkFile(account: account, number: 8)))
    inspector.close()
    store.close()
    #expect(!directory.has("zones.sqlite-wal"))
    #expect(try codes() == ["fields", "fields"])
  }

  @Test(
    arguments: [
      ("UPDATE records SET tag = 1", "tagRepeated"),
      ("UPDATE accounts SET newest = 1", "tagBeyondNewest"),
      ("UPDATE accounts SET forgotten = 9", "forgottenBeyondNewest"),
      ("DELETE FROM accounts", "noAccount"),
      ("UPDATE devices SET token_hash = x'01'", "tokenHash"),
      ("INSERT INTO pairings VALUES (1, 1, x'01', 0, NULL, NULL)", "codeHash"),
      ("UPDATE batches SET digest = x'01'", "batchDigest"),
      ("UPDATE zones SET live = 7", "liveCount"),
      ("DELETE FROM zones", "liveCount"),
      ("UPDATE accounts SET chunk_bytes = 7", "pieceBytes"),
      ("UPDATE chunks SET hash = x'01'", "pieceHash"),
      (
        "INSERT INTO chunks SELECT account, zeroblob(32), file, 0, 0, 0, 0 FROM chunks",
        "pieceFile"
      ),
      ("UPDATE chunks SET uses = 1", "pieceUses"),
      ("UPDATE records SET chunks = zeroblob(32) WHERE name = 'a'", "pieceUnknown"),
      ("UPDATE records SET chunks = zeroblob(31) WHERE name = 'a'", "pieceList"),
      ("UPDATE records SET name = char(7) WHERE name = 'a'", "name"),
      ("UPDATE accounts SET plan = '{'", "plan"),
      ("UPDATE subscriptions SET content = '{}'", "subscription"),
      ("UPDATE wakes SET content = '{}'", "wakes"),
      (#"UPDATE wakes SET content = '{"entries":[]}'"#, "wakes"),
      ("INSERT INTO wakes VALUES (1, 9, '{}')", "wakesDevice"),
      ("INSERT INTO wakes VALUES (9, 1, '{}')", "noAccount"),
      ("UPDATE wake_keys SET private_key = x'01'", "wakeKey"),
      ("UPDATE devices SET scope = '{'", "scope"),
      ("UPDATE devices SET scope = '{}'", "scope"),
      (#"UPDATE devices SET scope = '{"zones":["Z"],"access":"read"}'"#, "scope"),
      (#"UPDATE devices SET scope = '{"zones":["Z","Z"]}'"#, "scope"),
      (#"UPDATE devices SET scope = '{"zones":["Z"],"days":1}'"#, "scope"),
      ("INSERT INTO pairings VALUES (1, 1, zeroblob(32), 0, '{', NULL)", "scope"),
      ("INSERT INTO pairings VALUES (1, 1, zeroblob(32), 0, NULL, '')", "wrappedKeys"),
      ("INSERT INTO pairings VALUES (1, 1, zeroblob(32), 0, NULL, 'AAA=')", "wrappedKeys"),
      (
        "INSERT INTO pairings VALUES (1, 1, zeroblob(32), 0, NULL, printf('%.*c', 8193, 'A'))",
        "wrappedKeys"
      ),
      ("DROP INDEX records_by_tag", "schemaDiffers"),
      ("ALTER TABLE records ADD COLUMN mine TEXT", "schemaDiffers"),
      ("CREATE TABLE mine (a)", "schemaDiffers"),
      ("CREATE TRIGGER mine AFTER DELETE ON zones BEGIN SELECT 1; END", "schemaDiffers"),
    ])
  func whatIsWrongHasAWord(_ sql: String, _ code: String) throws {
    let store = try makeStore()
    try store.connection.execute(
      """
      UPDATE accounts SET record_bytes = record_bytes - (
        SELECT sum(length(fields) - 2) FROM records WHERE records.account = accounts.account);
      UPDATE records SET fields = CAST('{}' AS BLOB)
      """)
    #expect(try codes() == [])
    // The index ensures that a tag is unique; without the index it could be repeated.
    if code == "tagRepeated" {
      try store.connection.execute("UPDATE records SET zone = name")
      try store.connection.execute("UPDATE zones SET live = 1, zone = 'a'")
      try store.connection.execute("INSERT INTO zones VALUES (1, 'b', 1)")
    }
    try store.connection.execute(sql)
    #expect(try codes().contains(code))
    store.close()
  }

  @Test func aDamagedFileIsReported() throws {
    let store = try makeStore()
    for number in 0..<300 {
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
    }
    store.close()
    var bytes = try directory.bytes("zones.sqlite")
    // After the pages of the schema, without which no query works.
    for place in stride(from: 8 * 4_096, to: bytes.count, by: 512) { bytes[place] ^= 0xFF }
    try directory.write(bytes, to: "zones.sqlite")
    do {
      let inspector = try ZoneInspector(directory: directory.path)
      let faults = try #require(try inspector.faults { true })
      #expect(!faults.isEmpty && faults.allSatisfy { $0.code == "databaseDamaged" })
    } catch {
      guard case .corrupt = error as? StorageError else { throw error }
    }
  }

  @Test func aCheckThatIsNotWantedAnyMoreEnds() throws {
    let store = try makeStore()
    for number in 0..<2_000 {
      _ = try store.commit([TestRequests.save("r\(number)", in: account)], wall: 0)
    }
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.faults { false } == nil)
    #expect(try inspector.counts().records == 2_002, "it can be asked further")
    store.close()
  }

  // MARK: copies

  @Test func aCopyHasOneStateWhileTheStoreContinues() throws {
    let store = try makeStore()
    for number in 0..<8 {
      _ = try store.commit([TestRequests.save("l\(number)", in: account, bytes: 1 << 20)], wall: 0)
    }
    let place = try TemporaryFolder()
    let inspector = try ZoneInspector(directory: directory.path)
    var steps = 0
    let isWhole = try inspector.copy(to: place.path) { pages, total in
      steps += 1
      #expect(pages < total)
      do {
        _ = try store.commit([TestRequests.save("while \(steps)", in: account)], wall: 0)
      } catch {
        Issue.record("\(error)")
      }
      return true
    }
    #expect(isWhole && steps > 1)
    inspector.close()
    try ZoneInspector.finishCopy(in: place.path, opening: 5, lacking: [])
    #expect(try place.contents() == ["zones.sqlite"])
    #expect(try place.rights("zones.sqlite") == 0o600)
    let copy = try ZoneInspector(directory: place.path)
    #expect(try copy.counts().records == 10)
    #expect(try copy.connection.firstText(of: "PRAGMA journal_mode") == "delete")
    copy.close()
    #expect(try place.contents() == ["zones.sqlite"])
    // After a restore it is an older copy, whatever the file beside it contains.
    let opened = try SQLiteZoneStore(directory: place.path)
    #expect(opened.wasRestored)
    opened.close()
    store.close()
  }

  @Test func aCopyIsGivenUpInBetween() throws {
    let store = try makeStore()
    for number in 0..<8 {
      _ = try store.commit([TestRequests.save("l\(number)", in: account, bytes: 1 << 20)], wall: 0)
    }
    let place = try TemporaryFolder()
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try !inspector.copy(to: place.path) { _, _ in false })
    inspector.close()
    store.close()
  }

  @Test func aChunkThatACopyLacksIsRequested() throws {
    let store = try makeStore()
    let place = try TemporaryFolder()
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.copy(to: place.path) { _, _ in true })
    let chunks = try inspector.chunks(after: nil, limit: 9)
    inspector.close()
    store.close()
    try ZoneInspector.finishCopy(in: place.path, opening: 5, lacking: chunks)
    let copy = try ZoneInspector(directory: place.path)
    #expect(try copy.chunks(after: nil, limit: 9).map(\.isUnverified) == [true])
    copy.close()
  }

  @Test func aStoreOfVersion1IsLookedThroughAndCopiedAsItIs() throws {
    let version1 = Schema(
      applicationID: Schema.zones.applicationID, steps: Array(Schema.zones.steps.prefix(1)))
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer, schema: version1)
    try connection.execute("INSERT INTO accounts VALUES (1, 1, 2, 'Ada', 0);")
    connection.close()
    #expect(try codes().isEmpty)
    let place = try TemporaryFolder()
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.copy(to: place.path) { _, _ in true })
    #expect(try inspector.chunks(after: nil, limit: 9).isEmpty)
    inspector.close()
    try ZoneInspector.finishCopy(in: place.path, opening: 5, lacking: [])
    let copy = try ZoneInspector(directory: place.path)
    #expect(try copy.schema == 1 && copy.counts().accounts == 1)
    copy.close()
  }

  /// A backup keeps one read view for its whole duration: commits continue, and do not wait for it.
  @Test func anOpenReaderBlocksNoOther() throws {
    let store = try makeStore()
    let reader = try ZoneInspector(directory: directory.path)
    try reader.connection.read { () throws(StorageError) in
      _ = try reader.connection.firstInteger(of: "SELECT count(*) FROM records")
      for number in 0..<80 {
        _ = try store.commit(
          [TestRequests.save("l\(number)", in: account, bytes: 1 << 20)], wall: 0)
        try store.performMaintenance()
      }
      #expect(store.connection.waitingPages > Limits.logPagesMax, "it cannot be moved")
    }
    reader.close()
    for number in 0..<80 {
      _ = try store.commit([TestRequests.save("m\(number)", in: account, bytes: 1 << 20)], wall: 0)
    }
    try store.performMaintenance()
    #expect(store.connection.waitingPages < Limits.logPagesMax, "it is moved once it can be")
    store.close()
  }
}
