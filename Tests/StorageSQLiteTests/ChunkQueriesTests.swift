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

  /// Otherwise a device that knows a file's hash learns by the time of the answer if the account
  /// has the file in a zone that is not the device's. A damaged list shows that the lists are read.
  @Test func aChunkOfOtherZonesTakesTheSameReadsAsOneThatNobodyHas() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: directory.path)
    let account = AccountID(rawValue: 1)
    let hashes = try [1, 2].map { byte in
      try #require(ChunkHash(bytes: [UInt8](repeating: byte, count: 32)))
    }
    _ = try store.commit(
      [
        TestRequests.create(account), TestRequests.save("r", in: account),
        .addChunk(account, hashes[0], ChunkFile(account: account, number: 9), bytes: 5),
      ], wall: 0)
    func read(_ hash: ChunkHash) throws -> ReadResult {
      try store.read(.namedChunks(account, [hash], zones: [Name(trusted: "Z")]))
    }
    for hash in hashes { #expect(try read(hash) == .namedChunks([nil])) }
    try store.connection.execute("UPDATE records SET chunks = zeroblob(63)")
    for hash in hashes { #expect(throws: StorageError.self) { try read(hash) } }
  }
}
