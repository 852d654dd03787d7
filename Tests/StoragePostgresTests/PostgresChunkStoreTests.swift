import LockstepCrypto
import LockstepModel
import LockstepStorage
import StorageContract
import Testing

@testable import LockstepStoragePostgres

@Suite(.enabled(if: TestDatabase.isThere, TestDatabase.need))
struct PostgresChunkStoreTests {
  private let file = ChunkFile(account: AccountID(rawValue: 0xA), number: 0x17)

  private func hash(_ bytes: [UInt8]) throws -> ChunkHash {
    try #require(ChunkHash(bytes: SHA256.hash(bytes)))
  }

  private func open(_ database: TestDatabase) throws -> PostgresChunkStore {
    _ = try database.store()
    return try PostgresChunkStore(database.address, strayMilliseconds: 0)
  }

  @Test(arguments: ChunkStory.all) func holds(_ story: ChunkStory) throws {
    let database = try TestDatabase()
    let scene = ChunkScene(try open(database)) { store in
      (store as? PostgresChunkStore)?.close()
      return try open(database)
    }
    try story.tell(scene)
  }

  @Test func openingLeavesTheUploadsOfOtherRelays() throws {
    let database = try TestDatabase()
    let first = try open(database)
    let bytes = [UInt8](repeating: 7, count: 300_000)
    #expect(try first.perform(.append(file, bytes)) == .done)
    let second = try open(database)
    let other = ChunkFile(account: file.account, number: 0x18)
    #expect(try second.perform(.append(other, [1])) == .done)
    #expect(try first.perform(.finish(file, expecting: hash(bytes))) == .done)
    #expect(try second.perform(.read(file, offset: 0, count: 300_000)) == .bytes(bytes))
    // Both stores know the file, and neither may write it again.
    #expect(
      try second.perform(.append(file, [2])) == .refused(StoreRefusals.taken))
    second.close()
    let third = try open(database)
    #expect(try third.perform(.list(after: nil, limit: 9)) == .files([file]))
    #expect(try database.number("SELECT count(*) FROM \(database.schema).files") == 1)
  }

  @Test func aFileOfLateIsNotTakenForAStray() throws {
    let database = try TestDatabase()
    let store = try open(database)
    #expect(try store.perform(.append(file, [1])) == .done)
    #expect(try store.perform(.finish(file, expecting: hash([1]))) == .done)
    let later = try PostgresChunkStore(database.address)
    #expect(try later.perform(.list(after: nil, limit: 9)) == .files([]))
  }

  @Test(arguments: [0, 1, 131_071, 131_072, 131_073, 400_000]) func anyRangeIsRead(
    size: Int
  ) throws {
    let database = try TestDatabase()
    let store = try open(database)
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) }
    for start in stride(from: 0, through: size, by: 50_000) {
      let some = Array(bytes.dropFirst(start).prefix(50_000))
      #expect(try store.perform(.append(file, some)) == .done)
    }
    #expect(try store.perform(.finish(file, expecting: hash(bytes))) == .done)
    for (offset, count) in [
      (0, size), (0, 1), (131_071, 2), (131_072, 131_072), (size - 1, 9), (size, 9), (100, 0),
      (131_000, 200_000),
    ] where offset >= 0 {
      let told = try store.perform(.read(file, offset: offset, count: count))
      #expect(told == .bytes(Array(bytes.dropFirst(offset).prefix(count))))
    }
  }

  @Test func aLostConnectionLosesTheUploadAndTheStoreContinues() throws {
    let database = try TestDatabase()
    let store = try open(database)
    #expect(try store.perform(.append(file, [1])) == .done)
    try database.endSessions()
    #expect(throws: StorageError.self) {
      try store.perform(.finish(file, expecting: hash([1])))
    }
    let other = ChunkFile(account: file.account, number: 0x18)
    #expect(try store.perform(.append(other, [2])) == .done)
    #expect(try store.perform(.finish(other, expecting: hash([2]))) == .done)
    store.close()
    _ = try open(database)
    #expect(try database.number("SELECT count(*) FROM \(database.schema).files") == 1)
  }
}
