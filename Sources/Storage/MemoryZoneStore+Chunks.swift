import LockstepModel

/// Chunk of a file that an account has.
struct MemoryChunk {
  var stored: StoredChunk
  /// Number of records that name it.
  var uses: Int
  /// End of the lease, in relay time. Until then the chunk stays even if no record names it.
  var leaseUntil: Int64
  /// True if an older copy of the store was restored since: the file may be gone, so the chunk is
  /// reported as missing and accepted again.
  var isDoubtful = false
}

/// Metadata of the chunks of files.
extension MemoryZoneStore {
  func addChunk(
    _ hash: ChunkHash, of id: AccountID, _ stored: StoredChunk, wall: Int64
  ) -> CommitResult {
    guard let held = state.accounts[id]?.chunkBytes else {
      return .refused(StoreRefusals.unknownAccount)
    }
    let leaseUntil = wall + rules.chunkLeaseMilliseconds
    if let known = state.accounts[id]?.chunks[hash] {
      state.accounts[id]?.chunks[hash]?.leaseUntil = leaseUntil
      state.accounts[id]?.chunks[hash]?.stored.file = stored.file
      state.accounts[id]?.chunks[hash]?.isDoubtful = false
      return .chunkReplaced(known.stored.file, wasLacking: known.isDoubtful)
    }
    guard Int64(stored.bytes) <= rules.chunkBytesPerAccount - held else {
      return .refused(StoreRefusals.quotaExceeded)
    }
    state.accounts[id]?.chunks[hash] = MemoryChunk(
      stored: stored, uses: 0, leaseUntil: leaseUntil)
    state.accounts[id]?.chunkBytes += Int64(stored.bytes)
    return .chunkAdded
  }

  func renewChunks(_ hashes: [ChunkHash], of id: AccountID, wall: Int64) -> CommitResult {
    guard state.accounts[id] != nil else { return .refused(StoreRefusals.unknownAccount) }
    return .renewed(
      bytes: hashes.map { hash in
        state.accounts[id]?.chunks[hash]?.leaseUntil = wall + rules.chunkLeaseMilliseconds
        guard let chunk = state.accounts[id]?.chunks[hash], !chunk.isDoubtful else { return nil }
        return chunk.stored.bytes
      })
  }

  func apply(_ changes: [ChunkChange], to id: AccountID, wall: Int64) {
    for change in changes {
      guard var chunk = state.accounts[id]?.chunks[change.hash] else { continue }
      chunk.uses += change.change
      if chunk.uses == 0 { chunk.leaseUntil = wall + rules.chunkLeaseMilliseconds }
      state.accounts[id]?.chunks[change.hash] = chunk
    }
  }

  /// Removes chunks without records in the order in which their leases ended, then by account and
  /// hash in the sort order of a database.
  func collectChunks(atMost count: Int, wall: Int64) -> CommitResult {
    typealias Spent = (leaseUntil: Int64, account: Int64, id: AccountID, hash: ChunkHash)
    var spent: [Spent] = []
    for id in state.accounts.keys.sorted() {
      let chunks = state.accounts[id]?.chunks ?? [:]
      let ends = chunks.filter { $0.value.uses == 0 && $0.value.leaseUntil <= wall }
      spent += ends.map { ($0.value.leaseUntil, Int64(bitPattern: id.rawValue), id, $0.key) }
    }
    spent.sort { ($0.leaseUntil, $0.account, $0.hash) < ($1.leaseUntil, $1.account, $1.hash) }
    var files: [ChunkFile] = []
    for chunk in spent.prefix(max(0, count)) {
      guard let gone = state.accounts[chunk.id]?.chunks.removeValue(forKey: chunk.hash) else {
        continue
      }
      state.accounts[chunk.id]?.chunkBytes -= Int64(gone.stored.bytes)
      files.append(gone.stored.file)
    }
    return .collected(files)
  }

  func chunk(_ hash: ChunkHash, of id: AccountID) -> ReadResult {
    guard let chunk = state.accounts[id]?.chunks[hash] else {
      return .refused(StoreRefusals.unknownChunk)
    }
    return .chunk(chunk.stored)
  }

  func use(of file: ChunkFile) -> FileUse {
    guard let chunk = chunk(in: file)?.chunk else { return .none }
    return chunk.isDoubtful ? .doubted : .sure
  }

  func doubt(_ files: [ChunkFile], _ isDoubtful: Bool) -> CommitResult {
    for file in files {
      guard let hash = chunk(in: file)?.hash else { continue }
      state.accounts[file.account]?.chunks[hash]?.isDoubtful = isDoubtful
    }
    return .done
  }

  private func chunk(in file: ChunkFile) -> (hash: ChunkHash, chunk: MemoryChunk)? {
    state.accounts[file.account]?.chunks.first { $0.value.stored.file == file }
      .map { ($0.key, $0.value) }
  }
}
