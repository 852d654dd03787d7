import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// Puts a backup into a relay's folder by means of `StoreReplacement`.
///
/// The file `opening` beside the database gets a number that no database has, so that the relay
/// treats the store as an older copy, which it is.
struct StoreRestore {
  let backup: String
  let manifest: BackupManifest
  let store: String
  /// True to move an existing store aside; otherwise the folder must not contain one.
  let isForced: Bool
  /// Time of the restore, in milliseconds since the Unix epoch.
  let wall: Int64
  let opening: UInt64
  let progress: Progress
  let interruption: Interruption

  struct Outcome: Hashable {
    /// Path of the former store; nil if there was none.
    var aside: String?
  }

  private static let work = "the restore"
  private var draft: String { store + "/restored.partial" }
  private var replacement: StoreReplacement {
    StoreReplacement(store: store, draft: draft, wall: wall)
  }

  /// Parts of a store that the folder contains.
  var existingParts: [String] { replacement.existingParts }

  /// Restores the backup, or changes nothing.
  ///
  /// - Parameter begin: Called once nothing stands in the way: no relay has the store open, and the
  ///   backup is whole.
  func run(begin: () throws(CommandFailure) -> Void) throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    let lock = try lockStore()
    defer { lock.release() }
    guard existingParts.isEmpty || isForced else { throw refusal }
    try checkBackup()
    progress.clear()
    try begin()
    try FolderTree.remove(draft)
    do throws(CommandFailure) {
      try FolderTree.make(draft)
      try copyBackup()
    } catch {
      try FolderTree.remove(draft)
      throw error
    }
    return Outcome(aside: try replacement.run(opening: opening))
  }

  var refusal: CommandFailure {
    CommandFailure(
      "there is a store in \(store) already; with --force it is moved aside, into a folder there, "
        + "and nothing of it is lost")
  }

  private func lockStore() throws(CommandFailure) -> DirectoryLock {
    do throws(StorageError) {
      return try DirectoryLock(directory: store)
    } catch {
      guard case .inUse(_, let holder) = error else { throw CommandFailure("\(error)") }
      throw CommandFailure(
        "a relay has the store \(store) open (\(holder)); stop it first, then restore")
    }
  }

  /// Throws if the backup is damaged, before anything is changed.
  private func checkBackup() throws(CommandFailure) {
    let found = try StoreInspector(
      folder: backup, manifest: manifest, progress: progress, interruption: interruption,
      work: Self.work
    ).run()
    guard found.hasBadDatabase || !found.badChunks.isEmpty else { return }
    throw CommandFailure(
      "the backup \(backup) is damaged, and nothing was changed: "
        + (found.faults.first?.text ?? "it is incomplete")
        + (found.faults.count > 1 ? ", and more" : "") + "; use another one")
  }

  // MARK: copying

  private func copyBackup() throws(CommandFailure) {
    try copyDatabase()
    let isWhole = try reporting { () throws(StorageError) in
      let target = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      let source = try ChunkFolder.existing(in: RelayStore.chunks(in: backup))
      let files = try source?.files() ?? []
      for (index, file) in files.enumerated() {
        guard interruption.canContinue() else { return false }
        progress.show("chunk \(index + 1) of \(files.count)")
        if let source { _ = try target.copyFile(file, from: source, earlier: nil) }
      }
      try target.sync()
      return true
    }
    guard isWhole else { throw Interruption.failure(Self.work) }
    try FolderTree.sync(draft, all: true)
  }

  private func copyDatabase() throws(CommandFailure) {
    let name = "/" + SQLiteZoneStore.databaseName
    let source = try FolderTree.openFile(backup + name)
    let target = try FolderTree.makeFile(draft + name)
    progress.show("copying the database")
    while true {
      try interruption.check(Self.work)
      let bytes = try source.read(1 << 20)
      if bytes.isEmpty { break }
      try target.write(bytes)
    }
    // Read back, so that the copy is verified and not only its source.
    let hash = try BackupManifest.hash(of: draft + name, goesOn: interruption.canContinue)
    guard hash == manifest.databaseHash else {
      try interruption.check(Self.work)
      throw CommandFailure("the copy of \(backup + name) differs from it; check the disks")
    }
  }
}

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
    SQLiteZoneStore.databaseName + "-shm", SQLiteZoneStore.commitLogName, "chunks", "opening",
  ]
  private var mark: String { SQLiteZoneStore.replacementMark(in: store) }

  /// Parts of a store that the folder contains.
  var existingParts: [String] { Self.parts.filter { FolderTree.exists(store + "/" + $0) } }

  /// True if a replacement was begun and not completed.
  var isIncomplete: Bool { FolderTree.exists(mark) }

  /// Returns the path of the former store, or nil if there was none. Cannot be interrupted.
  /// `opening`: number under which the database was last opened, if it is to differ from the one in
  /// it.
  func run(opening: UInt64?) throws(CommandFailure) -> String? {
    var owner = stat()
    guard stat(store, &owner) == 0 else { throw PlainFile.failure(store, "be inspected", errno) }
    if !isIncomplete { _ = try FolderTree.makeFile(mark) }
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
      let new = (existingParts + ["lock"]).map { store + "/" + $0 } + [aside].compactMap(\.self)
      for path in new { try FolderTree.changeOwner(path, to: owner) }
    }
    try FolderTree.sync(store)
    try FolderTree.remove(mark)
    try FolderTree.remove(draft)
    try FolderTree.sync(store)
    return aside
  }

  private func moveAside() throws(CommandFailure) -> String? {
    let parts = existingParts
    if parts.isEmpty { return nil }
    let stamp = store + "/replaced-" + BackupFolder.stamp(wall)
    var aside = stamp
    for number in 2..<100 where FolderTree.exists(aside) { aside = "\(stamp)-\(number)" }
    try FolderTree.make(aside)
    for name in parts { try FolderTree.move(store + "/" + name, to: aside + "/" + name) }
    try FolderTree.sync(aside)
    return aside
  }
}
