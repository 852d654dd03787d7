import Foundation
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct DirectoryLockTests {
  @Test func oneHolderAtATime() throws {
    let directory = try TemporaryFolder()
    let first = try DirectoryLock(directory: directory.path)
    #expect(throws: StorageError.inUse(path: directory.path, by: "process \(getpid())")) {
      try DirectoryLock(directory: directory.path)
    }
    first.release()
    first.release()
    let second = try DirectoryLock(directory: directory.path)
    #expect(try directory.bytes("lock") == Array("\(getpid())\n".utf8))
    withExtendedLifetime(second) {}
  }

  @Test func aLockIsGivenBackWhenItsHolderIsGone() throws {
    let directory = try TemporaryFolder()
    do { withExtendedLifetime(try DirectoryLock(directory: directory.path)) {} }
    withExtendedLifetime(try DirectoryLock(directory: directory.path)) {}
  }

  @Test func directoriesAreMadeAllTheWay() throws {
    let directory = try TemporaryFolder()
    let lock = try DirectoryLock(directory: directory.path("a/b/c/"))
    #expect(try directory.rights("a/b/c") == 0o700)
    withExtendedLifetime(lock) {}
  }

  /// A killed process leaves its process id in the file, which must not remain for the next holder.
  @Test func anOldNumberIsOverwrittenWhole() throws {
    let directory = try TemporaryFolder()
    try directory.write(Array("123456789012345\n".utf8), to: "lock")
    let lock = try DirectoryLock(directory: directory.path)
    #expect(try directory.bytes("lock") == Array("\(getpid())\n".utf8))
    withExtendedLifetime(lock) {}
  }
}
