import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Where a store is moved to, of either kind, with room for the chunks of its files. Until `finish`
/// there is nothing that could be mistaken for a store: in a folder it is made in a draft beside, a
/// database is closed to all others meanwhile.
final class MoveTarget {
  private let rows: any StoreTarget
  private let files: any ChunkStore
  private let folder: (replacement: StoreReplacement, lock: DirectoryLock)?

  /// `wall`: milliseconds since the Unix epoch. Throws where there are accounts already.
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

  /// A store without any, as a relay leaves it that was started once, may stand there.
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

  /// What holds a store is told with what to do about it.
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

  /// The file's bytes so far go on with these.
  func append(_ bytes: [UInt8], to file: ChunkFile) throws(StorageError) -> Refusal? {
    try answer(.append(file, bytes))
  }

  /// Stands from here on, if it has the bytes of its hash.
  func finish(_ file: ChunkFile, _ hash: ChunkHash) throws(StorageError) -> Refusal? {
    try answer(.finish(file, expecting: hash))
  }

  func drop(_ file: ChunkFile) throws(StorageError) { _ = try files.perform(.remove([file])) }

  private func answer(_ request: ChunkRequest) throws(StorageError) -> Refusal? {
    guard case .refused(let refusal) = try files.perform(request) else { return nil }
    return refusal
  }

  /// It is a store from here on. Gives where that is which was in the folder before; nil where
  /// there was nothing.
  func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(CommandFailure) -> String? {
    try MoveTarget.reporting { () throws(StorageError) in
      try rows.finish(totals, isOlderCopy: isOlderCopy)
    }
    guard let replacement = folder?.replacement else { return nil }
    try FolderTree.sync(replacement.draft, all: true)
    return try replacement.run(opening: nil)
  }

  /// Nothing is left of it.
  func abandon() throws(CommandFailure) {
    try MoveTarget.reporting { () throws(StorageError) in try rows.abandon() }
    // Where it stands half replaced, the mark keeps relays off until it is done again.
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
