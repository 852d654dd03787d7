import Glibc
import LockstepCrypto
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct FileContentTests {
  @Test func aFileIsReadToItsEnd() throws {
    let folder = try TemporaryFolder()
    let bytes = [UInt8](repeating: 7, count: 2 * FileContent.readBytes + 5)
    try folder.write(bytes, to: "a")
    var pauses = 0
    let (hash, signature) = try FileContent.hash(folder.path("a")) { pauses += 1 }
    #expect(hash == ChunkHash(bytes: SHA256.hash(bytes)))
    #expect(signature.bytes == Int64(bytes.count))
    #expect(pauses == 3)
  }

  @Test func aFileThatIsWrittenMeanwhileIsToldSo() throws {
    let folder = try TemporaryFolder()
    try folder.write("first", to: "a")
    #expect(throws: VaultFault.changed) {
      try FileContent.hash(folder.path("a")) { () throws(VaultFault) in
        let descriptor = open(folder.path("a"), O_WRONLY | O_APPEND)
        #expect(write(descriptor, "more", 4) == 4)
        close(descriptor)
      }
    }
  }

  @Test func whatIsNoFileIsNotRead() throws {
    let folder = try TemporaryFolder()
    #expect(throws: VaultFault.changed) { try FileContent.hash(folder.path("none")) }
    // The pipe has no writer, so a blocking reader would wait forever.
    #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
    #expect(throws: VaultFault.changed) { try FileContent.hash(folder.path("pipe")) }
    try folder.write("a", to: "a")
    #expect(symlink(folder.path("a"), folder.path("link")) == 0)
    #expect(throws: VaultFault.self) { try FileContent.hash(folder.path("link")) }
  }

  @Test func writersAreKnown() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", to: "a")
    #expect(try !FileContent(folder.path("a")).hasWriters)
    let reader = open(folder.path("a"), O_RDONLY)
    #expect(try !FileContent(folder.path("a")).hasWriters)
    let writer = open(folder.path("a"), O_WRONLY)
    #expect(try FileContent(folder.path("a")).hasWriters)
    close(writer)
    #expect(try !FileContent(folder.path("a")).hasWriters)
    close(reader)
  }
}
