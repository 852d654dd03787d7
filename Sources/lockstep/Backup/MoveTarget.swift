import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Target of a move, in a folder or a database, with its chunk store. Until `finish`, nothing there
/// can be mistaken for a store: in a folder it is made in a draft, and a database is closed to all
/// other clients.
final class MoveTarget {
  private let rows: any StoreTarget
  private let files: any ChunkStore
  private let folder: (replacement: StoreReplacement, lock: DirectoryLock)?

  /// `wall`: milliseconds since the Unix epoch. Throws if the target already has accounts.
  init(_ place: StorePlace, wall: Int64) throws(CommandFailure) {
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
    guard SQLiteZoneStore.exists(in: path), !replacement.isHalf else { return }
    let accounts = try reporting { () throws(StorageError) in
      let found = try ZoneInspector(directory: path)
      defer { found.close() }
      return try found.counts().accounts
    }
    guard accounts == 0 else {
      throw CommandFailure(
        "there is a store in \(path) already, with \(accounts) "
          + "\(accounts == 1 ? "account" : "accounts"); name another place with --to")
    }
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

  func take(_ more: StoreRows) throws(StorageError) { try rows.take(more) }

  /// Appends bytes to the file.
  func append(_ bytes: [UInt8], to file: ChunkFile) throws(StorageError) -> Refusal? {
    try answer(.append(file, bytes))
  }

  /// Completes the file if its bytes have that hash.
  func finish(_ file: ChunkFile, _ hash: ChunkHash) throws(StorageError) -> Refusal? {
    try answer(.finish(file, expecting: hash))
  }

  func drop(_ file: ChunkFile) throws(StorageError) { _ = try files.perform(.remove([file])) }

  private func answer(_ request: ChunkRequest) throws(StorageError) -> Refusal? {
    guard case .refused(let refusal) = try files.perform(request) else { return nil }
    return refusal
  }

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
    if let replacement = folder?.replacement, !replacement.isHalf {
      try FolderTree.remove(replacement.draft)
    }
  }

  func close() {
    rows.close()
    (files as? PostgresChunkStore)?.close()
    folder?.lock.release()
  }
}
