import LockstepModel
import LockstepStorage
import StorageContract
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct SchemaTests {
  @Test func relaysThatStartAtOnceOnAnEmptyDatabaseAllComeUp() throws {
    let database = try TestDatabase(isNew: true)
    let counts = try inParallel(4) { _ in try database.store().read(.accountCount) }
    #expect(counts == Array(repeating: .count(0), count: 4))
    #expect(try database.number("SELECT count(*) FROM \(database.schema).schema_version") == 1)
  }

  @Test func aNewerSchemaIsRefusedUnlessItSupportsThisVersion() throws {
    let database = try TestDatabase(isNew: true)
    _ = try database.store()
    let known = Schema.zones.version
    try database.run("UPDATE \(database.schema).schema_version SET version = \(known + 1)")
    // A step that only adds: relays of both versions run side by side.
    #expect(try database.store().read(.accountCount) == .count(0))
    try database.run("UPDATE \(database.schema).schema_version SET oldest = \(known + 1)")
    let tooNew = StorageError.tooNew(
      path: database.address.shown, found: known + 1, known: known)
    #expect(throws: tooNew) { try database.store() }
  }

  @Test func migrationStartsAtTheExistingVersion() throws {
    let database = try TestDatabase(isNew: true)
    let connection = PostgresConnection(database.address)
    let first = Schema(steps: [["CREATE TABLE a (one bigint)"]], oldest: 1)
    let second = Schema(steps: first.steps + [["ALTER TABLE a ADD two bigint"]], oldest: 1)
    try connection.perform("test") { () throws(PostgresFault) in
      #expect(try first.migrate(connection))
      #expect(try !second.migrate(connection))
      #expect(try !second.migrate(connection))
      #expect(try !first.migrate(connection))
      _ = try connection.run(PostgresStatement("", "SELECT one, two FROM a"))
    }
  }

  @Test func tablesOfAnotherProgramAreLeftAlone() throws {
    let database = try TestDatabase(isNew: true)
    try database.run("CREATE TABLE \(database.schema).accounts (name text)")
    #expect(throws: StorageError.self) { try database.store() }
    #expect(try database.tables == ["accounts"])
  }

  @Test func everyTableLeadsWithTheAccount() throws {
    let database = try TestDatabase()
    _ = try database.store()
    let others = try database.run(
      """
      SELECT table_name::text FROM information_schema.columns
      WHERE table_schema = '\(database.schema)' AND ordinal_position = 1
        AND column_name <> 'account' ORDER BY 1
      """
    ).all { $0.text(0) }
    #expect(others == ["opening", "relays", "schema_version", "wake_keys"])
  }

  /// A relay of the version before also adds such rows while both run.
  @Test func labelsOfTheVersionBeforeAreCompared() throws {
    let database = try TestDatabase(isNew: true)
    let store = try database.store()
    try database.run(
      """
      INSERT INTO \(database.schema).accounts (account, generation, label, made_at)
      VALUES (1, 1, 'Mum', 0), (2, 1, 'mum', 0), (3, 1, 'Päp', 0), (4, 1, '', 0)
      """)
    let requests = ["MUM", "pÄP", "new"].enumerated().map { index, label in
      CommitRequest.createAccount(
        AccountID(rawValue: UInt64(10 + index)), generation: 1, label: label, device: nil,
        pairing: nil)
    }
    let results = try store.commit(requests, wall: 0)
    let refused = results.map { result -> RefusalCode? in
      if case .refused(let refusal) = result { refusal.code } else { nil }
    }
    #expect(refused == [.labelTaken, .labelTaken, nil])
    let missing = try database.number(
      """
      SELECT count(*) FROM \(database.schema).accounts WHERE label_key IS NULL AND label <> ''
      """)
    #expect(missing == 0)
  }

  @Test func ofRelaysThatCreateTheSameLabelAtOnceOneDoes() throws {
    let database = try TestDatabase()
    let results = try inParallel(4) { number in
      let account = AccountID(rawValue: 0x1AB0 + UInt64(number))
      let create = CommitRequest.createAccount(
        account, generation: 1, label: "Twin \(database.schema)", device: nil, pairing: nil)
      return try database.store().commit([create], wall: 0).first == .done
    }
    #expect(results.count { $0 } == 1)
  }

  @Test func codesOfTheVersionBeforeKeysCarryNone() throws {
    let database = try TestDatabase(isNew: true)
    let connection = PostgresConnection(database.address)
    let former = Schema(steps: Array(Schema.zones.steps.prefix(6)), oldest: Schema.zones.oldest)
    try connection.perform("test") { () throws(PostgresFault) in
      _ = try former.migrate(connection)
      let tables = [
        "INSERT INTO accounts (account, generation, label, made_at) VALUES (1, 1, '', 0)",
        """
        INSERT INTO pairings (account, code_hash, expires_at)
        VALUES (1, '\\x\(String(repeating: "07", count: 32))', 9)
        """,
      ]
      for sql in tables { _ = try connection.run(PostgresStatement("", sql)) }
    }
    let account = AccountID(rawValue: 1)
    let store = try database.store()
    let redeem = CommitRequest.redeemPairing(
      codeHash: [UInt8](repeating: 7, count: 32),
      device: NewDevice(
        id: DeviceID(rawValue: 3),
        description: DeviceDescription(deviceName: "d", platform: "p", appVersion: "1"),
        tokenHash: [UInt8](repeating: 3, count: 32)))
    #expect(try store.commit([redeem], wall: 0) == [.redeemed(account, .everything)])
    // A relay of the version before may still run on these tables.
    try connection.perform("test") { () throws(PostgresFault) in
      #expect(try !former.migrate(connection))
    }
    connection.close()
    store.close()
  }

  /// A table can be partitioned by its account only if every unique key in it has the account.
  @Test func rowsMayBePlacedByTheirAccount() throws {
    let database = try TestDatabase(isNew: true)
    let connection = PostgresConnection(database.address)
    // The tables of the version before, so that the later steps are tested too.
    let former = Schema(steps: Array(Schema.zones.steps.prefix(1)), oldest: 1)
    try connection.perform("test") { () throws(PostgresFault) in
      _ = try former.migrate(connection)
    }
    connection.close()
    try database.store().close()
    try database.run(
      """
      DO $$ DECLARE place record; BEGIN
        FOR place IN
          SELECT format('%I.%I', schemaname, tablename) AS name,
            format('%I.whole', schemaname) AS whole
          FROM pg_tables WHERE schemaname = '\(database.schema)'
            AND tablename NOT IN ('opening', 'relays', 'schema_version', 'wake_keys')
        LOOP
          EXECUTE format('ALTER TABLE %s RENAME TO whole', place.name);
          EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL) PARTITION BY HASH (account)',
            place.name, place.whole);
          FOR part IN 0..2 LOOP
            EXECUTE format('CREATE TABLE %s_%s PARTITION OF %1$s FOR VALUES WITH '
              '(MODULUS 3, REMAINDER %2$s)', place.name, part);
          END LOOP;
          EXECUTE format('DROP TABLE %s', place.whole);
        END LOOP;
      END $$
      """)
    var walk = ZoneWalk(seed: 7)
    let store = try walk.lead(try database.store(rules: ZoneWalk.rules), steps: 200) { store in
      (store as? PostgresZoneStore)?.close()
      return try database.store(rules: ZoneWalk.rules)
    }
    try walk.clear(store)
    let parts = "SELECT count(DISTINCT tableoid) FROM \(database.schema).devices"
    #expect(try database.number(parts) > 1)
  }

  /// A plan with a full table scan would be made once and kept, however much the table grows.
  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func commitsAndPagesFindRowsByIndex() throws {
    let database = try TestDatabase(isNew: true)
    let store = try database.store()
    let account = AccountID(rawValue: 1)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    for round in 0..<3 {
      _ = try store.commit([TestRequests.save("a", "b\(round)", in: account)], wall: 1)
      _ = try store.read(.changes(account, since: nil, zones: .all, limit: 5))
    }
    store.close()
    // A session publishes its statistics when it ends. Creating an index takes one scan.
    var scans: Int64 = -1
    for _ in 0..<100 where scans != 0 {
      scans = try database.number(
        """
        SELECT coalesce(sum(seq_scan - (SELECT count(*) FROM pg_index WHERE indrelid = relid)), -1)
        FROM pg_stat_user_tables
        WHERE schemaname = '\(database.schema)' AND relname IN ('records', 'batches', 'accounts')
          AND idx_scan > 0
        """)
    }
    #expect(scans == 0)
  }
}
