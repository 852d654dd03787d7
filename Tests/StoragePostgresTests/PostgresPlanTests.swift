import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

/// Query plans, which results do not show.
@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresPlanTests {
  private let account = AccountID(rawValue: 1)
  private let rows: Int64 = 5_000

  /// Tables are vacuumed while they are empty, plans are made, and the tables grow. The plans are
  /// soon renewed, and then only the requested rows are read.
  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func plansOfEmptyTablesAreNotKept() throws {
    let database = try TestDatabase(isNew: true)
    let store = try database.store()
    for table in try database.tables {
      try database.run("VACUUM ANALYZE \(database.schema).\(table)")
    }
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    try liveADay(0, on: store)
    try grow(database)
    for day in 1...40 { try liveADay(day, on: store) }
    // A session publishes its statistics when it ends.
    store.close()
    try database.endSessions()
    let found = try database.run(
      """
      SELECT relname::text, coalesce(seq_tup_read, 0) + coalesce((
        SELECT sum(idx_tup_read) FROM pg_stat_user_indexes AS each WHERE each.relid = tables.relid
      ), 0)::bigint FROM pg_stat_user_tables AS tables WHERE schemaname = '\(database.schema)'
      """
    ).all { ($0.text(0), $0.integer(1)) }
    #expect(found.contains { $0.0 == "records" && $0.1 > 40 })
    // The plans of the first two days may be those of empty tables, with which some statements read
    // the whole table.
    for (table, count) in found { #expect(count < 20 * rows, "\(table): \(count) rows are read") }
  }

  /// A zone is deleted before the server has gathered any statistics about it. The rows of the zone
  /// are not compared with the deleted ones one by one.
  @Test func aZoneWithoutStatisticsIsNotComparedRowByRow() throws {
    let database = try TestDatabase(isNew: true)
    try database.store().close()
    try grow(database)
    let settings = """
      SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
        set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true)
      """
    for (statement, parameters) in [(ZoneDeleter.bury, 8), (ZoneDeleter.release, 6)] {
      let plan = try database.plan(of: statement, parameters: parameters, settings)
      #expect(plan.contains { $0.contains("Tid Scan") })
      #expect(!plan.contains { $0.contains("Join Filter") }, "\(plan.joined(separator: "\n"))")
    }
  }

  /// Otherwise a device that knows a file's hash learns by the time of the answer if the account
  /// has the file in a zone that is not the device's.
  @Test func aChunkOfOtherZonesTakesTheSameReadsAsOneThatNobodyHas() throws {
    let database = try TestDatabase(isNew: true)
    try database.store().close()
    try grow(database)
    try database.runHere(
      "UPDATE records SET chunks = decode(repeat('bb', 32), 'hex') WHERE tag < 1000040")
    try database.runHere("ANALYZE records, chunks")
    try database.run("PREPARE named_chunks AS \(ChunkQueries.named.sql)")
    let zeros = String(repeating: "0", count: 61)
    // The hashes of `grow`, of which no record names any, and others.
    func steps(_ prefix: String) throws -> [String] {
      let hash = "decode('\(prefix)' || lpad(to_hex(7), 62, '0'), 'hex')"
      return try database.run(
        """
        EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF)
        EXECUTE named_chunks(1, ARRAY[\(hash)], ARRAY['Z'])
        """
      ).all { $0.text(0) }.map { $0.replacing(prefix + zeros, with: "") }
    }
    let held = try steps("aa")
    #expect(try held == steps("cc"), "\(held.joined(separator: "\n"))")
    let reads = held.filter { $0.contains(" on records") }
    #expect(!reads.isEmpty && !reads.contains { $0.contains("never executed") }, "\(held)")
  }

  /// Runs the requests of one account's devices for a day, once each.
  private func liveADay(_ day: Int, on store: PostgresZoneStore) throws {
    let id = UInt64(day + 1)
    let hash = try #require(
      ChunkHash(bytes: [UInt8](repeating: 0, count: 31) + [UInt8(truncatingIfNeeded: day)]))
    let file = ChunkFile(account: account, number: 1_000_000 + id)
    let sleeper = SleeperID(account: account, device: TestRequests.device)
    let save = TestRequests.save("a", "b\(day)", in: account, id: id)
    let requests: [CommitRequest] = [
      save, save,
      // Over a version that no device has: a conflict, which shows the record.
      TestRequests.save("a", in: account, over: 1),
      .touchDevices([
        DeviceSighting(
          account: account, device: TestRequests.device, lastSeen: Int64(id), isConnected: true,
          contact: WakeContact(told: WakeMark(generation: 1, sequence: Int64(id))))
      ]),
      TestRequests.putWake(in: account),
      .verifyWake(account, TestRequests.device, Name(trusted: "w"), codeHash: [7]),
      .claimWakes([sleeper], keys: TestRequests.wakeKeys),
      .reportWakes([WakeReport(id: sleeper, event: .finished(.change, []))]),
      .addChunk(account, hash, file, bytes: 5), .renewChunks(account, [hash]),
      .markChunksMissing([file]), .confirmChunks([file]),
      .collectChunks(atMost: 10),
      .issuePairing(
        account, NewPairing(codeHash: [UInt8](repeating: 1, count: 31) + [1], expiresAt: 1)),
      // A code that is not there.
      .redeemPairing(
        codeHash: [UInt8](repeating: 2, count: 32),
        device: NewDevice(
          id: TestRequests.device,
          description: DeviceDescription(deviceName: "d", platform: "p", appVersion: "1"),
          tokenHash: [UInt8](repeating: 3, count: 32))),
    ]
    for request in requests { _ = try store.commit([request], wall: Int64(day)) }
    guard case .token(let newest) = try store.read(.newestToken(account)) else {
      Issue.record("the account is not there")
      return
    }
    let reads: [ReadRequest] = [
      .authenticate(tokenHash: [1] + [UInt8](repeating: 0, count: 31)), .account(account),
      .changes(account, since: newest, zones: .all, limit: 10), .devices(account),
      .zones(account, after: nil, within: nil, limit: 10), .chunk(account, hash), .fileUses([file]),
      .followAccounts([account], leaving: [account], node: 0), .wakes(account, TestRequests.device),
      .sleepers(.accounts([account])), .sleepers(.after(sleeper, limit: 3)),
    ]
    for read in reads { _ = try store.read(read) }
  }

  /// Fills all tables that grow in use; many of the rows belong to the same account.
  private func grow(_ database: TestDatabase) throws {
    let hash = "decode('aa' || lpad(to_hex(n), 62, '0'), 'hex')"
    for (table, columns, values) in [
      ("accounts", "account, generation, made_at, label", "10 + n, 1, 0, ''"),
      (
        "devices", "account, device, last_seen, token_hash, device_name, platform, app_version",
        "10 + n, 1, 0, \(hash), '', '', ''"
      ),
      (
        "subscriptions", "account, device, id, content",
        "10 + n, 1, 'all', '{\"kind\":\"database\"}'"
      ),
      ("wakes", "account, device, content", "10 + n, 1, '{\"entries\":[]}'"),
      ("zones", "account, live, zone", "10 + n, 1, 'Z'"),
      ("pairings", "account, expires_at, code_hash", "10 + n, 1000000, \(hash)"),
      (
        "records", "account, tag, modified_at, device, zone, name, type, fields",
        "1, 1000000 + n, 0, 1, 'Z', 'grown' || n, 'T', '{}'"
      ),
      (
        "batches", "account, device, batch_high, batch_low, made_at, first_tag, digest",
        "1, 1, 7, n, 1000000, 1, '{}'"
      ),
      ("chunks", "account, hash, file, bytes, uses, lease_until", "1, \(hash), n, 1, 1, 0"),
    ] {
      try database.runHere(
        """
        INSERT INTO \(table) (\(columns))
        SELECT \(values) FROM generate_series(1, \(rows)) AS n
        """)
    }
    try database.runHere("UPDATE accounts SET newest = 2000000 WHERE account = 1")
  }
}
