import Glibc
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
  var standing: [String] { replacement.standing }

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
    return Outcome(aside: try replacement.run(opening: opening))
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

  /// Throws if the backup is damaged, before anything is changed.
  private func check() throws(CommandFailure) {
    let found = try StoreInspector(
      folder: backup, manifest: manifest, progress: progress, interruption: interruption,
      work: Self.work
    ).run()
    guard found.hasBadDatabase || !found.badChunks.isEmpty else { return }
    throw CommandFailure(
      "the backup \(backup) is damaged, and nothing was changed: "
        + (found.faults.first?.text ?? "it is not whole")
        + (found.faults.count > 1 ? ", and more" : "") + "; take another one")
  }

  // MARK: copying

  private func fill() throws(CommandFailure) {
    try copyDatabase()
    let isWhole = try reporting { () throws(StorageError) in
      let target = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      let source = try ChunkFolder.standing(in: RelayStore.chunks(in: backup))
      let files = try source?.files() ?? []
      for (index, file) in files.enumerated() {
        guard interruption.goesOn() else { return false }
        progress.show("chunk \(index + 1) of \(files.count)")
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
    // Read back, so that the copy is verified and not only its source.
    let hash = try BackupManifest.hash(of: draft + name, goesOn: interruption.goesOn)
    guard hash == manifest.databaseHash else {
      try interruption.check(Self.work)
      throw CommandFailure("the copy of \(backup + name) is another than it; check the disks")
    }
  }
}
