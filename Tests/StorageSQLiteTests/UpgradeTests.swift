import Foundation
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// Content that programs of every earlier version wrote exists after the upgrade. The fixtures
/// never change, whatever later versions do; each new version adds its own.
struct UpgradeTests {
  private let directory: TemporaryFolder

  init() throws { directory = try TemporaryFolder() }

  /// Makes a database as a program of that version left it.
  private func lay(_ fixture: String, as name: String, _ schema: Schema, version: Int) throws {
    let empty = Schema(applicationID: schema.applicationID, steps: [])
    let connection = try SQLiteConnection(
      path: directory.path(name), role: .writer, schema: empty)
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let path = folder.appending(path: "Fixtures/\(fixture).sql")
    try connection.execute(try String(contentsOf: path, encoding: .utf8))
    // The fixture has the tables that the steps of its version make.
    #expect(try connection.firstInteger(of: "PRAGMA user_version") == Int64(version))
    connection.close()
  }

  private func layRelay(_ version: Int = 1) throws {
    try lay("zones-\(version)", as: "zones.sqlite", .zones, version: version)
  }

  /// Adds the file with the database's number, without which it counts as an older copy.
  private func layOpening(of fixture: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let text = try String(
      contentsOf: folder.appending(path: "Fixtures/\(fixture).sql"), encoding: .utf8)
    let connection = try SQLiteConnection(
      path: directory.path("fixture"), role: .writer,
      schema: Schema(applicationID: Schema.zones.applicationID, steps: []))
    defer { connection.close() }
    try connection.execute(text)
    let number = try connection.firstInteger(of: "SELECT number FROM opening")
    let digits = HexText.text(UInt64(bitPattern: number))
    try directory.write(Array("\(digits) \(digits)\n".utf8), to: "opening")
  }

  private func layHome(_ version: Int) throws {
    try lay("replica-\(version)", as: "replica.sqlite", .replica, version: version)
  }

  // MARK: a relay

