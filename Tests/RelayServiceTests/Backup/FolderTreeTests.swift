import Foundation
import Glibc
import LockstepCommandLine
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct FolderTreeTests {
  @Test func allOfItGoesAndNothingBehindALink() throws {
    let folder = try TemporaryFolder()
    try FolderTree.make(folder.path("tree"))
    try FolderTree.make(folder.path("tree/inner"))
    try FolderTree.makeFile(folder.path("tree/inner/file")).write([1])
    try folder.write("mine", to: "kept")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path("tree/link"), withDestinationPath: folder.path)
    #expect(FolderTree.exists(folder.path("tree/link")))
    try FolderTree.changeOwner(folder.path("tree"), to: status(of: folder.path))
    try FolderTree.sync(folder.path("tree"))
    try FolderTree.remove(folder.path("tree"))
    #expect(try folder.contents() == ["kept"])
    try FolderTree.remove(folder.path("tree"))
  }

  @Test func whatIsThereIsNotReplaced() throws {
    let folder = try TemporaryFolder()
    try FolderTree.makeFile(folder.path("a")).write([1])
    #expect(try folder.rights("a") == 0o600)
    #expect(throws: CommandFailure.self) { try FolderTree.makeFile(folder.path("a")) }
    #expect(throws: CommandFailure.self) { try FolderTree.make(folder.path("a")) }
    try FolderTree.move(folder.path("a"), to: folder.path("b"))
    #expect(try FolderTree.openFile(folder.path("b")).read(9) == [1])
    #expect(throws: CommandFailure.self) { try FolderTree.openFile(folder.path("a")) }
    #expect(throws: CommandFailure.self) {
      try FolderTree.move(folder.path("a"), to: folder.path("c"))
    }
  }

  private func status(of path: String) -> stat {
    var status = stat()
    #expect(stat(path, &status) == 0)
    return status
  }
}
