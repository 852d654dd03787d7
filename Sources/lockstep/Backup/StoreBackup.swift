import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// Makes a backup of a store while a relay keeps saving to it.
///
/// Copies the database as of one moment, then takes over the chunks that the copy names. If a chunk
/// is gone, it was removed meanwhile, and the database is copied again. Chunks that were taken over
/// stay valid, because a chunk never changes.
struct StoreBackup {
  let store: String
  let shelf: BackupFolder
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

  /// Number of chunks taken over so far.
  private struct Taken {
    var linked = 0
    var copied = 0
  }

  private static let work = "the backup"
  private var draft: String { shelf.draft }

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    try requireRoom()
    let taken = try takeAll()
    let inspector = StoreInspector(
      folder: draft, readsChunks: !isQuick, progress: progress, interruption: interruption,
      work: Self.work)
    let found = try inspector.run()
    guard !found.hasBadDatabase else {
      throw CommandFailure(
        "the store \(store) is damaged (\(found.faults.first?.text ?? "")), and nothing is left of "
          + "the backup; lockstep relay check tells more")
    }
    try reporting { () throws(StorageError) in
      let chunks = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      for chunk in found.badChunks { try chunks.remove(chunk.file) }
      if !found.badChunks.isEmpty {
        try ZoneInspector.settleCopy(in: draft, opening: opening, lacking: found.badChunks)
      }
      try chunks.sync()
    }
    let manifest = try write(found)
    try shelf.finish(copied: taken.copied > 0)
    return Outcome(
      manifest: manifest, linked: taken.linked, copied: taken.copied, faults: found.faults)
  }

  private func write(_ found: StoreInspection) throws(CommandFailure) -> BackupManifest {
    let database = draft + "/" + SQLiteZoneStore.databaseName
    try FolderTree.sync(database)
    guard let hash = try BackupManifest.hash(of: database, goesOn: interruption.goesOn) else {
      throw Interruption.failure(Self.work)
    }
    let manifest = BackupManifest(
      madeAt: madeAt, version: Lockstep.version, counts: found.counts,
      lacking: found.badChunks.count, databaseHash: hash)
    let path = draft + "/" + BackupManifest.name
    try FolderTree.makeFile(path).write(manifest.json.serialized() + [UInt8(ascii: "\n")])
    try FolderTree.sync(path)
    return manifest
  }

  // MARK: copying

  private func takeAll() throws(CommandFailure) -> Taken {
    let earlier = try BackupFolder.backups(in: shelf.path).last
    let taken = try reporting { () throws(StorageError) -> Taken? in
      let live = try ZoneInspector(directory: store)
      defer { live.close() }
      let source = try ChunkFolder.standing(in: RelayStore.chunks(in: store))
      let target = try ChunkFolder(directory: RelayStore.chunks(in: draft))
      let before = try earlier.flatMap { name throws(StorageError) in
        try ChunkFolder.standing(in: RelayStore.chunks(in: shelf.path + "/" + name))
      }
      var taken = Taken()
      for attempt in 1...Limits.backupAttempts {
        guard try copyDatabase(of: live),
          let isWhole = try takeChunks(from: source, live, to: target, before, &taken)
        else { return nil }
        if isWhole || attempt == Limits.backupAttempts {
          if attempt > 1 { try removeStrays(in: target) }
          break
        }
      }
      return taken
    }
    guard let taken else { throw Interruption.failure(Self.work) }
    return taken
  }

  private func copyDatabase(of live: ZoneInspector) throws(StorageError) -> Bool {
    unlink(draft + "/" + SQLiteZoneStore.databaseName)
    let isWhole = try live.copy(to: draft) { pages, total in
      progress.show("database: \(100 * pages / max(1, total)) %")
      return interruption.goesOn()
    }
    guard isWhole else { return false }
    try ZoneInspector.settleCopy(in: draft, opening: opening, lacking: [])
    return true
  }

  /// Returns false if a chunk was removed since the database was copied, nil if interrupted.
  private func takeChunks(
    from source: ChunkFolder?, _ live: ZoneInspector, to target: ChunkFolder,
    _ earlier: ChunkFolder?, _ taken: inout Taken
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
        guard interruption.goesOn() else { return nil }
        count += 1
        progress.show("chunk \(count) of \(total)")
        switch try source.map({ source throws(StorageError) in
          try target.take(chunk.file, from: source, earlier: earlier)
        }) ?? .missing {
        case .linked: taken.linked += 1
        case .copied: taken.copied += 1
        case .standing: break
        // The inspection of the backup reports chunks that the store itself lacks.
        case .missing: if try !live.has(chunk) { isWhole = false }
        }
      }
      last = end
    }
  }

  /// Removes chunks that an earlier copy of the database named and the last one does not.
  private func removeStrays(in target: ChunkFolder) throws(StorageError) {
    let copy = try ZoneInspector(directory: draft)
    defer { copy.close() }
    for file in try target.files() where try !copy.hasChunk(in: file) { try target.remove(file) }
  }

  // MARK: free space

  /// Throws if the backup would fill the disk, which is usually the relay's disk too.
  private func requireRoom() throws(CommandFailure) {
    let counts = try reporting { () throws(StorageError) in
      let live = try ZoneInspector(directory: store)
      defer { live.close() }
      return try live.counts()
    }
    var (source, target, space) = (stat(), stat(), statvfs())
    guard stat(store, &source) == 0, stat(draft, &target) == 0, statvfs(draft, &space) == 0 else {
      throw PlainFile.failure(draft, "be looked at", errno)
    }
    let isSameDisk = source.st_dev == target.st_dev
    let free = Int64(clamping: space.f_bavail) * Int64(clamping: space.f_frsize)
    // On another disk, chunks that no earlier backup has are copied; how many is not known yet.
    let needed = counts.databaseBytes + (isSameDisk ? Limits.backupReserveBytes : 0)
    guard free >= needed else {
      throw CommandFailure(
        "no space is left for the backup in \(shelf.path): it needs \(ByteCount.text(needed)), and "
          + "\(ByteCount.text(free)) are free; free some, then try again")
    }
  }
}
