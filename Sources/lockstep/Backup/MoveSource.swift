import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// A store that is moved, of either kind, with the chunks of its files. Nobody else writes to it
/// meanwhile.
final class MoveSource {
  let rows: any StoreSource
  /// nil where there are none.
  private let files: (any ChunkStore)?
  private let folder: (path: String, lock: DirectoryLock)?

  /// `retirement`: an `OpeningNumber`, see `StoreSource.retire`.
  init(_ place: StorePlace, retirement: UInt64) throws(StorageError) {
    switch place {
    case .folder(let path):
      guard SQLiteZoneStore.exists(in: path) else {
        throw .failed(
          path: path, operation: "be moved", detail: "there is no store of a relay in that folder")
      }
      folder = (path, try DirectoryLock(directory: path))
      rows = try SQLiteStoreSource(directory: path, retirement: retirement)
      let chunks = RelayStore.chunks(in: path)
      files = FolderTree.has(chunks) ? try FileChunkStore(directory: chunks) : nil
    case .database(let address):
      folder = nil
      let source = try PostgresStoreSource(address)
      rows = source
      files = try source.makeFiles()
    }
  }

  /// A part of a chunk, and whether there may be more behind it; or what is wrong with the chunk.
  /// Throws where the store as a whole cannot be read.
  func read(_ file: ChunkFile, from offset: Int) throws(StorageError) -> Part {
    guard let files else { return .bad("is missing") }
    do throws(StorageError) {
      let count = Limits.chunkPortionBytes
      switch try files.perform(.read(file, offset: offset, count: count)) {
      case .bytes(let bytes): return .bytes(bytes, isLast: bytes.count < count)
      case .refused: return .bad("is missing")
      case .done, .files: return .bad("cannot be read")
      }
    } catch {
      switch error {
      case .corrupt(_, let detail): return .bad("cannot be read (\(detail))")
      // One file of many that the disk does not give.
      case .failed(_, _, let detail) where folder != nil: return .bad("cannot be read (\(detail))")
      default: throw error
      }
    }
  }

  enum Part {
    case bytes([UInt8], isLast: Bool)
    /// As a sentence goes on behind "the piece".
    case bad(String)
  }

  /// It was moved.
  func retire() throws(CommandFailure) {
    try reporting { () throws(StorageError) in try rows.retire() }
    guard let folder, getuid() == 0 else { return }
    // As root it may be another's that runs the relay.
    var owner = stat()
    guard stat(folder.path, &owner) == 0 else {
      throw PlainFile.failure(folder.path, "be looked at", errno)
    }
    try FolderTree.give(folder.path + "/opening", to: owner)
  }

  func close() {
    rows.close()
    (files as? PostgresChunkStore)?.close()
    folder?.lock.release()
  }
}
