import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Moves a relay's store to another place: from a folder into a database, back, or within a kind.
/// Devices see only a pause: the relay's answers stay the same, including tags.
///
///     1. copy the rows of all tables, in portions, from one view of the old store
///     2. with the rows of chunks, copy their bytes and check their hashes
///     3. check that the old store was not written to, and that the new one has the same totals
///     4. make the new one a store, atomically and durably
///     5. mark the old one as an older copy
///
/// A crash between steps 4 and 5 leaves two usable stores; a person notices because the command's
/// output is missing. In the reverse order, a move that fails at its last step would make all
/// devices read everything again.
struct StoreMove {
  let from: StoreLocation
  let to: StoreLocation
  /// Time of the move, in milliseconds since the Unix epoch.
  let wall: Int64
  /// An `OpeningNumber`.
  let opening: UInt64
  let progress: Progress
  let interruption: Interruption

  struct Outcome: Hashable {
    var totals = StoreTotals()
    /// Chunks with missing or wrong bytes, each with its defect; devices that hold them bring them
    /// back.
    var lost: [LostChunk] = []
    /// Number of chunks that an earlier restore lost and no device has brought back.
    var lostBefore = 0
    /// Path of the former contents of the new store's folder.
    var aside: String?
  }

  struct LostChunk: Hashable {
    var chunk: ExportedChunk
    /// Defect, worded as the end of a sentence about the chunk.
    var defect: String
  }

  private static let work = "the move"

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    try StoreMove.requireDifferentStores(from, to)
    let source = try MoveTarget.reporting { () throws(StorageError) in
      try MoveSource(from, retirement: opening)
    }
    defer { source.close() }
    let target = try MoveTarget(to, wall: wall)
    defer { target.close() }
    var outcome = Outcome(totals: source.rows.totals)
    do throws(CommandFailure) {
      try copyRows(from: source, to: target, &outcome)
      try interruption.check(Self.work)
      progress.show("making it durable")
      outcome.aside = try target.finish(outcome.totals, isOlderCopy: source.rows.isOlderCopy)
    } catch {
      try abandon(target, after: error)
    }
    do throws(CommandFailure) {
      try source.retire()
    } catch {
      throw CommandFailure(
        "the store was moved, and is complete in \(to.text); but the old one could not be marked "
          + "as moved (\(error.message ?? "")): never start a relay on \(from.text) again, or "
          + "two stores continue one history in different ways")
    }
    return outcome
  }

  /// Removes what was copied and throws `failure`. If the removal fails, the error says so.
  private func abandon(
    _ target: MoveTarget, after failure: CommandFailure
  ) throws(CommandFailure) -> Never {
    do throws(CommandFailure) {
      try target.abandon()
    } catch {
      throw CommandFailure(
        "\(failure.message ?? Self.work + " failed"); the incomplete copy in \(to.text) could not "
          + "be removed (\(error.message ?? "")): no relay opens it, and the next move into it "
          + "starts again")
    }
    throw failure
  }

  static func requireDifferentStores(
    _ from: StoreLocation, _ to: StoreLocation
  ) throws(CommandFailure) {
    var isSame = from == to
    if case .database(let one) = from, case .database(let other) = to {
      isSame = try MoveTarget.reporting { () throws(StorageError) in
        try PostgresBus.isSameDatabase(one, other)
      }
    }
    if case .folder(let one) = from, case .folder(let other) = to {
      var (left, right) = (stat(), stat())
      if stat(one, &left) == 0, stat(other, &right) == 0 {
        isSame = left.st_dev == right.st_dev && left.st_ino == right.st_ino
      }
    }
    guard !isSame else {
      throw CommandFailure("--from and --to name the same store; name another place with --to")
    }
  }

  // MARK: copying

  private func copyRows(
    from source: MoveSource, to target: MoveTarget, _ outcome: inout Outcome
  ) throws(CommandFailure) {
    var copied = StoreTotals()
    while true {
      try interruption.check(Self.work)
      let portion = try MoveTarget.reporting { () throws(StorageError) in try source.rows.next() }
      guard let portion else { break }
      let rows = try copyChunks(of: portion, from: source, to: target, copied, &outcome)
      try MoveTarget.reporting { () throws(StorageError) in try target.insertRows(rows) }
      copied.add(rows)
      let table = rows.table
      progress.show("\(table.rawValue): \(copied[table]) of \(outcome.totals[table])")
    }
    if let difference = copied.difference(from: outcome.totals) {
      throw CommandFailure("the store \(from.text) changed while it was read: \(difference)")
    }
    try MoveTarget.reporting { () throws(StorageError) in try source.rows.confirm() }
  }

  /// Returns the rows. For chunks, also copies the bytes; those without valid bytes become
  /// doubtful.
  private func copyChunks(
    of rows: StoreRows, from source: MoveSource, to target: MoveTarget, _ copied: StoreTotals,
    _ outcome: inout Outcome
  ) throws(CommandFailure) -> StoreRows {
    guard case .chunks(var chunks) = rows else { return rows }
    let files = source.copy(to: target, at: to)
    for place in chunks.indices {
      try interruption.check(Self.work)
      progress.show(
        "chunk \(copied[.chunks] + Int64(place) + 1) of \(outcome.totals[.chunks])")
      let chunk = chunks[place]
      let defect = try MoveTarget.reporting { () throws(StorageError) in
        try files.copy(chunk, to: chunk.stored.file)
      }
      guard let defect else { continue }
      if chunk.isUnverified {
        outcome.lostBefore += 1
      } else {
        outcome.lost.append(LostChunk(chunk: chunk, defect: defect))
        chunks[place].isUnverified = true
      }
    }
    return .chunks(chunks)
  }
}

