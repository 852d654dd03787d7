import Foundation
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageFiles

struct OpenFileTests {
  @Test func bytesAreAddedAndReadAnywhere() throws {
    let directory = try TemporaryFolder()
    let folder = try Folder(at: directory.path)
    let file = try folder.makeFile("x")
    for bytes in [[1, 2, 3], [], [4]] as [[UInt8]] { try file.append(bytes) }
    try file.sync()
    let read = try #require(try folder.file("x"))
    #expect(try read.read(at: 1, count: 2) == [2, 3])
    #expect(try read.read(at: 3, count: 9) == [4])
    #expect(try read.read(at: 4, count: 9) == [])
  }

  /// /dev/full, the kernel's own full disk.
  @Test func aFullDiskIsReportedAsOne() throws {
    let full = try OpenFile(path: "/dev/full", descriptor: open("/dev/full", O_WRONLY))
    #expect(throws: StorageError.diskFull(path: "/dev/full")) { try full.append([1]) }
  }

  @Test func onlyRegularFilesAreRead() throws {
    let directory = try TemporaryFolder()
    let folder = try OpenFile(
      path: directory.path, descriptor: open(directory.path, O_RDONLY | O_DIRECTORY))
    #expect(try !folder.isRegular)
    #expect(throws: StorageError.self) { try folder.read(at: 0, count: 1) }
    #expect(throws: StorageError.self) { try OpenFile(path: "gone", descriptor: -1) }
  }
}
