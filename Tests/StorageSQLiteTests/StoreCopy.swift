import Foundation
import LockstepStorage
import TemporaryFolders

@testable import LockstepStorageSQLite

/// A copy of a store's database, as a backup makes it: without the files beside it.
struct StoreCopy {
  private let place: TemporaryFolder

  /// Of a store that is open, by the database's own means.
  init(_ store: SQLiteZoneStore) throws {
    place = try TemporaryFolder()
    try store.connection.execute("VACUUM INTO '\(place.path("zones.sqlite"))'")
  }

  /// Of a store that is closed.
  init(_ directory: TemporaryFolder) throws {
    place = try TemporaryFolder()
    try place.write(directory.bytes("zones.sqlite"), to: "zones.sqlite")
  }

  /// In place of the database that is there, with all that belonged to that one.
  func putBack(in directory: TemporaryFolder) throws {
    for name in ["zones.sqlite-wal", "zones.sqlite-shm"]
    where FileManager.default.fileExists(atPath: directory.path(name)) {
      try FileManager.default.removeItem(atPath: directory.path(name))
    }
    try directory.write(place.bytes("zones.sqlite"), to: "zones.sqlite")
  }
}

extension SQLiteZoneStore {
  /// Under a number of the moment, as a relay opens it. In one run, so that tags follow one
  /// another, but where another is named.
  convenience init(
    directory: String, rules: StoreRules = StoreRules(), declareRestored: Bool = false,
    run: UInt64 = 0
  ) throws(StorageError) {
    try self.init(
      directory: directory, rules: rules, opening: .random(in: 1 ... .max),
      declareRestored: declareRestored, run: run)
  }
}
