import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import TemporaryFolders
import Testing

@testable import Lockstep

struct HomeFolderTests {
  @Test func oneHoldsAHomeAtATime() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path + "/phone")
    let lock = try #require(try home.lock())
    #expect(try home.lock() == nil)
    lock.release()
    #expect(try home.lock() != nil)
  }

  @Test func aHomeIsThereOnceItHasAReplica() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    #expect(!home.exists)
    _ = try home.lock()
    #expect(!home.exists)
    try folder.write("", to: "replica.sqlite")
    #expect(home.exists)
  }

  @Test func aFolderThatCannotBeMadeIsNamed() throws {
    let folder = try TemporaryFolder()
    try folder.write("", to: "file")
    #expect {
      _ = try HomeFolder(path: folder.path + "/file/phone").lock()
    } throws: { error in
      (error as? HomeFault)?.reason.contains("/file/phone") == true
    }
  }

  @Test func removedDataLeavesWhatIsNotItsOwn() throws {
    let folder = try TemporaryFolder()
    let files = try FileChunkStore(directory: HomeFolder(path: folder.path).chunks)
    let file = ChunkFile(account: AccountID(rawValue: 1), number: 2)
    _ = try files.perform(.append(file, []))
    for name in [
      "replica.sqlite", "replica.sqlite-wal", "agent.sock", "vault.key.new", "notes.txt",
    ] {
      try folder.write("x", to: name)
    }
    try HomeFolder(path: folder.path).removeData()
    #expect(!folder.has("replica.sqlite") && !folder.has("replica.sqlite-wal"))
    #expect(!folder.has("agent.sock") && !folder.has("chunks"))
    #expect(!folder.has("vault.key.new"))
    #expect(folder.has("notes.txt"))
    #expect(throws: Never.self) { try HomeFolder(path: folder.path).removeData() }
  }
}
