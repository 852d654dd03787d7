import Foundation
import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

struct StoreIdentityTests {
  private func fault(after change: (TemporaryFolder) throws -> Void) throws -> StorageError? {
    let folder = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: folder.path, opening: 1)
    defer { store.close() }
    try change(folder)
    return store.identity.check()
  }

  @Test func anOpenStoreIsComplete() throws {
    #expect(try fault { _ in } == nil)
  }

  @Test(arguments: ["zones.sqlite", "zones.sqlite-wal", "lock"])
  func aFileThatWasRemovedMovedOrReplacedIsMissed(name: String) throws {
    for change in [
      { try FileManager.default.removeItem(atPath: $0) },
      { try FileManager.default.moveItem(atPath: $0, toPath: $0 + ".aside") },
      { path in
        try FileManager.default.moveItem(atPath: path, toPath: path + ".aside")
        try FileManager.default.copyItem(atPath: path + ".aside", toPath: path)
      },
    ] as [(String) throws -> Void] {
      let found = try fault { try change($0.path(name)) }
      guard case .gone(_, name) = found else {
        Issue.record("\(name): \(String(describing: found))")
        continue
      }
    }
  }

  @Test func nothingIsSavedIntoAFileThatIsGone() throws {
    let folder = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: folder.path, opening: 1)
    defer { store.close() }
    try FileManager.default.removeItem(atPath: folder.path("zones.sqlite"))
    #expect(throws: StorageError.gone(path: folder.path, name: "zones.sqlite")) {
      try store.commit([.checkWritable], wall: 1)
    }
  }

  /// The files of another store that replaced this one are not changed.
  @Test func aStoreThatIsGoneTouchesNothingWhenItIsClosed() throws {
    let folder = try TemporaryFolder()
    let store = try SQLiteZoneStore(directory: folder.path, opening: 1)
    for name in ["zones.sqlite", "zones.sqlite-wal", "opening"] {
      let path = folder.path(name)
      try FileManager.default.moveItem(atPath: path, toPath: path + ".aside")
      try folder.write(Array("another".utf8), to: name)
    }
    store.close()
    for name in ["zones.sqlite", "zones.sqlite-wal", "opening"] {
      #expect(try folder.bytes(name) == Array("another".utf8), "\(name)")
    }
  }
}
