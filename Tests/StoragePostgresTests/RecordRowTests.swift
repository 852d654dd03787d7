import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepStoragePostgres

struct RecordRowTests {
  @Test func theOrderOfABigintIsTheOrderOfAFile() {
    let account = AccountID(rawValue: 1)
    let files = ([0, 1, 1 << 62, 1 << 63, .max] as [UInt64]).map {
      ChunkFile(account: account, number: $0)
    }
    #expect(files.map(\.columnValue) == files.map(\.columnValue).sorted())
    #expect(files.map { ChunkFile(account: account, columnValue: $0.columnValue) } == files)
  }

  @Test func noChunksAreNoBytes() throws {
    #expect(RecordRow.column(of: [ChunkHash]()) == nil)
    #expect(RecordRow.column(of: [VersionFingerprint]()) == nil)
    let hash = try #require(ChunkHash(bytes: [UInt8](repeating: 7, count: 32)))
    #expect(RecordRow.column(of: [hash, hash])?.count == 64)
  }

  @Test(
    .enabled(if: TestDatabase.isThere, TestDatabase.need),
    arguments: [
      "UPDATE records SET chunks = '\\x0102'", "UPDATE records SET name = 'a' || chr(7)",
      "UPDATE records SET type = ''",
    ]) func aRowThatIsNoRecordIsDamage(sql: String) throws
  {
    let database = try TestDatabase()
    let store = try database.store()
    let account = AccountID(rawValue: 1)
    _ = try store.commit(
      [TestRequests.create(account), TestRequests.save("a", in: account)], wall: 0)
    try database.runHere(sql)
    let error = #expect(throws: StorageError.self) {
      try TestRequests.names(account, in: store)
    }
    guard case .corrupt = error else {
      Issue.record("reported as \(String(describing: error))")
      return
    }
  }
}
