import LockstepModel

/// Chunks of files in the home.
extension MemoryReplicaStore {
  package func chunks(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    hashes.compactMap { state.chunk($0) }
  }

  package func chunks(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    let rest = state.chunks.drop { chunk in hash.map { chunk.hash <= $0 } ?? false }
    return Array(rest.prefix(limit))
  }

  package func namedChunks(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    hashes.filter { state.uses[$0] != nil }
  }

  package func chunkFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    let known = Set(state.chunks.map(\.file))
    return numbers.filter { known.contains($0) }
  }
}

extension MemoryReplicaStore.State {
  func chunk(_ hash: ChunkHash) -> HeldChunk? {
    let index = position(of: hash)
    guard index < chunks.count, chunks[index].hash == hash else { return nil }
    return chunks[index]
  }

  mutating func remove(_ hash: ChunkHash) {
    if chunk(hash) != nil { chunks.remove(at: position(of: hash)) }
  }

  /// Returns the index of the chunk of this hash, or the index at which to insert it.
  func position(of hash: ChunkHash) -> Int {
    chunks.lowerBound { $0.hash < hash }
  }

  /// Counts a record whose chunks change from `old` to `new`.
  mutating func replace(_ old: [ChunkHash], by new: [ChunkHash]) {
    var sum = ChunkUses()
    sum.replace(old, by: new)
    for use in sum.changes {
      let count = uses[use.hash, default: 0] + use.change
      uses[use.hash] = count > 0 ? count : nil
    }
  }
}
