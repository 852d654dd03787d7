import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// Result of the inspection of a store or a backup: counts and faults.
package struct StoreInspection: Hashable {
  package var counts = StoreCounts()
  package var faults: [StoreFault] = []
  /// Chunks whose files are missing or damaged. Each has a fault, up to the number of faults shown.
  var badChunks: [ExportedChunkContent] = []
  /// Number of chunks that an earlier restore lost; devices that hold them bring them back.
  var lostChunks = 0
  /// Number of files that belong to no chunk: being written now, or left by a crash.
  var strayFiles = 0

  /// True if the database itself is unusable.
  var hasBadDatabase: Bool { faults.contains { Self.databaseCodes.contains($0.code) } }

  private static let databaseCodes = ["databaseDamaged", "databaseDiffers", "schemaDiffers"]

  mutating func addFault(_ code: String, _ account: AccountID?, _ detail: String) {
    guard faults.count(where: { $0.code == code }) < Limits.shownFaults else { return }
    faults.append(StoreFault(code, account, detail))
  }
}

/// Inspects a store or a backup. Changes nothing; a relay may be running on the store.
package struct StoreInspector {
  package let folder: String
  /// Manifest of the backup that is inspected; nil for a store.
  package var manifest: BackupManifest?
  /// True to read all bytes of all chunks; false to check only their number of bytes.
  package var readsChunks = true
  package let progress: Progress
  package let interruption: Interruption
  /// Name of the work that an interruption stops, such as "the check".
  package let work: String

  package init(
    folder: String, manifest: BackupManifest? = nil, readsChunks: Bool = true, progress: Progress,
    interruption: Interruption, work: String
  ) {
    self.folder = folder
    self.manifest = manifest
    self.readsChunks = readsChunks
    self.progress = progress
    self.interruption = interruption
    self.work = work
  }

  package func run() throws(CommandFailure) -> StoreInspection {
    defer { progress.clear() }
    var found = StoreInspection()
    try compareHash(&found)
    // The database is already known to differ from the one that was backed up.
    if found.hasBadDatabase { return found }
    let isWhole = try reporting { () throws(StorageError) in try inspectDatabase(&found) }
    guard isWhole else { throw Interruption.failure(work) }
    return found
  }

  private func compareHash(_ found: inout StoreInspection) throws(CommandFailure) {
    guard let manifest else { return }
    progress.show("reading the database")
    let path = folder + "/" + SQLiteZoneStore.databaseName
    guard FolderTree.exists(path) else {
      return found.addFault("databaseDiffers", nil, "\(path) is missing")
    }
    guard let hash = try BackupManifest.hash(of: path, goesOn: interruption.canContinue) else {
      throw Interruption.failure(work)
    }
    if hash != manifest.databaseHash {
      found.addFault("databaseDiffers", nil, "\(path) differs from the database that was backed up")
    }
  }

  /// Returns false if interrupted.
  private func inspectDatabase(_ found: inout StoreInspection) throws(StorageError) -> Bool {
    let database: ZoneInspector
    do throws(StorageError) {
      database = try ZoneInspector(directory: folder)
    } catch {
      guard case .corrupt(_, let detail) = error else { throw error }
      found.addFault("databaseDamaged", nil, detail)
      return true
    }
    defer { database.close() }
    progress.show("checking the database")
    do throws(StorageError) {
      guard let faults = try database.faults(shouldContinue: interruption.canContinue) else {
        return false
      }
      found.faults += faults
      found.counts = try database.counts()
      return try inspectChunks(of: database, &found)
    } catch {
      guard case .corrupt(_, let detail) = error else { throw error }
      found.addFault("databaseDamaged", nil, detail)
      return true
    }
  }

  // MARK: chunks

  private func inspectChunks(
    of database: ZoneInspector, _ found: inout StoreInspection
  ) throws(StorageError) -> Bool {
    let files = try ChunkFolder.existing(in: RelayStore.chunks(in: folder))
    var last: ExportedChunkContent?
    var count = 0
    while true {
      let chunks = try database.chunks(after: last, limit: Limits.collectedChunks)
      guard let end = chunks.last else { break }
      for chunk in chunks {
        guard interruption.canContinue() else { return false }
        count += 1
        progress.show("chunk \(count) of \(found.counts.chunks)")
        try inspectChunk(chunk, in: files, of: database, &found)
      }
      last = end
    }
    for file in try files?.files() ?? [] where try !database.hasChunk(in: file) {
      found.strayFiles += 1
    }
    return true
  }

  private func inspectChunk(
    _ chunk: ExportedChunkContent, in files: ChunkFolder?, of database: ZoneInspector,
    _ found: inout StoreInspection
  ) throws(StorageError) {
    let state =
      try files?.state(of: chunk.file, bytes: chunk.bytes, hash: readsChunks ? chunk.hash : nil)
      ?? .missing
    switch state {
    case .whole: return
    // A running relay may have removed it since its row was read.
    case _ where try !database.has(chunk): return
    case .missing where chunk.isUnverified:
      if chunk.isNamed { found.lostChunks += 1 }
      return
    case .missing:
      found.addFault("pieceMissing", chunk.file.account, "\(name(of: chunk)) is missing")
    case .damaged(let how):
      found.addFault("pieceDamaged", chunk.file.account, "\(name(of: chunk)) \(how)")
    }
    found.badChunks.append(chunk)
  }

  private func name(of chunk: ExportedChunkContent) -> String {
    "the chunk \(chunk.hash.text) in chunks/\(chunk.file.path)"
  }
}

extension ChunkFile {
  /// Path of the file in the folder of chunks.
  package var path: String { account.text + "/" + HexText.text(number) }
}

/// Converts a storage error into a command failure with the same text.
func reporting<Value>(
  _ work: () throws(StorageError) -> Value
) throws(CommandFailure) -> Value {
  return try CommandFailure.wrap { () throws(StorageError) in
    try work()
  }
}
