import Glibc
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct FileSyncTests {
  @Test func filesAndFoldersAreFlushed() throws {
    let folder = try TemporaryFolder()
    let directory = open(folder.path, O_RDONLY | O_DIRECTORY)
    let file = open(folder.path("file"), O_WRONLY | O_CREAT, 0o600)
    defer {
      close(directory)
      close(file)
    }
    #expect(FileSync.flush(file))
    #expect(FileSync.flush(directory))
  }

  @Test func aFailureIsReported() {
    #expect(!FileSync.flush(-1))
    #expect(errno == EBADF)
  }
}