  @Test func aRelaysStoreOfVersion1IsThereAfterTheUpgrade() throws {
    try layRelay()
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    #expect(!store.wasRestored)
    let devices = try rows(store.connection, "SELECT account, device, token_hash FROM devices")
    #expect(devices.count == 3)
    let account = AccountID(rawValue: try #require(devices.first).0)
    guard case .token(let newest) = try store.read(.newestToken(account)) else {
      Issue.record("the account is not there")
      return
    }
    for (_, device, tokenHash) in devices {
      #expect(
        try store.read(.authenticate(tokenHash: tokenHash))
          == .principal(
            Principal(account: account, device: DeviceID(rawValue: device), newest: newest)))
    }
    #expect(
      try TestRequests.names(account, in: store).filter { $0.count < 10 } == [
        "kept", "changed", "current",
      ])
    let zones = ["Habits", "Memos", "Notes", "Timer"].map { Name(trusted: $0) }
    #expect(
      try store.read(.zones(account, after: nil, within: nil, limit: 9))
        == .zones(zones, more: false))
    // A device whose token precedes the deletion receives it; the token is from the old program.
    let generation = try store.connection.firstInteger(of: "SELECT generation FROM accounts")
    let token = ChangeToken(generation: UInt32(generation), sequence: 3)
    guard
      case .page(let page) = try store.read(
        .changes(account, since: token, zones: .all, limit: Limits.pageRecords))
    else {
      Issue.record("the token is not known any more")
      return
    }
    #expect(page.changes.first?.name.text == "deleted" && page.changes.first?.isDeleted == true)
    #expect(page.changes.map(\.tag) == [4, 5, 6, 7, 8])
  }

  @Test func aBatchThatARelayOfVersion1RememberedIsRecognised() throws {
    try layRelay()
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    let batches = try store.connection.prepare(
      "SELECT account, device, batch_high, batch_low, digest FROM batches WHERE number = 3")
    let (account, device, id, digest) = try #require(
      try batches.first {
        (
          AccountID(rawValue: $0.bits(0)), DeviceID(rawValue: $0.bits(1)),
          BatchID(high: $0.bits(2), low: $0.bits(3)), $0.bytes(4)
        )
      })
    let mutation = Mutation(
      name: Name(trusted: "changed"), type: Name(trusted: "Note"), fields: Array("{}".utf8),
      modifiedAt: 1, baseTag: nil)
    let request = SaveRequest(
      id: id, zone: Name(trusted: "Notes"), atomic: false, mutations: [mutation])
    let retry = try store.commit(
      [.save(SaveCommit(account: account, device: device, request: request, digest: digest))],
      wall: 0)
    guard case .saved(let outcome) = try #require(retry.first) else {
      Issue.record("\(retry)")
      return
    }
    #expect(outcome.answer.results == [.saved(name: Name(trusted: "changed"), tag: 5)])
    #expect(outcome.changed.isEmpty)
  }

  @Test func anUpgradedStoreIsWhole() throws {
    try layRelay()
    let before = try ZoneInspector(directory: directory.path)
    #expect(try before.schema == 1 && before.faults { true } == [])
    before.close()
    try SQLiteZoneStore(directory: directory.path).close()
    let after = try ZoneInspector(directory: directory.path)
    #expect(try after.schema == Schema.zones.version && after.faults { true } == [])
    #expect(try after.counts().records == 5 && after.counts().devices == 3)
    after.close()
  }

  @Test func accountsThatShareALabelFromBeforeKeepIt() throws {
    try layRelay(8)
    let connection = try SQLiteConnection(
      path: directory.path("zones.sqlite"), role: .writer,
      schema: Schema(
        applicationID: Schema.zones.applicationID, steps: Array(Schema.zones.steps.prefix(8))))
    try connection.execute(
      """
      INSERT INTO accounts (account, generation, newest, label, made_at)
        VALUES (1, 1, 0, 'Mum', 0), (2, 1, 0, 'mum', 0), (3, 1, 0, 'Päp', 0), (4, 1, 0, '', 0);
      """)
    connection.close()
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    let labels = ["MUM", "pÄP", "new"]
    let requests = labels.enumerated().map { index, label in
      CommitRequest.createAccount(
        AccountID(rawValue: UInt64(10 + index)), generation: 1, label: label, device: nil,
        pairing: nil)
    }
    #expect(
      try store.commit(requests, wall: 0) == [
        .refused(StoreRefusals.labelTaken(by: AccountID(rawValue: 1))),
        .refused(StoreRefusals.labelTaken(by: AccountID(rawValue: 3))), .done,
      ])
    // All rows have their keys by now.
    let query = "SELECT count(*) FROM accounts WHERE label_key IS NULL AND label <> ''"
    #expect(try store.connection.firstInteger(of: query) == 0)
    guard case .accounts(let all, _) = try store.read(.accounts(after: nil, limit: 10)) else {
      Issue.record("no accounts")
      return
    }
    #expect(all.map(\.label).filter { !$0.isEmpty } == ["Mum", "mum", "Päp", "new"])
    // One of the two goes, and the other still has the name.
    #expect(try store.commit([.removeAccount(AccountID(rawValue: 1))], wall: 0) == [.done])
    #expect(
      try store.commit([requests[0]], wall: 0) == [
        .refused(StoreRefusals.labelTaken(by: AccountID(rawValue: 2)))
      ])
  }

  /// The old version has no counters: the upgrade counts what exists.
  @Test(arguments: [1, 2])
  func theRoomOfRecordsIsCountedInTheUpgrade(_ version: Int) throws {
    try layRelay(version)
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    guard
      case .accounts(let accounts, more: false) = try store.read(.accounts(after: nil, limit: 9)),
      let account = accounts.first
    else {
      Issue.record("the account is not there")
      return
    }
    #expect(accounts.count == 1)
    let records = try rows(
      store.connection,
      """
      SELECT count(*), sum(length(CAST(zone || name || type AS BLOB)) + coalesce(length(fields), 0)
        + coalesce(length(chunks), 0)), X'' FROM records
      """)
    let batches = try rows(
      store.connection, "SELECT count(*), coalesce(sum(length(words)), 0), X'' FROM batches")
    let (record, batch) = (try #require(records.first), try #require(batches.first))
    #expect(record.0 > 0 && batch.0 > 0)
    #expect(account.records == Int64(record.0))
    let rowBytes = Limits.rowBytes * Int64(record.0 + batch.0)
    #expect(account.recordBytes == rowBytes + Int64(record.1 + batch.1))
  }

  @Test func devicesOfARelayOfVersion7HaveTheirScopes() throws {
    try layRelay(7)
    try layOpening(of: "zones-7")
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    let accounts = try rows(store.connection, "SELECT account, generation, X'' FROM accounts")
    let account = AccountID(rawValue: try #require(accounts.first).0)
    guard case .devices(let devices) = try store.read(.devices(account)) else {
      Issue.record("the account is not there")
      return
    }
    let (memos, timer) = (Name(trusted: "Memos"), Name(trusted: "Timer"))
    #expect(
      devices.map(\.scope) == [
        .everything, DeviceScope(zones: [memos, timer]),
        DeviceScope(zones: [memos], isReadOnly: true),
      ])
    // A code of the old program gives what it was made for.
    let codes = try store.connection.prepare("SELECT code_hash FROM pairings")
    let code = try #require(try codes.first { $0.bytes(0) })
    let device = NewDevice(
      id: DeviceID(rawValue: 9),
      description: DeviceDescription(deviceName: "new", platform: "test", appVersion: "1"),
      tokenHash: [UInt8](repeating: 9, count: 32))
    let redeem = CommitRequest.redeemPairing(codeHash: code, device: device)
    #expect(
      try store.commit([redeem], wall: 1_795_941_199_999)
        == [.redeemed(account, DeviceScope(zones: [memos], isReadOnly: true))])
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.faults { true } == [])
    inspector.close()
  }

  @Test func codesOfARelayOfVersion8CarryTheirKeys() throws {
    try layRelay(8)
    try layOpening(of: "zones-8")
    let store = try SQLiteZoneStore(directory: directory.path)
    defer { store.close() }
    let codes = try rows(
      store.connection, "SELECT account, expires_at, code_hash FROM pairings ORDER BY number")
    #expect(codes.count == 2)
    let answers = try codes.enumerated().map { number, code in
      let device = NewDevice(
        id: DeviceID(rawValue: UInt64(number)),
        description: DeviceDescription(deviceName: "new", platform: "test", appVersion: "1"),
        tokenHash: [UInt8](repeating: UInt8(number), count: 32))
      let redeem = CommitRequest.redeemPairing(codeHash: code.2, device: device)
      return try store.commit([redeem], wall: Int64(code.1) - 1)
    }
    let account = AccountID(rawValue: try #require(codes.first).0)
    #expect(
      answers == [
        [.redeemed(account, .everything, wrapped: "d3JhcHBlZCBrZXlz")],
        [.redeemed(account, DeviceScope(zones: [Name(trusted: "Memos")], isReadOnly: true))],
      ])
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.faults { true } == [])
    inspector.close()
  }

  // MARK: a home

  @Test(arguments: [1, 2])
  func aHomeIsThereAfterTheUpgrade(_ version: Int) throws {
    try layHome(version)
    let store = try SQLiteReplicaStore(home: directory.path)
    defer { store.close() }
    let identity = try #require(try store.identity())
    #expect(identity.deviceName == (version == 1 ? "phone" : "laptop"))
    #expect(identity.credentials.token.utf8.count == 43)
    #expect(identity.credentials.scope == .everything, "no device had less at that time")
    #expect(try store.cursor()?.sequence == (version == 1 ? 8 : 11))
    #expect(try store.value("sync.last") != nil)
    let names = try store.allRecords().map(\.name.text)
    #expect(names.contains("kept") && names.contains("changed") && names.contains("current"))
    let entries = try store.outbox()
    #expect(
      entries.map(\.key.zone.text) == (version == 1 ? ["Memos", "Timer"] : ["Clipboard"]))
    for entry in entries {
      #expect(entry.state == .waiting && entry.fields != nil)
      #expect(try store.record(entry.key)?.fields == entry.fields, "it is what is shown")
    }
    if version == 1 { #expect(entries.last?.base?.tag == 6, "what the press was made on") }
    #expect(try store.lostRecords(limit: 9, bytes: 1 << 20).isEmpty)
  }

  @Test func aHomeOfVersion2KnowsTheChunksThatItNames() throws {
    try layHome(2)
    let store = try SQLiteReplicaStore(home: directory.path)
    defer { store.close() }
    let file = try #require(try store.allRecords().first { !$0.chunks.isEmpty })
    #expect(try store.namedChunks(file.chunks) == file.chunks)
    #expect(try store.chunks(file.chunks).isEmpty, "none lies in the home")
    try store.write([.removeRecord(file.key)])
    #expect(try store.namedChunks(file.chunks).isEmpty)
  }

  @Test func aHomeOfVersion5HasItsScope() throws {
    try layHome(5)
    let store = try SQLiteReplicaStore(home: directory.path)
    defer { store.close() }
    let identity = try #require(try store.identity())
    let zones = ["Memos", "Timer"].map { Name(trusted: $0) }
    #expect(identity.deviceName == "tablet")
    #expect(identity.credentials.scope == DeviceScope(zones: zones))
    #expect(try store.cursor()?.sequence == 5)
    let entry = try #require(try store.outbox().first)
    #expect(entry.state == .waiting && entry.key.zone == zones[0])
    #expect(try store.record(entry.key)?.fields == entry.fields, "it is what is shown")
    let records = try store.allRecords()
    #expect(records.count == 4 && records.allSatisfy { zones.contains($0.zone) })
    let file = try #require(records.first { !$0.chunks.isEmpty })
    #expect(try store.namedChunks(file.chunks) == file.chunks)
  }

  /// Changes of a sealed zone name the versions that they were made on, also those that wait.
  @Test func changesOfAHomeOfVersion7HaveTheirLineages() throws {
    try layHome(7)
    let store = try SQLiteReplicaStore(home: directory.path)
    defer { store.close() }
    let entries = try store.outbox()
    #expect(entries.map(\.number) == [1, 2])
    let lineages = try entries.map { try #require($0.lineage) }
    let writer = try #require(WriterID(text: "d6a834a128c9f472"))
    #expect(lineages[0].base?.id == VersionID(writer: writer, number: 0xE9582))
    #expect(lineages[0].made == lineages[0].base?.vector && lineages[0].id == nil)
    #expect(lineages[1] == OutboxEntry.Lineage(), "of a new memo")
    #expect(entries[0].base?.tag == 3 && entries[1].base == nil)
    try store.write(entries.map { .putEntry($0) })
    #expect(try store.outbox() == entries)
  }

  // MARK: interrupted upgrades

  private static let ways: [(name: String, version: Int)] = [
    ("zones.sqlite", 1), ("zones.sqlite", 2), ("zones.sqlite", 7),
    ("zones.sqlite", 8),
    ("replica.sqlite", 1), ("replica.sqlite", 2), ("replica.sqlite", 5),
    ("replica.sqlite", 7),
  ]

  @Test(arguments: ways)
  func anUpgradeThatFailsAtAnyStepLeavesWhatWasThere(_ way: (name: String, version: Int)) throws {
    let schema = way.name == "zones.sqlite" ? Schema.zones : .replica
    try way.name == "zones.sqlite" ? layRelay(way.version) : layHome(way.version)
    let before = try content(way.name, schema)
    for end in way.version...schema.version {
      let broken = Schema(
        applicationID: schema.applicationID,
        steps: schema.steps.prefix(end) + ["INSERT INTO nowhere VALUES (1);"])
      #expect(throws: StorageError.self) {
        try SQLiteConnection(path: directory.path(way.name), role: .writer, schema: broken)
      }
      #expect(try content(way.name, schema) == before)
    }
  }

  @Test(arguments: ways)
  func anUpgradeThatIsKilledBeforeItsEndIsDoneAnew(_ way: (name: String, version: Int)) throws {
    let schema = way.name == "zones.sqlite" ? Schema.zones : .replica
    try way.name == "zones.sqlite" ? layRelay(way.version) : layHome(way.version)
    let before = try content(way.name, schema)
    let older = Schema(
      applicationID: schema.applicationID, steps: Array(schema.steps.prefix(way.version)))
    let connection = try SQLiteConnection(
      path: directory.path(way.name), role: .writer, schema: older)
    // The cache is so small that pages reach the log before the commit.
    try connection.execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE;")
    for step in schema.steps.dropFirst(way.version) { try connection.execute(step) }
    let crashed = try directory.crashed()
    connection.close()
    let found = try SQLiteConnection(
      path: crashed.path(way.name), role: .reader, schema: schema)
    #expect(try found.firstInteger(of: "PRAGMA user_version") == Int64(way.version))
    found.close()
    #expect(try content(way.name, schema) == before)
    let again = try SQLiteConnection(
      path: crashed.path(way.name), role: .writer, schema: schema)
    #expect(try again.firstInteger(of: "PRAGMA user_version") == Int64(schema.version))
    again.close()
  }

  // MARK: helpers

  private func rows(
    _ connection: SQLiteConnection, _ sql: String
  ) throws -> [(UInt64, UInt64, [UInt8])] {
    try connection.prepare(sql).all { ($0.bits(0), $0.bits(1), $0.bytes(2)) }
  }

  /// Returns the tables, and the number of rows in each.
  private func content(_ name: String, _ schema: Schema) throws -> [String] {
    let connection = try SQLiteConnection(
      path: directory.path(name), role: .reader, schema: schema)
    defer { connection.close() }
    let tables = try connection.prepare(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    ).all { ($0.text(0), $0.text(1)) }
    return try tables.map { name, sql in
      "\(sql): \(try connection.firstInteger(of: "SELECT count(*) FROM \(name)"))"
    }
  }
}
