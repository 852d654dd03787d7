import Changes
import Glibc
import Storage
import StorageFiles
import StorageSQLite

/// Puts a backup into a relay's folder. What was there is moved aside, within that folder, and
/// stays as it was.
///
///     restored.partial/     the backup's files, until all of them are there
///     restoring             stands while what is there is replaced: no relay opens the store then
///     replaced-TIME/        what was there before
///
/// The file `opening` beside the database gets a number that no database has, so that the relay
/// takes what it finds for an older copy, which it is.
struct StoreRestore {
  let backup: String
  let manifest: BackupManifest
  let store: String
  /// What is there is moved aside; otherwise there may be nothing.
  let isForced: Bool
  /// Milliseconds since the Unix epoch.
  let wall: Int64
  let opening: UInt64
  let progress: Progress
  let interruption: Interruption

  struct Outcome: Hashable {
    /// Where that is which was there before; nil where there was nothing.
    var aside: String?
  }

  private static let work = "the restore"
  /// What a store consists of; the lock stays where it is.
  private static let parts = [
    SQLiteZoneStore.databaseName, SQLiteZoneStore.databaseName + "-wal",
    SQLiteZoneStore.databaseName + "-shm", "chunks", "opening",
  ]
  private var draft: String { store + "/restored.partial" }
  private var mark: String { SQLiteZoneStore.replacementMark(in: store) }

  /// Which parts of a store are there.
  var standing: [String] { Self.parts.filter { FolderTree.has(store + "/" + $0) } }

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    let lock = try hold()
    defer { lock.release() }
    guard standing.isEmpty || isForced else { throw refusal }
    try check()
    try FolderTree.remove(draft)
    do throws(CommandFailure) {
      try FolderTree.make(draft)
      try fill()
    } catch {
      try FolderTree.remove(draft)
      throw error
    }
    return try replace()
  }

  var refusal: CommandFailure {
    CommandFailure(
      "there is a store in \(store) already; with --force it is moved aside, into a folder there, "
        + "and nothing of it is lost")
  }

  private func hold() throws(CommandFailure) -> DirectoryLock {
    do throws(StorageError) {
      return try DirectoryLock(directory: store)
    } catch {
      guard case .inUse(_, let holder) = error else { throw CommandFailure("\(error)") }
      throw CommandFailure(
        "a relay holds the store \(store) (\(holder)); stop it first, then restore")
    }
  }

  /// Nothing is begun with a backup that is not whole.
  private func check() throws(CommandFailure) {
    let found = try StoreInspector(
      folder: backup, manifest: manifest, progress: progress, interruption: interruption,
      work: Self.work
    ).run()
    guard found.hasBadDatabase || !found.badPieces.isEmpty else { return }
    throw CommandFailure(
      "the backup \(backup) is damaged, and nothing was changed: "
        + (found.faults.first?.text ?? "it is not whole")
        + (found.faults.count > 1 ? ", and more" : "") + "; take another one")
  }

  // MARK: filling

  private func fill() throws(CommandFailure) {
    try copyDatabase()
    let isWhole = try reporting { () throws(StorageError) in
      let target = try PieceFolder(directory: RelayStore.chunks(in: draft))
      let source = try PieceFolder.standing(in: RelayStore.chunks(in: backup))
      let files = try source?.files() ?? []
      for (index, file) in files.enumerated() {
        guard interruption.goesOn() else { return false }
        progress.show("piece \(index + 1) of \(files.count)")
        if let source { _ = try target.take(file, from: source, earlier: nil) }
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
    // Read back: what was copied is what was checked.
    let hash = try BackupManifest.hash(of: draft + name, goesOn: interruption.goesOn)
    guard hash == manifest.databaseHash else {
      try interruption.check(Self.work)
      throw CommandFailure("the copy of \(backup + name) is another than it; check the disks")
    }
  }

  // MARK: replacing

  /// From here on it is not ended early.
  private func replace() throws(CommandFailure) -> Outcome {
    var owner = stat()
    guard stat(store, &owner) == 0 else { throw PlainFile.failure(store, "be looked at", errno) }
    if !FolderTree.has(mark) { _ = try FolderTree.makeFile(mark) }
    try FolderTree.sync(store)
    let aside = try moveAside()
    for name in [SQLiteZoneStore.databaseName, "chunks"] {
      try FolderTree.move(draft + "/" + name, to: store + "/" + name)
    }
    let number = HexText.text(opening)
    let path = store + "/opening"
    try FolderTree.makeFile(path).write(Array("\(number) \(number)\n".utf8))
    try FolderTree.sync(path)
    // As root it may be for another that runs the relay.
    if getuid() == 0 && owner.st_uid != 0 {
      let new = (standing + ["lock"]).map { store + "/" + $0 } + [aside].compactMap(\.self)
      for path in new { try FolderTree.give(path, to: owner) }
    }
    try FolderTree.sync(store)
    try FolderTree.remove(mark)
    try FolderTree.remove(draft)
    try FolderTree.sync(store)
    return Outcome(aside: aside)
  }

  private func moveAside() throws(CommandFailure) -> String? {
    let parts = standing
    if parts.isEmpty { return nil }
    let stamp = store + "/replaced-" + BackupShelf.stamp(wall)
    var aside = stamp
    for number in 2..<100 where FolderTree.has(aside) { aside = "\(stamp)-\(number)" }
    try FolderTree.make(aside)
    for name in parts { try FolderTree.move(store + "/" + name, to: aside + "/" + name) }
    try FolderTree.sync(aside)
    return aside
  }
}
