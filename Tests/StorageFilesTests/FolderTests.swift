import Foundation
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct FolderTests {
  @Test func entriesAreMadeMovedAndRemoved() throws {
    let directory = try TemporaryFolder()
    let folder = try Folder(at: directory.path("f"))
    #expect(try folder.names() == [])
    #expect(try folder.folder("a") === nil)
    let (first, second) = (try folder.makeFolder("a"), try folder.makeFolder("b"))
    #expect(try folder.makeFolder("a").path == directory.path("f/a"))
    try first.makeFile("x").append([1, 2])
    #expect(throws: StorageError.self) { try first.makeFile("x") }
    #expect(try first.hasFile("x"))
    try first.move("x", to: second, as: "y")
    #expect(try !first.hasFile("x"))
    #expect(try second.file("y")?.read(at: 0, count: 9) == [1, 2])
    #expect(try second.file("x") === nil)
    #expect(try second.names() == ["y"])
    #expect(throws: StorageError.self) { try folder.removeFolder("b") }
    for _ in 0..<2 {
      try second.removeFile("y")
      try folder.removeFolder("b")
    }
    #expect(try folder.names() == ["a"])
  }

  /// Something else than a file, in the place of one, is no file. A pipe does not make the reader
  /// wait.
  @Test func pipesLinksAndFoldersAreNoFiles() throws {
    let directory = try TemporaryFolder()
    let folder = try Folder(at: directory.path("f"))
    try folder.makeFile("whole").append([1])
    #expect(mkfifo(directory.path("f/pipe"), 0o600) == 0)
    #expect(symlink("whole", directory.path("f/link")) == 0)
    #expect(symlink("nothing", directory.path("f/dangling")) == 0)
    #expect(mkdir(directory.path("f/folder"), 0o700) == 0)
    for name in ["pipe", "link", "dangling", "folder"] {
      #expect(try !folder.hasFile(name))
      #expect(try folder.file(name) === nil)
      try folder.removeFile(name)
    }
    #expect(try folder.names() == ["whole"])
  }

  /// Replacing the path of an open folder changes nothing in the folder.
  @Test func itStaysTheFolderThatWasOpened() throws {
    let directory = try TemporaryFolder()
    let folder = try Folder(at: directory.path("f"))
    let aside = directory.path("aside")
    try FileManager.default.moveItem(atPath: directory.path("f"), toPath: aside)
    _ = try folder.makeFile("x")
    #expect(try directory.contents() == ["aside", "aside/x"])
  }
}
