import Foundation
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// The store does not open a foreign file that another user has put in place of one of its files.
struct StoreFileTests {
  private func open(_ name: String, _ folder: TemporaryFolder, _ flags: Int32 = O_RDWR | O_CREAT)
    -> String?
  {
    do throws(StorageError) {
      guard let descriptor = try StoreFile.open(name, in: folder.path, flags, "open it") else {
        return "none"
      }
      close(descriptor)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func aLinkAPipeAndASecondNameAreRefused() throws {
    let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
    try elsewhere.write(Array("precious".utf8), to: "precious")
    #expect(symlink(elsewhere.path("precious"), folder.path("symbolic")) == 0)
    #expect(link(elsewhere.path("precious"), folder.path("hard")) == 0)
    #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
    #expect(open("symbolic", folder)?.contains("symbolic link") == true)
    #expect(open("hard", folder)?.contains("another hard link") == true)
    #expect(open("pipe", folder)?.contains("regular file") == true)
    #expect(open("missing", folder, O_RDONLY) == "none")
    #expect(open("fresh", folder) == nil)
    #expect(try folder.rights("fresh") == 0o600)
    #expect(try elsewhere.bytes("precious") == Array("precious".utf8))
  }

  @Test func aDraftReplacesAnyExistingFile() throws {
    let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
    try elsewhere.write(Array("precious".utf8), to: "precious")
    #expect(symlink(elsewhere.path("precious"), folder.path("draft")) == 0)
    close(try StoreFile.make("draft", in: folder.path, "write it"))
    #expect(try folder.bytes("draft").isEmpty)
    #expect(try elsewhere.bytes("precious") == Array("precious".utf8))
  }

  @Test func aStoreFollowsNoLinkInPlaceOfItsFiles() throws {
    for name in ["lock", "opening", "opening.new"] {
      let (folder, elsewhere) = (try TemporaryFolder(), try TemporaryFolder())
      try elsewhere.write(Array("precious".utf8), to: "precious")
      #expect(symlink(elsewhere.path("precious"), folder.path(name)) == 0)
      do throws(StorageError) {
        try SQLiteZoneStore(directory: folder.path, opening: 1).close()
      } catch {
        #expect("\(error)".contains("symbolic link"))
      }
      #expect(try elsewhere.bytes("precious") == Array("precious".utf8), "\(name)")
    }
  }
}
