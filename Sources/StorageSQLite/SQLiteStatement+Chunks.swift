import LockstepModel
import LockstepStorage

/// The chunks that a record names are stored in one column: their concatenated hashes, 32 bytes
/// each, or NULL if there are none.
extension SQLiteStatement {
  @discardableResult func bind(_ chunks: [ChunkHash]) -> SQLiteStatement {
    if chunks.isEmpty { return bind(Int64?.none) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32 * chunks.count)
    for hash in chunks { hash.append(to: &bytes) }
    return bind(bytes)
  }

  @discardableResult func bind(_ hash: ChunkHash) -> SQLiteStatement { bind(hash.bytes) }

  /// Returns nil if the column does not hold whole hashes: the file is damaged.
  func chunks(_ column: Int32) -> [ChunkHash]? {
    if isNull(column) { return [] }
    let bytes = bytes(column)
    guard bytes.count.isMultiple(of: 32) else { return nil }
    return stride(from: 0, to: bytes.count, by: 32).compactMap {
      ChunkHash(bytes: Array(bytes[$0..<$0 + 32]))
    }
  }
}
