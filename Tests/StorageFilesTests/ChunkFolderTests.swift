import Foundation
import LockstepCrypto
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct ChunkFolderTests {
  private let file = ChunkFile(account: AccountID(rawValue: 0xA), number: 0x17)
  private let bytes = Array("a chunk of a file".utf8)
  private let directory: TemporaryFolder

  init() throws { directory = try TemporaryFolder() }

  /// Makes a store that contains the chunk.
  private func makeStore() throws -> ChunkFolder {
    let hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
    let store = try FileChunkStore(directory: directory.path("chunks"))
    _ = try store.perform(.append(file, bytes))
    #expect(try store.perform(.finish(file, expecting: hash)) == .done)
    return try ChunkFolder(directory: directory.path("chunks"))
  }

  private func isSameFile(_ one: String, _ other: String) throws -> Bool {
    func number(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: directory.path(name))[.systemFileNumber]
        as? Int
    }
    return try number(one) == number(other)
  }

  @Test func aChunkIsTakenAsASecondNameOfItsFile() throws {
    let store = try makeStore()
    let backup = try ChunkFolder(directory: directory.path("backup"))
    #expect(try backup.copyFile(file, from: store, earlier: nil) == .linked)
    #expect(try backup.copyFile(file, from: store, earlier: nil) == .exists)
    try backup.sync()
    #expect(try backup.files() == [file])
    let name = "000000000000000a/0000000000000017"
    #expect(try isSameFile("chunks/" + name, "backup/" + name))
    // A file that the store removes stays in the backup.
    try store.remove(file)
    #expect(try store.files().isEmpty)
    #expect(try directory.bytes("backup/" + name) == bytes)
    let other = ChunkFile(account: file.account, number: 1)
    #expect(try backup.copyFile(other, from: store, earlier: nil) == .missing)
  }

  @Test func defectsOfAChunkAreReported() throws {
    let store = try makeStore()
    let hash = try #require(ChunkHash(bytes: SHA256.hash(bytes)))
    #expect(try store.state(of: file, bytes: bytes.count, hash: hash) == .whole)
    #expect(try store.state(of: file, bytes: bytes.count, hash: nil) == .whole)
    let other = ChunkFile(account: AccountID(rawValue: 0xB), number: 0x17)
    #expect(try store.state(of: other, bytes: bytes.count, hash: hash) == .missing)
    let name = "chunks/000000000000000a/0000000000000017"
    try directory.write(bytes.dropLast() + [0], to: name)
    #expect(
      try store.state(of: file, bytes: bytes.count, hash: hash)
        == .damaged("has other bytes than its hash says"))
    #expect(try store.state(of: file, bytes: bytes.count, hash: nil) == .whole, "not read")
    try directory.write(bytes + [0, 0, 0], to: name)
    #expect(
      try store.state(of: file, bytes: bytes.count, hash: nil)
        == .damaged("has 20 bytes and not 17"))
    #expect(try store.state(of: file, bytes: bytes.count, hash: hash) != .whole)
  }

  @Test func filesThatAreNotChunksAreSkipped() throws {
    let store = try makeStore()
    try directory.write("x", to: "chunks/incoming/x")
    try directory.write("x", to: "chunks/000000000000000a/x")
    #expect(try store.files() == [file])
    #expect(try ChunkFolder.existing(in: directory.path("none")) == nil)
    #expect(!directory.has("none"))
  }
}
