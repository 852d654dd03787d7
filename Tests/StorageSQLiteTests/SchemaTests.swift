import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct SchemaTests {
  private let first = "CREATE TABLE t (a INTEGER NOT NULL) STRICT; INSERT INTO t VALUES (7);"
  private let second = "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 8;"

  @Test func anOlderStoreIsLedToTheNewestVersion() throws {
    let directory = try TemporaryFolder()
    let old = Schema(applicationID: 5, steps: [first])
    try connect(directory, old).close()
    let new = Schema(applicationID: 5, steps: [first, second])
    let connection = try connect(directory, new)
    #expect(try connection.firstInteger(of: "SELECT a + b FROM t") == 15)
    #expect(try connection.firstInteger(of: "PRAGMA user_version") == 2)
    #expect(try connection.firstInteger(of: "PRAGMA application_id") == 5)
    connection.close()
    #expect(
      throws: StorageError.tooNew(path: directory.path("t.sqlite"), found: 2, known: 1)
    ) { try connect(directory, old) }
  }

  @Test func aStepThatFailsLeavesTheStoreAsItWas() throws {
    let directory = try TemporaryFolder()
    let old = Schema(applicationID: 5, steps: [first])
    try connect(directory, old).close()
    let broken = Schema(
      applicationID: 5, steps: [first, second, "INSERT INTO nowhere VALUES (1);"])
    #expect(throws: StorageError.self) { try connect(directory, broken) }
    let connection = try connect(directory, old)
    #expect(try connection.firstInteger(of: "SELECT count(*) FROM pragma_table_info('t')") == 1)
    #expect(try connection.firstInteger(of: "PRAGMA user_version") == 1)
  }

  /// Content as the first version wrote it. The fixture never changes, whatever later versions do.
  @Test func aRelaysStoreOfVersion1IsUnderstood() throws {
    let directory = try TemporaryFolder()
    let version1 = Schema(applicationID: 0x4C53_7A6F, steps: Array(Schema.zones.steps.prefix(1)))
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer, schema: version1)
    try connection.execute(
      """
      INSERT INTO accounts VALUES (1, 1, 2, 'Ada', 0);
      INSERT INTO devices VALUES (1, 1, 1, 'd', 'p', '1', zeroblob(32), 5);
      INSERT INTO records VALUES (1, 1, 'Z', 'r', 'T', 1, 1, 2, CAST('{}' AS BLOB));
      INSERT INTO records VALUES (1, 2, 'Y', 'gone', 'T', 1, 1, 1, NULL);
      INSERT INTO batches VALUES
        (1, 1, 1, 1, 3, 0, 2, NULL,
         x'0707070707070707070707070707070707070707070707070707070707070707');
      PRAGMA user_version = 1;
      """)
    connection.close()
    let store = try SQLiteZoneStore(directory: directory.path)
    let account = AccountID(rawValue: 1)
    #expect(try TestRequests.names(account, in: store) == ["r"])
    #expect(
      try store.read(.zones(account, after: nil, within: nil, limit: 9))
        == .zones([Name(trusted: "Z")], more: false))
    guard case .token(let newest) = try store.read(.newestToken(account)) else {
      Issue.record("the account is not there")
      return
    }
    #expect(
      try store.read(.authenticate(tokenHash: [UInt8](repeating: 0, count: 32)))
        == .principal(Principal(account: account, device: DeviceID(rawValue: 1), newest: newest)))
    let retry = try store.commit([TestRequests.save("r", in: account, id: 3)], wall: 0)
    guard case .saved(let outcome) = try #require(retry.first) else {
      Issue.record("\(retry)")
      return
    }
    #expect(outcome.answer.results == [.saved(name: Name(trusted: "r"), tag: 2)])
    #expect(outcome.changed.isEmpty)
  }

  /// Tags from before the first run stay valid, and tags lost afterwards are detected.
  @Test func aRelaysStoreOfVersion2BeginsARun() throws {
    let directory = try TemporaryFolder()
    let version2 = Schema(applicationID: 0x4C53_7A6F, steps: Array(Schema.zones.steps.prefix(2)))
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer, schema: version2)
    try connection.execute(
      """
      INSERT INTO accounts VALUES (1, 1, 2, 'Ada', 0, NULL, 0, 0);
      INSERT INTO devices VALUES (1, 1, 1, 'd', 'p', '1', zeroblob(32), 5);
      INSERT INTO zones VALUES (1, 'Z', 1);
      INSERT INTO records VALUES (1, 1, 'Z', 'r', 'T', 1, 1, 2, CAST('{}' AS BLOB), NULL, NULL);
      PRAGMA user_version = 2;
      """)
    connection.close()
    let run = OpeningNumber.make(wall: 1_700_000_000_000, random: 5)
    let store = try SQLiteZoneStore(directory: directory.path, run: run)
    let account = AccountID(rawValue: 1)
    func refusal(since sequence: Int64) throws -> Refusal? {
      let token = ChangeToken(generation: 1, sequence: sequence)
      let read = ReadRequest.changes(account, since: token, zones: .all, limit: 9)
      guard case .refused(let refusal) = try store.read(read) else { return nil }
      return refusal
    }
    for _ in 0..<2 {
      #expect(try refusal(since: 2) == nil)
      #expect(try refusal(since: 3)?.restoredThrough == 2)
      _ = try store.commit([TestRequests.save("s", in: account)], wall: 0)
    }
    #expect(try TestRequests.names(account, in: store) == ["r", "s"])
    #expect(try store.connection.firstInteger(of: "SELECT count(*) FROM gaps") == 1)
  }

  /// The number of stored gaps is bounded, and a deleted gap invalidates no token.
  @Test func theNewestGapsAreRemembered() throws {
    let directory = try TemporaryFolder()
    let account = AccountID(rawValue: 1)
    let first = try SQLiteZoneStore(directory: directory.path)
    _ = try first.commit([TestRequests.create(account)], wall: 0)
    _ = try first.commit([TestRequests.save("r", in: account)], wall: 0)
    try first.connection.execute(
      """
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1000)
      INSERT INTO gaps (account, after_tag, through_tag) SELECT 1, 10 * n, 10 * n + 5 FROM n;
      UPDATE accounts SET newest = 10010, range_start = 10005;
      """)
    first.close()
    let run = OpeningNumber.make(wall: 1_700_000_000_000, random: 5)
    let store = try SQLiteZoneStore(directory: directory.path, run: run)
    _ = try store.commit([TestRequests.save("r", in: account)], wall: 0)
    #expect(
      try store.connection.firstInteger(of: "SELECT count(*) FROM gaps") == Int64(Limits.tagGaps))
    #expect(try store.connection.firstInteger(of: "SELECT min(after_tag) FROM gaps") == 20)
    for (sequence, isGood) in [(12, true), (17, true), (22, false), (27, true), (10_010, true)] {
      let token = ChangeToken(generation: 1, sequence: Int64(sequence))
      let read = ReadRequest.changes(account, since: token, zones: .all, limit: 9)
      guard case .page = try store.read(read) else {
        #expect(!isGood, "\(sequence)")
        continue
      }
      #expect(isGood, "\(sequence)")
    }
  }

  @Test func aDevicesStoreOfVersion1IsUnderstood() throws {
    let directory = try TemporaryFolder()
    let version1 = Schema(
      applicationID: 0x4C53_7265, steps: Array(Schema.replica.steps.prefix(1)))
    let connection = try SQLiteConnection(
      path: directory.path("replica.sqlite"), role: .writer, schema: version1)
    try connection.execute(
      """
      INSERT INTO identity VALUES (1, 'http://relay', 1, 2, 'secret', 'phone');
      INSERT INTO place VALUES (1, '1.9');
      INSERT INTO records VALUES ('Z', 'r', 'T', 1, 2, 3, CAST('{}' AS BLOB));
      INSERT INTO records VALUES ('Z', 'gone', 'T', 1, 2, 4, NULL);
      INSERT INTO outbox VALUES
        (5, 'Z', 'r', 'T', 7, 1, NULL, 'waiting', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
      INSERT INTO versions VALUES (5, 0, 'Z', 'r', 'T', 1, 2, 3, CAST('{}' AS BLOB));
      INSERT INTO notes VALUES ('k', 'v');
      """)
    connection.close()
    let store = try SQLiteReplicaStore(home: directory.path)
    let record = Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "r"), type: Name(trusted: "T"),
      fields: Array("{}".utf8), modifiedAt: 1, device: DeviceID(rawValue: 2), tag: 3)
    #expect(try store.record(record.key) == record)
    #expect(try store.allRecords().map(\.name.text) == ["gone", "r"])
    #expect(try store.records(zone: record.zone, type: record.type) == [record])
    #expect(try store.identity()?.deviceName == "phone")
    #expect(try store.cursor() == ChangeToken(generation: 1, sequence: 9))
    #expect(try store.value("k") == "v")
    let entry = OutboxEntry(
      number: 5, key: record.key, type: record.type, fields: nil, modifiedAt: 7,
      isStampTrusted: true, base: record, state: .waiting)
    #expect(try store.outbox() == [entry])
    // No snapshot has named a record yet, and nothing is lost.
    #expect(try store.unnamed(bySnapshot: 1).count == 2)
    #expect(try store.lostRecords(limit: 9, bytes: 9).isEmpty)
    try store.write([.putRecord(record, snapshot: 1)])
    #expect(try store.unnamed(bySnapshot: 1).map(\.key.name.text) == ["gone"])
  }

  @Test func aDevicesStoreOfVersion4IsThatOfADeviceWithTheWholeAccount() throws {
    let directory = try TemporaryFolder()
    let version4 = Schema(
      applicationID: 0x4C53_7265, steps: Array(Schema.replica.steps.prefix(4)))
    let connection = try SQLiteConnection(
      path: directory.path("replica.sqlite"), role: .writer, schema: version4)
    try connection.execute("INSERT INTO identity VALUES (1, 'http://relay', 1, 2, 'secret', 'tv');")
    connection.close()
    let store = try SQLiteReplicaStore(home: directory.path)
    var identity = try #require(try store.identity())
    #expect(identity.credentials.scope == .everything)
    // It joins again, with a code for one zone.
    identity.credentials.scope = DeviceScope(zones: [Name(trusted: "Z")], isReadOnly: true)
    try store.write([.setIdentity(identity)])
    #expect(try store.identity() == identity)
  }

  @Test func aDevicesStoreOfVersion2CountsWhatItsRecordsName() throws {
    let directory = try TemporaryFolder()
    let version2 = Schema(
      applicationID: 0x4C53_7265, steps: Array(Schema.replica.steps.prefix(2)))
    let connection = try SQLiteConnection(
      path: directory.path("replica.sqlite"), role: .writer, schema: version2)
    let one = String(repeating: "01", count: 32)
    let two = String(repeating: "02", count: 32)
    try connection.execute(
      """
      INSERT INTO records VALUES
        ('Z', 'a', 'T', 1, 2, 3, 0, x'\(one)\(two)\(one)', CAST('{}' AS BLOB)),
        ('Z', 'b', 'T', 1, 2, 4, 0, x'\(two)', CAST('{}' AS BLOB)),
        ('Z', 'c', 'T', 1, 2, 5, 0, NULL, CAST('{}' AS BLOB));
      """)
    connection.close()
    let store = try SQLiteReplicaStore(home: directory.path)
    let hashes = [one, two].compactMap { ChunkHash(text: $0) }
    let zone = Name(trusted: "Z")
    #expect(try store.namedChunks(hashes) == hashes)
    try store.write([.removeRecord(RecordKey(zone: zone, name: Name(trusted: "a")))])
    #expect(try store.namedChunks(hashes) == [hashes[1]])
    try store.write([.removeRecord(RecordKey(zone: zone, name: Name(trusted: "b")))])
    #expect(try store.namedChunks(hashes).isEmpty)
    #expect(try store.chunks(after: nil, limit: 9).isEmpty)
  }

  private func connect(
    _ directory: TemporaryFolder, _ schema: Schema
  ) throws -> SQLiteConnection {
    try SQLiteConnection(path: directory.path("t.sqlite"), role: .writer, schema: schema)
  }
}
