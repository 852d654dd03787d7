import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct StoreOpeningTests {
  private let account = AccountID(rawValue: 1)

  private func token(_ store: some ZoneReader) throws -> ChangeToken {
    guard case .token(let token) = try store.read(.newestToken(account)) else {
      throw StorageError.failed(path: "", operation: "read a token", detail: "there is none")
    }
    return token
  }

  private func settled() throws -> (TestDatabase, PostgresZoneStore) {
    let database = try TestDatabase()
    let store = try database.store()
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("a", in: account)], wall: 0)
    return (database, store)
  }

  @Test func aDatabaseThatStaysWhereItIsStaysAsItIs() throws {
    let (database, store) = try settled()
    #expect(!store.wasRestored)
    let before = try token(store)
    #expect(try !database.store().wasRestored)
    #expect(try token(store) == before)
  }

  @Test(arguments: ["system_identifier", "timeline", "accounts_table"])
  func anotherPlaceBeginsGenerationsOnce(column: String) throws {
    let (database, store) = try settled()
    let before = try token(store)
    try database.run("UPDATE \(database.schema).opening SET \(column) = \(column) + 1")
    let first = try database.store()
    #expect(first.wasRestored)
    let after = try token(first)
    #expect(after.generation != before.generation && after.sequence > before.sequence)
    // The first store that detects it begins the generations, for all.
    #expect(try !database.store().wasRestored)
    #expect(try token(store) == after)
    guard
      case .page(let page) = try store.read(
        .changes(account, since: before, zones: .all, limit: 9))
    else {
      Issue.record("the old token is not good any more")
      return
    }
    #expect(page.changes.isEmpty && page.token == after)
  }

  @Test(.disabled(if: TestDatabase.isPooled, TestDatabase.needsSessions))
  func aFailoverIsDetectedOnReconnect() throws {
    let (database, store) = try settled()
    let before = try token(store)
    try database.run("UPDATE \(database.schema).opening SET timeline = timeline + 1")
    #expect(try token(store) == before)
    try database.endSessions()
    #expect(try token(store).generation != before.generation)
  }

  @Test func identifiersHiddenByTheServerAreNotCompared() throws {
    let (database, _) = try settled()
    try database.run("UPDATE \(database.schema).opening SET system_identifier = 0, timeline = 0")
    #expect(try !database.store().wasRestored)
    let known = StoreOpening.ClusterIdentity(system: 1, timeline: 2, table: 3)
    #expect(known.agrees(with: StoreOpening.ClusterIdentity(system: 0, timeline: 2, table: 3)))
    #expect(!known.agrees(with: StoreOpening.ClusterIdentity(system: 0, timeline: 3, table: 3)))
    let unknown = StoreOpening.ClusterIdentity(system: 0, timeline: 5, table: 0)
    #expect(
      unknown.completed(from: known)
        == StoreOpening.ClusterIdentity(system: 1, timeline: 5, table: 3))
  }

  @Test func theOwnerMayDeclareIt() throws {
    let (database, store) = try settled()
    let before = try token(store)
    #expect(try database.store(declareRestored: true).wasRestored)
    #expect(try token(store).generation != before.generation)
  }

  @Test func codesOfAnOlderCopyAdmitNobody() throws {
    let (database, store) = try settled()
    let schema = database.schema
    try database.run(
      """
      INSERT INTO \(schema).pairings (account, code_hash, expires_at)
      SELECT account, '\\x07'::bytea, 9000000000000 FROM \(schema).accounts LIMIT 1
      """)
    #expect(try database.number("SELECT count(*) FROM \(schema).pairings") == 1)
    #expect(try database.store(declareRestored: true).wasRestored)
    #expect(try database.number("SELECT count(*) FROM \(schema).pairings") == 0)
    store.close()
  }

  @Test func accountsBeginTheirGenerationsInPortions() throws {
    let database = try TestDatabase()
    let store = try database.store()
    let schema = database.schema
    try database.run(
      """
      INSERT INTO \(schema).accounts (account, generation, made_at, label)
      SELECT number - 1200, 7, 0, '' FROM generate_series(1, 2400) AS number
      """)
    #expect(try database.store(declareRestored: true).wasRestored)
    let ended = "SELECT count(*) FROM \(schema).lineage WHERE ended_at = 0"
    #expect(try database.number(ended) == 2_400)
    #expect(
      try database.number("SELECT count(DISTINCT generation) FROM \(schema).accounts") > 2_390)
    store.close()
  }
}
