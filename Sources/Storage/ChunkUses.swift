import LockstepModel

/// Change in the number of records that name a chunk.
package struct ChunkChange: Hashable {
  package var hash: ChunkHash
  package var change: Int

  package init(_ hash: ChunkHash, _ change: Int) {
    self.hash = hash
    self.change = change
  }
}

/// Sum of a batch's changes in the number of records that name each chunk. A record counts once per
/// chunk, however often it names it. Only the sum is written to the store, so that a chunk that
/// moves from one record to another is never without a reference.
package struct ChunkUses {
  private var sums: [ChunkHash: Int] = [:]

  package init() {}

  /// Counts a record whose chunks change from `old` to `new`.
  package mutating func replace(_ old: [ChunkHash], by new: [ChunkHash]) {
    // Most records name no chunks, and most saves do not change them.
    if old == new { return }
    for hash in Set(new).sorted() { sums[hash, default: 0] += 1 }
    for hash in Set(old).sorted() { sums[hash, default: 0] -= 1 }
  }

  /// Changes by hash, without those whose sum is 0.
  package var changes: [ChunkChange] {
    if sums.isEmpty { return [] }
    return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }
      .map { ChunkChange($0.key, $0.value) }
  }
}
