import LockstepModel

/// By how many records more, or less, a chunk is named from now on.
package struct ChunkChange: Hashable {
  package var hash: ChunkHash
  package var change: Int

  package init(_ hash: ChunkHash, _ change: Int) {
    self.hash = hash
    self.change = change
  }
}

/// Sums up how a batch moves what names the chunks of files. A record counts once for each chunk,
/// however often it names it. Only the sum goes to the store, so that a chunk which one record lets
/// go and another one takes is never without any.
package struct ChunkUses {
  private var sums: [ChunkHash: Int] = [:]

  package init() {}

  /// A record that named `old` names `new`.
  package mutating func replace(_ old: [ChunkHash], by new: [ChunkHash]) {
    // Most records name none, and most saves leave them as they are.
    if old == new { return }
    for hash in Set(new).sorted() { sums[hash, default: 0] += 1 }
    for hash in Set(old).sorted() { sums[hash, default: 0] -= 1 }
  }

  /// By hash, without those whose sum is 0.
  package var changes: [ChunkChange] {
    if sums.isEmpty { return [] }
    return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }
      .map { ChunkChange($0.key, $0.value) }
  }
}
