import LockstepModel

/// Store for the bytes of file chunks, on a relay and in a device's home. It stores files only; the
/// `ZoneStore` records which account has which chunk, and for how long.
///
/// A file is written by several appends and does not exist until `finish` has verified its hash.
/// Files left unfinished by a crash are removed when the store is opened again.
@usableFromInline
package protocol ChunkStore: AnyObject {
  /// Performs a request. Blocks for as long as the disk takes. Throws if the disk fails; a file
  /// that was being written is then removed.
  func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult
}

@usableFromInline
package enum ChunkRequest: Sendable, Hashable {
  /// Appends bytes to an unfinished file. The first append, which may be empty, creates the file.
  case append(ChunkFile, [UInt8])
  /// Completes the file if its bytes have this hash. From then on it exists, durably.
  case finish(ChunkFile, expecting: ChunkHash)
  /// Reads at most `count` bytes of a complete file, from `offset`; fewer at its end.
  case read(ChunkFile, offset: Int, count: Int)
  /// Removes files, complete or unfinished. A missing file is ignored.
  case remove([ChunkFile])
  case removeAll(of: AccountID)
  /// Lists files that were complete when the store was opened, in order, after the given one. For
  /// the sweep after a crash, which must not include current uploads. Files up to the given one are
  /// not listed again.
  case list(after: ChunkFile?, limit: Int)
}

@usableFromInline
package enum ChunkResult: Sendable, Hashable {
  case done
  case bytes([UInt8])
  case files([ChunkFile])
  /// `hashMismatch`, and `bodyTooLarge` above `Limits.chunkBytes`: the unfinished file is removed.
  /// `notFound`: there is no such file. `overloaded`: the maximum number of files is being written.
  case refused(Refusal)
}

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
