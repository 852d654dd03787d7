import Glibc
import LockstepCrypto
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct FreshFileTests {
  @Test func itHasTheRightsItIsGiven() throws {
    let folder = try TemporaryFolder()
    let file = try FreshFile(folder.path("new"))
    try file.add(Array("hello ".utf8))
    try file.add(Array("there".utf8))
    #expect(try folder.rights("new") == 0o600)
    let rights = FileInfo.FileRights(mode: 0o640, owner: getuid(), group: getgid())
    let hash = try file.finish(rights)
    #expect(hash == ChunkHash(bytes: SHA256.hash(Array("hello there".utf8))))
    #expect(file.bytes == 11)
    #expect(try folder.rights("new") == 0o640)
    #expect(try !FileContent(folder.path("new")).hasWriters)
  }

  /// Content from other devices must not run with the rights of the file's owner.
  @Test(arguments: [0o4755, 0o2750, 0o6711, 0o1644] as [UInt32])
  func itRunsWithNobodysRights(mode: UInt32) throws {
    let folder = try TemporaryFolder()
    let file = try FreshFile(folder.path("new"))
    _ = try file.finish(FileInfo.FileRights(mode: mode, owner: getuid(), group: getgid()))
    var status = stat()
    try #require(stat(folder.path("new"), &status) == 0)
    #expect(status.st_mode & 0o7777 == mode & 0o777)
  }

  @Test func itIsGoneWithItsOwnerUnlessItIsFinished() throws {
    let folder = try TemporaryFolder()
    do {
      let file = try FreshFile(folder.path("new"))
      try file.add([1])
      #expect(try folder.contents() == ["new"])
    }
    #expect(try folder.contents() == [])
    do { _ = try FreshFile(folder.path("new")).finish(.new) }
    #expect(try folder.contents() == ["new"])
  }

  @Test func whatAKilledProcessLeftIsWrittenAnew() throws {
    let folder = try TemporaryFolder()
    try folder.write("half of it", to: "new")
    let file = try FreshFile(folder.path("new"))
    _ = try file.finish(.new)
    #expect(try folder.bytes("new") == [])
  }

  @Test func aFolderThatIsNotThereIsAProblem() throws {
    let folder = try TemporaryFolder()
    #expect {
      _ = try FreshFile(folder.path("none/new"))
    } throws: { error in
      if case .problem = error as? VaultFault { true } else { false }
    }
  }
}
