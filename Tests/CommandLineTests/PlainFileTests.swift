import Glibc
import TemporaryFolders
import Testing

@testable import LockstepCommandLine

struct PlainFileTests {
  private func opened(_ path: String, _ flags: Int32) -> PlainFile {
    PlainFile(path: path, descriptor: open(path, flags | O_CLOEXEC, 0o600))
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("draft")
    let file = opened(path, O_WRONLY | O_CREAT)
    try file.write([1, 2])
    try file.write([3])
    #expect(try opened(path, O_RDONLY).contents(atMost: 3, "the draft") == [1, 2, 3])
    #expect(try opened(path, O_RDONLY).read(2) == [1, 2])
    #expect(throws: CommandFailure("the draft has over 2 bytes; nothing was changed")) {
      try opened(path, O_RDONLY).contents(atMost: 2, "the draft")
    }
  }

  @Test func aFaultNamesTheFile() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("draft")
    let file = opened(path, O_RDONLY | O_CREAT)
    #expect(throws: CommandFailure("\(path) cannot be written: Bad file descriptor")) {
      try file.write([1])
    }
  }
}
