import Foundation
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepStorageSQLite

/// A copy of a store's database, as a backup makes it: without the other files of the store.
struct StoreCopy {
  private let place: TemporaryFolder

  /// Copies an open store with SQLite's own means.
  init(_ store: SQLiteZoneStore) throws {
    place = try TemporaryFolder()
    try store.connection.execute("VACUUM INTO '\(place.path("zones.sqlite"))'")
  }

  /// Copies an open store as a backup does.
  init(backingUp directory: TemporaryFolder) throws {
    place = try TemporaryFolder()
    let inspector = try ZoneInspector(directory: directory.path)
    #expect(try inspector.copy(to: place.path) { _, _ in true })
    inspector.close()
  }

  /// Copies a closed store.
  init(_ directory: TemporaryFolder) throws {
    place = try TemporaryFolder()
    try place.write(directory.bytes("zones.sqlite"), to: "zones.sqlite")
  }

  /// Replaces the database in the directory, and removes its log and shared-memory files.
  func putBack(in directory: TemporaryFolder) throws {
    for name in ["zones.sqlite-wal", "zones.sqlite-shm"]
    where FileManager.default.fileExists(atPath: directory.path(name)) {
      try FileManager.default.removeItem(atPath: directory.path(name))
    }
    try directory.write(place.bytes("zones.sqlite"), to: "zones.sqlite")
  }
}

extension SQLiteZoneStore {
  /// Opens the store with a random number, as a relay does. By default all openings have the same
  /// run, so that tags are consecutive.
  convenience init(
    directory: String, rules: StoreRules = StoreRules(), declareRestored: Bool = false,
    run: UInt64 = 0, usesCommitLog: Bool = false
  ) throws(StorageError) {
    try self.init(
      directory: directory, rules: rules, opening: .random(in: 1 ... .max),
      declareRestored: declareRestored, run: run, usesCommitLog: usesCommitLog)
  }
}
