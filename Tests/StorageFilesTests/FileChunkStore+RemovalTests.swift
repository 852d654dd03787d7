import Foundation
import LockstepCrypto
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct FileChunkStoreRemovalTests {
  @Test func aStoreIsRemovedWithAllItsChunks() throws {
    let directory = try TemporaryFolder()
    let file = ChunkFile(account: AccountID(rawValue: 0xA), number: 1)
    let other = ChunkFile(account: AccountID(rawValue: 0xB), number: 2)
    do {
      let store = try FileChunkStore(directory: directory.path("chunks"))
      _ = try store.perform(.append(file, [1]))
      let hash = try #require(ChunkHash(bytes: SHA256.hash([1])))
      #expect(try store.perform(.finish(file, expecting: hash)) == .done)
      _ = try store.perform(.append(other, [2]))
    }
    try FileChunkStore.remove(directory: directory.path("chunks"))
    #expect(try directory.contents() == [])
    #expect(throws: Never.self) { try FileChunkStore.remove(directory: directory.path("chunks")) }
  }

  @Test func filesOfOthersStay() throws {
    let directory = try TemporaryFolder()
    _ = try FileChunkStore(directory: directory.path("chunks"))
    let notes = directory.path("chunks/notes.txt")
    #expect(FileManager.default.createFile(atPath: notes, contents: Data([1])))
    try FileChunkStore.remove(directory: directory.path("chunks"))
    #expect(try directory.contents() == ["chunks", "chunks/notes.txt"])
  }
}
