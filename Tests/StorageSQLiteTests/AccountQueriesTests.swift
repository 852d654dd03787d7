import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// `AccountQueries` and `WakeQueries` parse texts that are invalid only in a damaged file.
struct AccountQueriesTests {
  private let account = AccountID(rawValue: 1)
  private let signIn = ReadRequest.authenticate(tokenHash: [UInt8](repeating: 1, count: 32))

  @Test func aPlanOrSubscriptionThatIsNoneIsDamage() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit([TestRequests.create(account)], wall: 0)
    try store.connection.execute("UPDATE accounts SET plan = 'all of it'")
    expectCorrupt(store, signIn)
    expectCorrupt(store, .account(account))
    try store.connection.execute("UPDATE accounts SET plan = NULL")
    try store.connection.execute("INSERT INTO subscriptions VALUES (1, 1, 's', 'every change')")
    expectCorrupt(store, signIn)
    try store.connection.execute(#"UPDATE subscriptions SET content = '{"kind":"database"}'"#)
    guard case .principal(let principal) = try store.read(signIn) else {
      Issue.record("not signed in")
      return
    }
    #expect(principal.subscriptions.map(\.kind) == [.database])
  }

  @Test func registrationsForWakesThatAreNoneAreDamage() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.putWake(in: account)], wall: 0)
    try store.connection.execute("UPDATE wakes SET content = 'at once'")
    expectCorrupt(store, .wakes(account, DeviceID(rawValue: 1)))
    expectCorrupt(store, .sleepers(.after(nil, limit: 1)))
  }

  private func expectCorrupt(
    _ store: SQLiteZoneStore, _ request: ReadRequest,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StorageError.self, sourceLocation: sourceLocation) {
      try store.read(request)
    }
    guard case .corrupt = error else {
      Issue.record("reported as \(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
  }
}
