import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct DatabaseFindingsTests {
  @Test func aDatabaseBeforeItsFirstRelayAndAfter() throws {
    let database = try TestDatabase(isNew: true)
    #expect(try DatabaseFindings(database.address).accounts == nil)
    #expect(try database.tables.isEmpty, "a look makes nothing")
    let store = try database.store()
    _ = try store.commit([TestRequests.create(AccountID(rawValue: 1))], wall: 0)
    let found = try DatabaseFindings(database.address)
    #expect(found.accounts == 1 && !found.isOlderCopy)
    #expect(found.server.split(separator: ".").first.flatMap { Int($0) } ?? 0 >= 13)
    #expect((0..<found.connections).contains(found.freeConnections))
    let synced = try database.run("SELECT current_setting('fsync') = 'on'").first { $0.bool(0) }
    #expect(found.lossy.contains("fsync") == (synced == false))
  }

  @Test func anotherCopyIsSeenAndLeftToTheNextRelay() throws {
    let database = try TestDatabase(isNew: true)
    try database.store().close()
    try database.run("UPDATE \(database.schema).opening SET timeline = timeline + 1")
    for _ in 0..<2 { #expect(try DatabaseFindings(database.address).isOlderCopy) }
    #expect(try database.store().wasRestored)
  }

  @Test func tablesThatAreTooNewAreAFault() throws {
    let database = try TestDatabase(isNew: true)
    try database.store().close()
    let known = Schema.zones.version
    try database.run("UPDATE \(database.schema).schema_version SET oldest = \(known + 1)")
    #expect(throws: StorageError.self) { try DatabaseFindings(database.address) }
  }
}
