import Glibc
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct FileInfoTests {
  @Test func whatStandsThereIsTold() throws {
    let folder = try TemporaryFolder()
    #expect(FileInfo(folder.path("none")) == .absent)
    #expect(FileInfo(folder.path("none/deeper")) == .absent)
    guard case .folder(let mark) = FileInfo(folder.path) else {
      Issue.record("a folder is not told")
      return
    }
    #expect(FolderMark(mark.json) == mark)
    try folder.write("hello", to: "a")
    #expect(chmod(folder.path("a"), 0o640) == 0)
    guard case .file(let signature, let rights) = FileInfo(folder.path("a")) else {
      Issue.record("a file is not told")
      return
    }
    #expect(signature.bytes == 5 && rights.mode == 0o640 && rights.owner == getuid())
    #expect(FileSignature(signature.json) == signature)
    #expect(symlink(folder.path("a"), folder.path("link")) == 0)
    guard case .unsupported = FileInfo(folder.path("link")) else {
      Issue.record("a link is taken for a file")
      return
    }
  }

  @Test func aFileThatIsWrittenHasAnotherSignature() throws {
    let folder = try TemporaryFolder()
    try folder.write("hello", to: "a")
    let before = FileInfo(folder.path("a"))
    try folder.write("hello!", to: "a")
    #expect(FileInfo(folder.path("a")) != before)
  }

  @Test func brokenJSONIsNoSignature() {
    #expect(FileSignature([1, 2, 3, 4]) == nil)
    #expect(FileSignature(["1", 2, 3, 4, 5]) == nil)
    #expect(FileSignature(nil) == nil)
    #expect(FolderMark([1]) == nil)
  }

  @Test func pathsAreParted() throws {
    #expect(FilePath.folder(of: "/a/b") == "/a" && FilePath.name(of: "/a/b") == "b")
    #expect(FilePath.folder(of: "/a") == "/" && FilePath.name(of: "/a") == "a")
    #expect(FilePath.joined("/", "a") == "/a" && FilePath.joined("/a", "b") == "/a/b")
    let folder = try TemporaryFolder()
    let real = try #require(FilePath.real(folder.path))
    #expect(FilePath.absolute(folder.path + "/./none") == real + "/none")
    #expect(FilePath.absolute(folder.path + "/none/none") == nil)
  }
}
