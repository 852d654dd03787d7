import Glibc
import LockstepModel
import LockstepStorage
import LockstepStorageFiles
import LockstepStoragePostgres
import LockstepStorageSQLite

/// Store to be moved, in a folder or a database, with the chunks of its files. No other process
/// writes to it during the move.
final class MoveSource {
  let rows: any StoreSource
  /// Nil if the store has no chunks.
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

  /// Returns a part of a chunk and whether it is the last one, or the chunk's defect. Throws if the
  /// store as a whole cannot be read.
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
      // The disk fails to read one file of many.
      case .failed(_, _, let detail) where folder != nil: return .bad("cannot be read (\(detail))")
      default: throw error
      }
    }
  }

  enum Part {
    case bytes([UInt8], isLast: Bool)
    /// Defect, worded as the end of a sentence about the chunk.
    case bad(String)
  }

  /// Marks the store as moved.
  func retire() throws(CommandFailure) {
    try reporting { () throws(StorageError) in try rows.retire() }
    guard let folder, getuid() == 0 else { return }
    // If root runs the move, the relay may run as another user.
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
