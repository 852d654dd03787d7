import Glibc
import LockstepModel
import LockstepStorageSQLite

/// Replaces the store in a relay's folder with one that was made in a draft folder. The former
/// store is moved aside, within the relay's folder, and stays as it was.
///
///     NAME.partial/         files of the new store, until all of them exist
///     restoring             exists during the replacement; no relay opens the store then
///     replaced-TIME/        the former store
struct StoreReplacement {
  let store: String
  /// Path in the store's folder. The draft contains the database, `chunks`, and nothing else that
  /// matters.
  let draft: String
  /// Time of the replacement, in milliseconds since the Unix epoch.
  let wall: Int64

  /// Names of the files of a store; the lock file stays where it is.
  private static let parts = [
    SQLiteZoneStore.databaseName, SQLiteZoneStore.databaseName + "-wal",
    SQLiteZoneStore.databaseName + "-shm", "chunks", "opening",
  ]
  private var mark: String { SQLiteZoneStore.replacementMark(in: store) }

  /// Parts of a store that the folder contains.
  var standing: [String] { Self.parts.filter { FolderTree.has(store + "/" + $0) } }

  /// True if a replacement was begun and not completed.
  var isHalf: Bool { FolderTree.has(mark) }

  /// Returns the path of the former store, or nil if there was none. Cannot be interrupted.
  /// `opening`: number under which the database was last opened, if it is to differ from the one in
  /// it.
  func run(opening: UInt64?) throws(CommandFailure) -> String? {
    var owner = stat()
    guard stat(store, &owner) == 0 else { throw PlainFile.failure(store, "be looked at", errno) }
    if !isHalf { _ = try FolderTree.makeFile(mark) }
    try FolderTree.sync(store)
    let aside = try moveAside()
    for name in [SQLiteZoneStore.databaseName, "chunks"] {
      try FolderTree.move(draft + "/" + name, to: store + "/" + name)
    }
    if let opening {
      let number = HexText.text(opening)
      let path = store + "/opening"
      try FolderTree.makeFile(path).write(Array("\(number) \(number)\n".utf8))
      try FolderTree.sync(path)
    }
    // If root runs this, the relay may run as another user.
    if getuid() == 0 && owner.st_uid != 0 {
      let new = (standing + ["lock"]).map { store + "/" + $0 } + [aside].compactMap(\.self)
      for path in new { try FolderTree.give(path, to: owner) }
    }
    try FolderTree.sync(store)
    try FolderTree.remove(mark)
    try FolderTree.remove(draft)
    try FolderTree.sync(store)
    return aside
  }

  private func moveAside() throws(CommandFailure) -> String? {
    let parts = standing
    if parts.isEmpty { return nil }
    let stamp = store + "/replaced-" + BackupFolder.stamp(wall)
    var aside = stamp
    for number in 2..<100 where FolderTree.has(aside) { aside = "\(stamp)-\(number)" }
    try FolderTree.make(aside)
    for name in parts { try FolderTree.move(store + "/" + name, to: aside + "/" + name) }
    try FolderTree.sync(aside)
    return aside
  }
}
