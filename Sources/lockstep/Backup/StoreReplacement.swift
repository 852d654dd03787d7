import Glibc
import LockstepModel
import LockstepStorageSQLite

/// Puts a store that was made beside in place of what is in a relay's folder. What was there is
/// moved aside, within that folder, and stays as it was.
///
///     NAME.partial/         the new store's files, until all of them are there
///     restoring             stands while what is there is replaced: no relay opens the store then
///     replaced-TIME/        what was there before
struct StoreReplacement {
  let store: String
  /// In the store's folder: the database, `chunks`, and nothing else that matters.
  let draft: String
  /// Milliseconds since the Unix epoch.
  let wall: Int64

  /// What a store consists of; the lock stays where it is.
  private static let parts = [
    SQLiteZoneStore.databaseName, SQLiteZoneStore.databaseName + "-wal",
    SQLiteZoneStore.databaseName + "-shm", "chunks", "opening",
  ]
  private var mark: String { SQLiteZoneStore.replacementMark(in: store) }

  /// Which parts of a store are there.
  var standing: [String] { Self.parts.filter { FolderTree.has(store + "/" + $0) } }

  /// Whether what is there is the middle of a replacement that did not come to its end.
  var isHalf: Bool { FolderTree.has(mark) }

  /// Gives where that is which was there before; nil where there was nothing. It is not ended
  /// early. `opening`: the number under which the database was opened last, if it should not be the
  /// one in it.
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
    // As root it may be for another that runs the relay.
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
