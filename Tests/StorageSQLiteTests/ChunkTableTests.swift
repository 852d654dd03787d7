import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct ChunkTableTests {
  /// Most records have no chunks, and must cost nothing in queries about chunks.
  @Test func aRecordThatNamesNoChunkIsNotInTheIndexOfThoseThatDo() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    var record = Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "r"), type: Name(trusted: "T"),
      fields: Array("{}".utf8), modifiedAt: 1, device: DeviceID(rawValue: 2), tag: 3)
    func indexed() throws -> Int64 {
      try store.connection.firstInteger(
        of: "SELECT count(*) FROM records INDEXED BY records_with_pieces WHERE chunks IS NOT NULL")
    }
    try store.write([.putRecord(record)])
    #expect(try indexed() == 0)
    record.chunks = [1].compactMap { ChunkHash(bytes: .init(repeating: $0, count: 32)) }
    try store.write([.putRecord(record)])
    #expect(try indexed() == 1)
    #expect(try store.connection.firstInteger(of: "SELECT uses FROM piece_uses") == 1)
    try store.write([.putRecord(record), .removeRecord(record.key)])
    #expect(try store.connection.firstInteger(of: "SELECT count(*) FROM piece_uses") == 0)
  }

  @Test func aNameThatIsCutOffIsDamage() throws {
    let directory = try TemporaryFolder()
    let store = try SQLiteReplicaStore(home: directory.path)
    try store.connection.execute("INSERT INTO pieces VALUES (x'0102', 1, 2, NULL)")
    #expect(throws: StorageError.self) { try store.chunks(after: nil, limit: 9) }
  }
}
