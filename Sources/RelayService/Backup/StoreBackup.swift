import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite
import LockstepTerminal

/// Makes a backup of a store while a relay keeps saving to it.
///
/// Copies the database as of one moment, then transfers the chunks that the copy names. If a chunk
/// is gone, it was removed meanwhile, and the database is copied again. Transferred chunks stay
/// valid, because a chunk never changes.
struct StoreBackup {
  let store: String
  let folder: BackupFolder
  /// True to skip reading all chunks again after they are linked or copied.
  var isQuick = false
  /// Time of the backup, in milliseconds since the Unix epoch.
  let madeAt: Int64
  /// Number that identifies the copied database; no store was opened under it.
  let opening: UInt64
  let progress: Progress
  let interruption: Interruption

  struct Outcome: Hashable {
    var manifest: BackupManifest
    /// Number of chunks that are hard links to the store's files or an earlier backup's, and number
    /// of copies.
    var linked: Int
    var copied: Int
    /// Faults of the store itself.
    var faults: [StoreFault]
  }

  /// Number of chunks transferred so far.
  private struct Transferred {
    var linked = 0
    var copied = 0
  }

  private static let work = "the backup"
  private var draft: String { folder.draft }

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    try requireFreeSpace()
    let transferred = try transferAll()
    let inspector = StoreInspector(
      folder: draft, readsChunks: !isQuick, progress: progress, interruption: interruption,
      work: Self.work)
    let found = try inspector.run()
    guard !found.hasBadDatabase else {
      throw CommandFailure(
        "the store \(store) is damaged (\(found.faults.first?.text ?? "")), and the backup was "
          + "removed; lockstep relay check lists all faults")
    }
    try reporting { () throws(StorageError) in
      let chunks = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      for chunk in found.badChunks { try chunks.remove(chunk.file) }
      if !found.badChunks.isEmpty {
        try ZoneInspector.finishCopy(in: draft, opening: opening, lacking: found.badChunks)
      }
      try chunks.sync()
    }
    let manifest = try write(found)
    try folder.finish(copied: transferred.copied > 0)
    return Outcome(
      manifest: manifest, linked: transferred.linked, copied: transferred.copied,
      faults: found.faults)
  }

  private func write(_ found: StoreInspection) throws(CommandFailure) -> BackupManifest {
    let database = draft + "/" + SQLiteZoneStore.databaseName
    try FolderTree.sync(database)
    guard let hash = try BackupManifest.hash(of: database, goesOn: interruption.canContinue) else {
      throw Interruption.failure(Self.work)
    }
    let manifest = BackupManifest(
      madeAt: madeAt, version: LockstepVersion.current, counts: found.counts,
      lacking: found.badChunks.count, databaseHash: hash)
    let path = draft + "/" + BackupManifest.name
    try FolderTree.makeFile(path).write(manifest.json.serialized() + [UInt8(ascii: "\n")])
    try FolderTree.sync(path)
    return manifest
  }

  // MARK: copying

  private func transferAll() throws(CommandFailure) -> Transferred {
    let earlier = try BackupFolder.backups(in: folder.path).last
    let transferred = try reporting { () throws(StorageError) -> Transferred? in
      let live = try ZoneInspector(directory: store)
      defer { live.close() }
      let source = try ChunkFolder.existing(in: RelayStore.chunks(in: store))
      let target = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      let before = try earlier.flatMap { name throws(StorageError) in
        try ChunkFolder.existing(in: RelayStore.chunks(in: folder.path + "/" + name))
      }
      var transferred = Transferred()
      for attempt in 1...Limits.backupAttempts {
        guard try copyDatabase(of: live),
          let isWhole = try transferChunks(from: source, live, to: target, before, &transferred)
        else { return nil }
        if isWhole || attempt == Limits.backupAttempts {
          if attempt > 1 { try removeStrayFiles(in: target) }
          break
        }
      }
      return transferred
    }
    guard let transferred else { throw Interruption.failure(Self.work) }
    return transferred
  }

  private func copyDatabase(of live: ZoneInspector) throws(StorageError) -> Bool {
    unlink(draft + "/" + SQLiteZoneStore.databaseName)
    let isWhole = try live.copy(to: draft) { pages, total in
      progress.show("database: \(100 * pages / max(1, total)) %")
      return interruption.canContinue()
    }
    guard isWhole else { return false }
    try ZoneInspector.finishCopy(in: draft, opening: opening, lacking: [])
    return true
  }

  /// Returns false if a chunk was removed since the database was copied, nil if interrupted.
  private func transferChunks(
    from source: ChunkFolder?, _ live: ZoneInspector, to target: ChunkFolder,
    _ earlier: ChunkFolder?, _ transferred: inout Transferred
  ) throws(StorageError) -> Bool? {
    let copy = try ZoneInspector(directory: draft)
    defer { copy.close() }
    let total = try copy.counts().chunks
    var isWhole = true
    var count = 0
    var last: ExportedChunkContent?
    while true {
      let chunks = try copy.chunks(after: last, limit: Limits.collectedChunks)
      guard let end = chunks.last else { return isWhole }
      for chunk in chunks {
        guard interruption.canContinue() else { return nil }
        count += 1
        progress.show("chunk \(count) of \(total)")
        switch try source.map({ source throws(StorageError) in
          try target.copyFile(chunk.file, from: source, earlier: earlier)
        }) ?? .missing {
        case .linked: transferred.linked += 1
        case .copied: transferred.copied += 1
        case .exists: break
        // The inspection of the backup reports chunks that the store itself lacks.
        case .missing: if try !live.has(chunk) { isWhole = false }
        }
      }
      last = end
    }
  }

  /// Removes chunks that an earlier copy of the database named and the last one does not.
  private func removeStrayFiles(in target: ChunkFolder) throws(StorageError) {
    let copy = try ZoneInspector(directory: draft)
    defer { copy.close() }
    for file in try target.files() where try !copy.hasChunk(in: file) { try target.remove(file) }
  }

  // MARK: free space

  /// Throws if the backup would fill the disk, which is usually the relay's disk too.
  private func requireFreeSpace() throws(CommandFailure) {
    let counts = try reporting { () throws(StorageError) in
      let live = try ZoneInspector(directory: store)
      defer { live.close() }
      return try live.counts()
    }
    var (source, target, space) = (stat(), stat(), statvfs())
    guard stat(store, &source) == 0, stat(draft, &target) == 0, statvfs(draft, &space) == 0 else {
      throw PlainFile.failure(draft, "be inspected", errno)
    }
    let isSameDisk = source.st_dev == target.st_dev
    let free = Int64(clamping: space.f_bavail) * Int64(clamping: space.f_frsize)
    // On another disk, chunks that no earlier backup has are copied; how many is not known yet.
    let needed = counts.databaseBytes + (isSameDisk ? Limits.backupReserveBytes : 0)
    guard free >= needed else {
      throw CommandFailure(
        "there is not enough space for the backup in \(folder.path): it needs "
          + "\(ByteCount.text(needed)), and \(ByteCount.text(free)) are free; free some, "
          + "then try again")
    }
  }
}
