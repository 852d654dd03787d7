import LockstepCrypto
import LockstepModel

/// Reference implementation of a chunk store, in memory: it defines the behaviour of the others.
/// For one thread.
package final class MemoryChunkStore: ChunkStore {
  private var unfinished: [ChunkFile: [UInt8]] = [:]
  private var whole: [ChunkFile: [UInt8]]
  /// Files that were complete when the store was opened and that `list` has not passed yet, in
  /// order.
  private var unlistedFiles: [ChunkFile]

  package convenience init() { self.init([:]) }

  private init(_ whole: [ChunkFile: [UInt8]]) {
    self.whole = whole
    unlistedFiles = whole.keys.sorted()
  }

  /// Returns the store as it is after a restart or a crash: with the complete files, and without
  /// the unfinished ones.
  package func reopened() -> MemoryChunkStore { MemoryChunkStore(whole) }

  /// Complete files, in order.
  package var files: [ChunkFile] { whole.keys.sorted() }

  /// Numbers of complete and of unfinished files.
  package var counts: (whole: Int, unfinished: Int) { (whole.count, unfinished.count) }

  /// Changes a byte of a complete file, as a failing disk would.
  package func damage(_ file: ChunkFile, at offset: Int) { whole[file]?[offset] ^= 1 }

  package func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult {
    switch request {
    case .append(let file, let bytes): append(bytes, to: file)
    case .finish(let file, let hash): finish(file, expecting: hash)
    case .read(let file, let offset, let count): read(file, offset: offset, count: count)
    case .remove(let files): remove(files)
    case .removeAll(let account): remove(files(of: account))
    case .list(let file, let limit): list(after: file, limit: limit)
    }
  }

  private func append(_ bytes: [UInt8], to file: ChunkFile) -> ChunkResult {
    guard whole[file] == nil else { return .refused(StoreRefusals.taken) }
    guard unfinished[file] != nil || unfinished.count < Limits.uploads else {
      return .refused(StoreRefusals.tooManyUploads)
    }
    let size = unfinished[file]?.count ?? 0
    guard bytes.count <= Limits.chunkBytes - size else {
      unfinished[file] = nil
      return .refused(StoreRefusals.chunkTooLarge)
    }
    unfinished[file, default: []] += bytes
    return .done
  }

  private func finish(_ file: ChunkFile, expecting hash: ChunkHash) -> ChunkResult {
    guard let bytes = unfinished.removeValue(forKey: file) else {
      return .refused(StoreRefusals.unknownChunk)
    }
    guard SHA256.hash(bytes) == hash.bytes else { return .refused(StoreRefusals.hashMismatch) }
    whole[file] = bytes
    return .done
  }

  private func read(_ file: ChunkFile, offset: Int, count: Int) -> ChunkResult {
    guard let bytes = whole[file] else { return .refused(StoreRefusals.unknownChunk) }
    return .bytes(Array(bytes.dropFirst(offset).prefix(count)))
  }

  private func remove(_ files: [ChunkFile]) -> ChunkResult {
    for file in files {
      unfinished[file] = nil
      whole[file] = nil
    }
    return .done
  }

  private func files(of account: AccountID) -> [ChunkFile] {
    (unfinished.keys.sorted() + whole.keys.sorted()).filter { $0.account == account }
  }

  private func list(after file: ChunkFile?, limit: Int) -> ChunkResult {
    if let file { unlistedFiles.removeFirst(unlistedFiles.prefix { $0 <= file }.count) }
    return .files(Array(unlistedFiles.prefix(limit)))
  }
}
