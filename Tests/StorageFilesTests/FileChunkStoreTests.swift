import Foundation
import LockstepCrypto
import LockstepModel
import LockstepStorage
import StorageContract
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct FileChunkStoreTests {
  private let file = ChunkFile(account: AccountID(rawValue: 0xA), number: 0x17)
  private let incoming = "chunks/incoming/000000000000000a-0000000000000017"
  private let whole = "chunks/000000000000000a/0000000000000017"
  private let bytes = Array("hello".utf8)

  private func hash(_ bytes: [UInt8]) throws -> ChunkHash {
    try #require(ChunkHash(bytes: SHA256.hash(bytes)))
  }

  private func open(_ directory: TemporaryFolder) throws -> FileChunkStore {
    try FileChunkStore(directory: directory.path("chunks"))
  }

  @Test(arguments: ChunkStory.all) func holds(_ story: ChunkStory) throws {
    let directory = try TemporaryFolder()
    // The old store is still open, so its files are as after a crash.
    let scene = ChunkScene(try open(directory)) { _ in try open(directory) }
    try story.tell(scene)
  }

  @Test func aFileIsCompleteAndAccessibleToItsOwnerOnly() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    #expect(try store.perform(.append(file, bytes)) == .done)
    #expect(try directory.contents() == ["chunks", "chunks/incoming", incoming])
    #expect(try directory.rights(incoming) == 0o600)
    #expect(try store.perform(.finish(file, expecting: hash(bytes))) == .done)
    #expect(
      try directory.contents() == ["chunks", "chunks/000000000000000a", whole, "chunks/incoming"])
    #expect(try directory.rights(whole) == 0o600)
    for folder in ["chunks", "chunks/incoming", "chunks/000000000000000a"] {
      #expect(try directory.rights(folder) == 0o700)
    }
    #expect(FileManager.default.contents(atPath: directory.path(whole)) == Data(bytes))
  }

  @Test func refusedBytesLeaveNoFile() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    #expect(try store.perform(.append(file, bytes)) == .done)
    _ = try store.perform(.finish(file, expecting: hash([])))
    #expect(try store.perform(.append(file, bytes)) == .done)
    _ = try store.perform(.append(file, [UInt8](repeating: 0, count: Limits.chunkBytes)))
    #expect(try store.perform(.append(file, bytes)) == .done)
    #expect(try store.perform(.removeAll(of: file.account)) == .done)
    #expect(try directory.contents() == ["chunks", "chunks/incoming"])
  }

  @Test func anAccountsFolderIsRemovedWithTheAccount() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    #expect(try store.perform(.append(file, bytes)) == .done)
    #expect(try store.perform(.finish(file, expecting: hash(bytes))) == .done)
    #expect(try store.perform(.removeAll(of: file.account)) == .done)
    #expect(try directory.contents() == ["chunks", "chunks/incoming"])
  }

  @Test func unfinishedFilesOfACrashAreRemovedAtOpening() throws {
    let directory = try TemporaryFolder()
    do {
      let store = try open(directory)
      #expect(try store.perform(.append(file, bytes)) == .done)
    }
    #expect(try directory.contents().contains(incoming))
    let store = try open(directory)
    #expect(try directory.contents() == ["chunks", "chunks/incoming"])
    #expect(try store.perform(.list(after: nil, limit: 1)) == .files([]))
  }

  @Test func filesOfOthersAreNotListed() throws {
    let directory = try TemporaryFolder()
    _ = try open(directory)
    for path in ["000000000000000a/notes.txt", "lost+found/x", "000000000000000B/0000000000000001"]
    {
      let url = URL(fileURLWithPath: directory.path("chunks/" + path))
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data([1]).write(to: url)
    }
    #expect(try open(directory).perform(.list(after: nil, limit: 9)) == .files([]))
  }

  @Test func aLinkIsNotFollowed() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    let outside = directory.path("outside")
    try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
    try Data(bytes).write(to: URL(fileURLWithPath: outside + "/0000000000000017"))
    let link = directory.path("chunks/000000000000000a")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: outside)
    #expect(throws: StorageError.self) { try store.perform(.read(file, offset: 0, count: 9)) }
    #expect(throws: StorageError.self) { try store.perform(.append(file, bytes)) }
    try FileManager.default.removeItem(atPath: link)
    try FileManager.default.createDirectory(atPath: link, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: link + "/0000000000000017", withDestinationPath: outside + "/0000000000000017")
    // A link in the place of the chunk's file is a missing file.
    let answer = try store.perform(.read(file, offset: 0, count: 9))
    #expect(answer == .refused(StoreRefusals.unknownChunk))
  }

  @Test func aPathThatIsNotAFolderIsReported() throws {
    let directory = try TemporaryFolder()
    try Data().write(to: URL(fileURLWithPath: directory.path("chunks")))
    let fault = StorageError.failed(
      path: directory.path("chunks"), operation: "open the folder", detail: "Not a directory")
    #expect(throws: fault) { try open(directory) }
    let missing = directory.path("none/chunks")
    #expect(
      throws: StorageError.failed(
        path: missing, operation: "create the folder", detail: "No such file or directory")
    ) { try FileChunkStore(directory: missing) }
  }

  /// A read ends where the file ends on the disk, also if a fault of the disk has shortened it.
  @Test func aTruncatedFileIsReadUpToItsEnd() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    #expect(try store.perform(.append(file, bytes)) == .done)
    #expect(try store.perform(.finish(file, expecting: hash(bytes))) == .done)
    #expect(truncate(directory.path(whole), 2) == 0)
    #expect(try store.perform(.read(file, offset: 0, count: 5)) == .bytes([104, 101]))
    #expect(try store.perform(.read(file, offset: 3, count: 5)) == .bytes([]))
  }

  /// Removes the folder of unfinished files, which is the closest a test comes to a failing disk.
  @Test func aFileThatCannotBeFinishedIsRemovedAndTheStoreContinues() throws {
    let directory = try TemporaryFolder()
    let store = try open(directory)
    #expect(try store.perform(.append(file, bytes)) == .done)
    try FileManager.default.removeItem(atPath: directory.path(incoming))
    #expect(throws: StorageError.self) { try store.perform(.finish(file, expecting: hash(bytes))) }
    #expect(try store.perform(.append(file, bytes)) == .done)
    #expect(try store.perform(.finish(file, expecting: hash(bytes))) == .done)
    #expect(try store.perform(.read(file, offset: 0, count: 9)) == .bytes(bytes))
  }
}
