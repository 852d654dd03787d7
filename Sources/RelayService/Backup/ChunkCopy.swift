import LockstepModel
import LockstepStorage

/// Copies chunks of files from one store to another, and checks their hashes. A chunk that the
/// source has, and the target does not take, is no defect: the copy fails.
struct ChunkCopy {
  /// Nil if the store has no chunks.
  let source: (any ChunkStore)?
  /// True if the source is a folder, where a single file may be damaged.
  let isFolder: Bool
  let target: any ChunkStore
  /// Text of the target, for errors.
  let place: String

  private enum Part {
    case bytes([UInt8], isLast: Bool)
    /// Defect, worded as the end of a sentence about the chunk.
    case bad(String)
  }

  /// Copies a chunk to `file`. Returns its defect, or nil if the target has the chunk.
  func copy(_ chunk: ExportedChunk, to file: ChunkFile) throws(StorageError) -> String? {
    var offset = 0
    while true {
      switch try read(chunk.stored.file, from: offset) {
      case .bad(let defect):
        if offset > 0 { _ = try target.perform(.remove([file])) }
        return defect
      case .bytes(let bytes, let isLast):
        if let refusal = try perform(.append(file, bytes)) { throw failure(refusal) }
        offset += bytes.count
        guard isLast else { continue }
        guard let refusal = try perform(.finish(file, expecting: chunk.hash)) else { return nil }
        guard refusal.code == .hashMismatch else { throw failure(refusal) }
        return "has other bytes than its hash says"
      }
    }
  }

  /// True if the target has a file of so many bytes, complete.
  func isThere(_ file: ChunkFile, bytes: Int) throws(StorageError) -> Bool {
    let last = ChunkRequest.read(file, offset: max(0, bytes - 1), count: 2)
    guard case .bytes(let found) = try target.perform(last) else { return false }
    return found.count == min(1, bytes)
  }

  /// Returns a part of a chunk and whether it is the last one, or the chunk's defect. Throws if the
  /// store as a whole cannot be read.
  private func read(_ file: ChunkFile, from offset: Int) throws(StorageError) -> Part {
    guard let source else { return .bad("is missing") }
    do throws(StorageError) {
      let count = Limits.chunkPortionBytes
      switch try source.perform(.read(file, offset: offset, count: count)) {
      case .bytes(let bytes): return .bytes(bytes, isLast: bytes.count < count)
      case .refused: return .bad("is missing")
      case .done, .files: return .bad("cannot be read")
      }
    } catch {
      switch error {
      case .corrupt(_, let detail): return .bad("cannot be read (\(detail))")
      // The disk fails to read one file of many.
      case .failed(_, _, let detail) where isFolder: return .bad("cannot be read (\(detail))")
      default: throw error
      }
    }
  }

  private func perform(_ request: ChunkRequest) throws(StorageError) -> Refusal? {
    guard case .refused(let refusal) = try target.perform(request) else { return nil }
    return refusal
  }

  private func failure(_ refusal: Refusal) -> StorageError {
    .failed(path: place, operation: "receive a chunk of a file", detail: refusal.detail)
  }
}
