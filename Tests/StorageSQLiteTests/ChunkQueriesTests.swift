import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct ChunkQueriesTests {
  /// Only a damaged file has a list of chunks that ends within a hash.
  @Test func aListThatIsCutOffIsDamage() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    let account = AccountID(rawValue: 1)
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("r", in: account)], wall: 0)
    let requests: [ReadRequest] = [
      .changes(account, since: nil, zones: .all, limit: 1),
      .record(account, RecordKey(zone: Name(trusted: "Z"), name: Name(trusted: "r"))),
    ]
    try store.connection.execute("UPDATE records SET chunks = zeroblob(64)")
    for request in requests { _ = try store.read(request) }
    try store.connection.execute("UPDATE records SET chunks = zeroblob(63)")
    for request in requests {
      let error = #expect(throws: StorageError.self) { try store.read(request) }
      guard case .corrupt = error else {
        Issue.record("reported as \(String(describing: error))")
        continue
      }
    }
  }
}
