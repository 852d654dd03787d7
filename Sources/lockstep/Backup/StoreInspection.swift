import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStorageSQLite

/// What is found in a store or a backup: how much there is, and what is wrong with it.
struct StoreInspection: Hashable {
  var counts = StoreCounts()
  var faults: [StoreFault] = []
  /// Chunks whose files are not what they should be; a fault each, as far as they are told.
  var badChunks: [ExportedChunkContent] = []
  /// Chunks that an earlier restore lost; devices that hold them bring them back.
  var lostChunks = 0
  /// Files that are no chunk of anybody: being written just now, or left by a crash.
  var strayFiles = 0

  /// Whether the database itself is nothing to go by.
  var hasBadDatabase: Bool { faults.contains { Self.databaseCodes.contains($0.code) } }

  private static let databaseCodes = ["databaseDamaged", "databaseDiffers", "schemaDiffers"]

  mutating func note(_ code: String, _ account: AccountID?, _ detail: String) {
    guard faults.count(where: { $0.code == code }) < Limits.shownFaults else { return }
    faults.append(StoreFault(code, account, detail))
  }
}

/// Looks through a store or a backup. Nothing is changed, and a relay may be at work there.
struct StoreInspector {
  let folder: String
  /// Of the backup that is looked at; nil for a store.
  var manifest: BackupManifest?
  /// All bytes of all chunks are read; otherwise only how many there are.
  var readsChunks = true
  let progress: Progress
  let interruption: Interruption
  /// What an interruption ends: "the check".
  let work: String

  func run() throws(CommandFailure) -> StoreInspection {
    defer { progress.clear() }
    var found = StoreInspection()
    try compareHash(&found)
    // It is known already that it is not the one that was backed up.
    if found.hasBadDatabase { return found }
    let isWhole = try reporting { () throws(StorageError) in try look(&found) }
    guard isWhole else { throw Interruption.failure(work) }
    return found
  }

  private func compareHash(_ found: inout StoreInspection) throws(CommandFailure) {
    guard let manifest else { return }
    progress.show("reading the database")
    let path = folder + "/" + SQLiteZoneStore.databaseName
    guard FolderTree.has(path) else {
      return found.note("databaseDiffers", nil, "\(path) is missing")
    }
    guard let hash = try BackupManifest.hash(of: path, goesOn: interruption.goesOn) else {
      throw Interruption.failure(work)
    }
    if hash != manifest.databaseHash {
      found.note("databaseDiffers", nil, "\(path) has other bytes than when it was backed up")
    }
  }

  /// False where it was interrupted.
  private func look(_ found: inout StoreInspection) throws(StorageError) -> Bool {
    let database: ZoneInspector
    do throws(StorageError) {
      database = try ZoneInspector(directory: folder)
    } catch {
      guard case .corrupt(_, let detail) = error else { throw error }
      found.note("databaseDamaged", nil, detail)
      return true
    }
    defer { database.close() }
    progress.show("looking through the database")
    do throws(StorageError) {
      guard let faults = try database.faults(goesOn: interruption.goesOn) else { return false }
      found.faults += faults
      found.counts = try database.counts()
      return try lookAtChunks(of: database, &found)
    } catch {
      guard case .corrupt(_, let detail) = error else { throw error }
      found.note("databaseDamaged", nil, detail)
      return true
    }
  }

  // MARK: chunks

  private func lookAtChunks(
    of database: ZoneInspector, _ found: inout StoreInspection
  ) throws(StorageError) -> Bool {
    let files = try ChunkFolder.standing(in: RelayStore.chunks(in: folder))
    var last: ExportedChunkContent?
    var count = 0
    while true {
      let chunks = try database.chunks(after: last, limit: Limits.collectedChunks)
      guard let end = chunks.last else { break }
      for chunk in chunks {
        guard interruption.goesOn() else { return false }
        count += 1
        progress.show("piece \(count) of \(found.counts.chunks)")
        try look(at: chunk, in: files, of: database, &found)
      }
      last = end
    }
    for file in try files?.files() ?? [] where try !database.hasChunk(in: file) {
      found.strayFiles += 1
    }
    return true
  }

  private func look(
    at chunk: ExportedChunkContent, in files: ChunkFolder?, of database: ZoneInspector,
    _ found: inout StoreInspection
  ) throws(StorageError) {
    let state =
      try files?.state(of: chunk.file, bytes: chunk.bytes, hash: readsChunks ? chunk.hash : nil)
      ?? .missing
    switch state {
    case .whole: return
    // A relay that is at work may have removed it since its row was read.
    case _ where try !database.has(chunk): return
    case .missing where chunk.isDoubtful:
      if chunk.isNamed { found.lostChunks += 1 }
      return
    case .missing:
      found.note("pieceMissing", chunk.file.account, "\(name(of: chunk)) is missing")
    case .damaged(let how):
      found.note("pieceDamaged", chunk.file.account, "\(name(of: chunk)) \(how)")
    }
    found.badChunks.append(chunk)
  }

  private func name(of chunk: ExportedChunkContent) -> String {
    "the piece \(chunk.hash.text) in chunks/\(chunk.file.path)"
  }
}

extension ChunkFile {
  /// Where it lies in the folder of chunks.
  var path: String { account.text + "/" + HexText.text(number) }
}

/// What a store says of its own is what a person is told.
func reporting<Value>(
  _ work: () throws(StorageError) -> Value
) throws(CommandFailure) -> Value {
  do throws(StorageError) {
    return try work()
  } catch {
    throw CommandFailure("\(error)")
  }
}
