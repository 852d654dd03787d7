import Changes
import Storage

/// A store that keeps pieces of files beside the records that another keeps.
final class PiecesStore: ZoneStore {
  private let records = MemoryZoneStore()
  private var pieces: [AccountID: [ChunkHash: (chunk: StoredChunk, until: Int64)]] = [:]
  private let rules: StoreRules

  init(_ rules: StoreRules = StoreRules()) { self.rules = rules }

  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult] {
    var results: [CommitResult] = []
    for request in requests { results.append(try perform(request, wall: wall)) }
    return results
  }

  private func perform(_ request: CommitRequest, wall: Int64) throws(StorageError) -> CommitResult {
    let until = wall + rules.chunkLeaseMilliseconds
    switch request {
    case .addChunk(let account, let hash, let file, let bytes):
      if pieces[account]?[hash] != nil {
        pieces[account]?[hash]?.until = until
        return .chunkAdded(isNew: false)
      }
      let held = pieces[account]?.values.reduce(0) { $0 + $1.chunk.bytes } ?? 0
      guard Int64(held + bytes) <= rules.chunkBytesPerAccount else {
        return .refused(Refusal(.quotaExceeded, "There is no room."))
      }
      pieces[account, default: [:]][hash] = (StoredChunk(file: file, bytes: bytes), until)
      return .chunkAdded(isNew: true)
    case .renewChunks(let account, let hashes):
      for hash in hashes { pieces[account]?[hash]?.until = until }
      return .renewed(bytes: hashes.map { pieces[account]?[$0]?.chunk.bytes })
    case .collectChunks(let count):
      var files: [ChunkFile] = []
      for account in pieces.keys.sorted() {
        for hash in pieces[account]?.keys.sorted() ?? [] where files.count < count {
          guard let piece = pieces[account]?[hash], piece.until <= wall else { continue }
          files.append(piece.chunk.file)
          pieces[account]?[hash] = nil
        }
      }
      return .collected(files)
    default: return try records.commit([request], wall: wall)[0]
    }
  }

  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult {
    switch request {
    case .chunk(let account, let hash):
      guard let piece = pieces[account]?[hash] else { return .refused(StoreRefusals.unknownChunk) }
      return .chunk(piece.chunk)
    case .knownFiles(let files):
      return .knownFiles(
        files.map { file in
          pieces[file.account]?.values.contains { $0.chunk.file == file } ?? false
        })
    default: return try records.read(request)
    }
  }
}