/// Store to be moved, in a folder or a database, with the chunks of its files. No other process
/// writes to it during the move.
final class MoveSource {
  let rows: any StoreSource
  /// Nil if the store has no chunks.
  private let files: (any ChunkStore)?
  private let folder: (path: String, lock: DirectoryLock)?

  /// `retirement`: an `OpeningNumber`, see `StoreSource.retire`.
  init(_ place: StoreLocation, retirement: UInt64) throws(StorageError) {
    switch place {
    case .folder(let path):
      guard SQLiteZoneStore.exists(in: path) else {
        throw .failed(
          path: path, operation: "be moved", detail: "there is no store of a relay in that folder")
      }
      folder = (path, try DirectoryLock(directory: path))
      rows = try SQLiteStoreSource(directory: path, retirement: retirement)
      let chunks = RelayStore.chunks(in: path)
      files = FolderTree.exists(chunks) ? try FileChunkStore(directory: chunks) : nil
    case .database(let address):
      folder = nil
      let source = try PostgresStoreSource(address)
      rows = source
      files = try source.makeFiles()
    }
  }

  func copy(to target: MoveTarget, at place: StoreLocation) -> ChunkCopy {
    ChunkCopy(
      source: files, isFolder: folder != nil, target: target.files, place: place.text)
  }

  /// Marks the store as moved.
  func retire() throws(CommandFailure) {
    try reporting { () throws(StorageError) in try rows.retire() }
    guard let folder, getuid() == 0 else { return }
    // If root runs the move, the relay may run as another user.
    var owner = stat()
    guard stat(folder.path, &owner) == 0 else {
      throw PlainFile.failure(folder.path, "be inspected", errno)
    }
    try FolderTree.changeOwner(folder.path + "/opening", to: owner)
  }

  func close() {
    rows.close()
    (files as? PostgresChunkStore)?.close()
    folder?.lock.release()
  }
}

/// Target of a move, in a folder or a database, with its chunk store. Until `finish`, nothing there
/// can be mistaken for a store: in a folder it is made in a draft, and a database is closed to all
/// other clients.
final class MoveTarget {
  private let rows: any StoreTarget
  let files: any ChunkStore
  private let folder: (replacement: StoreReplacement, lock: DirectoryLock)?

  /// `wall`: milliseconds since the Unix epoch. Throws if the target already has accounts.
  init(_ place: StoreLocation, wall: Int64) throws(CommandFailure) {
    switch place {
    case .folder(let path):
      let replacement = StoreReplacement(store: path, draft: path + "/moved.partial", wall: wall)
      let lock = try MoveTarget.reporting { () throws(StorageError) in
        try DirectoryLock(directory: path)
      }
      folder = (replacement, lock)
      try MoveTarget.refuseAccounts(in: replacement)
      try FolderTree.remove(replacement.draft)
      try FolderTree.make(replacement.draft)
      (rows, files) = try MoveTarget.reporting { () throws(StorageError) in
        (
          try SQLiteStoreTarget(directory: replacement.draft),
          try FileChunkStore(directory: RelayStore.chunks(in: replacement.draft))
        )
      }
    case .database(let address):
      folder = nil
      (rows, files) = try MoveTarget.reporting { () throws(StorageError) in
        let target = try PostgresStoreTarget(address)
        do throws(StorageError) {
          return (target, try target.makeFiles())
        } catch {
          try target.abandon()
          throw error
        }
      }
    }
  }

  /// Throws if the store there has accounts. One without any, such as a relay leaves after its
  /// first start, is allowed.
  private static func refuseAccounts(
    in replacement: StoreReplacement
  ) throws(CommandFailure) {
    let path = replacement.store
    guard SQLiteZoneStore.exists(in: path), !replacement.isIncomplete else { return }
    let (accounts, departed) = try reporting { () throws(StorageError) in
      let found = try ZoneInspector(directory: path)
      defer { found.close() }
      return (try found.counts().accounts, try found.departedAccounts())
    }
    guard accounts + departed > 0 else { return }
    let what =
      accounts > 0
      ? "with \(accounts) \(accounts == 1 ? "account" : "accounts")"
      : "which sends the devices of accounts that have moved away to their relay"
    throw CommandFailure(
      "there is a store in \(path) already, \(what); name another place with --to")
  }

  /// Rethrows errors; for a store in use, says how to proceed.
  static func reporting<Value>(
    _ work: () throws(StorageError) -> Value
  ) throws(CommandFailure) -> Value {
    do throws(StorageError) {
      return try work()
    } catch {
      guard case .inUse(let path, let holder) = error else { throw CommandFailure("\(error)") }
      throw CommandFailure(
        "the store \(path) is in use by \(holder); stop all relays on it first, then move it")
    }
  }

  func insertRows(_ more: StoreRows) throws(StorageError) { try rows.insert(more) }

  /// Makes the target a store. Returns the path of the folder's former contents, or nil if there
  /// were none.
  func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(CommandFailure) -> String? {
    try MoveTarget.reporting { () throws(StorageError) in
      try rows.finish(totals, isOlderCopy: isOlderCopy)
    }
    guard let replacement = folder?.replacement else { return nil }
    try FolderTree.sync(replacement.draft, all: true)
    return try replacement.run(opening: nil)
  }

  /// Removes everything that the move wrote.
  func abandon() throws(CommandFailure) {
    try MoveTarget.reporting { () throws(StorageError) in try rows.abandon() }
    // If the replacement is half done, its mark blocks relays until it is repeated.
    if let replacement = folder?.replacement, !replacement.isIncomplete {
      try FolderTree.remove(replacement.draft)
    }
  }

  func close() {
    rows.close()
    (files as? PostgresChunkStore)?.close()
    folder?.lock.release()
  }
}
