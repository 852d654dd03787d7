import LockstepModel

/// The pieces of files that lie in the home.
extension MemoryReplicaStore {
  package func pieces(_ hashes: [ChunkHash]) throws(StorageError) -> [HeldChunk] {
    hashes.compactMap { state.piece($0) }
  }

  package func pieces(after hash: ChunkHash?, limit: Int) throws(StorageError) -> [HeldChunk] {
    let rest = state.pieces.drop { piece in hash.map { piece.hash <= $0 } ?? false }
    return Array(rest.prefix(limit))
  }

  package func namedPieces(_ hashes: [ChunkHash]) throws(StorageError) -> [ChunkHash] {
    hashes.filter { state.uses[$0] != nil }
  }

  package func pieceFiles(_ numbers: [UInt64]) throws(StorageError) -> [UInt64] {
    let known = Set(state.pieces.map(\.file))
    return numbers.filter { known.contains($0) }
  }
}

extension MemoryReplicaStore.State {
  func piece(_ hash: ChunkHash) -> HeldChunk? {
    let index = position(of: hash)
    guard index < pieces.count, pieces[index].hash == hash else { return nil }
    return pieces[index]
  }

  mutating func remove(_ hash: ChunkHash) {
    if piece(hash) != nil { pieces.remove(at: position(of: hash)) }
  }

  /// Where the piece of this hash is, or belongs.
  func position(of hash: ChunkHash) -> Int {
    pieces.lowerBound { $0.hash < hash }
  }

  /// A record that named `old` names `new`.
  mutating func replace(_ old: [ChunkHash], by new: [ChunkHash]) {
    var sum = ChunkUses()
    sum.replace(old, by: new)
    for use in sum.changes {
      let count = uses[use.hash, default: 0] + use.change
      uses[use.hash] = count > 0 ? count : nil
    }
  }
}
