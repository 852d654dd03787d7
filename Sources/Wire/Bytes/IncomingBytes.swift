import LockstepJSON

/// Buffer of received bytes that are not yet parsed: appended at the end, removed from the front.
/// Owns no memory while it is empty, so that an idle connection costs none.
package struct IncomingBytes: Sendable {
  private var storage: [UInt8] = []
  /// Number of bytes at the front of `storage` that are removed already.
  private var removed: UInt32 = 0

  package init() {}

  private var start: Int {
    get { Int(removed) }
    set { removed = UInt32(newValue) }
  }

  package var count: Int { storage.count - start }
  package var isEmpty: Bool { start == storage.count }

  /// Memory of the buffer, up to twice its bytes.
  package var heldBytes: Int { storage.capacity }

  /// Returns the byte at `offset` from the front.
  package subscript(offset: Int) -> UInt8 { storage[start + offset] }

  /// Returns the bytes at these offsets from the front, without copying them.
  @_lifetime(borrow self)
  package func bytes(_ range: Range<Int>) -> Span<UInt8> {
    storage.span.extracting(start + range.lowerBound..<start + range.upperBound)
  }

  package mutating func append(_ bytes: RawSpan) {
    // Moving the remaining bytes never costs more than the bytes removed since the last move.
    if start > 0, start >= count {
      storage.removeFirst(start)
      start = 0
    }
    bytes.withUnsafeBytes { storage.append(contentsOf: $0) }
  }

  package mutating func drop(_ count: Int) {
    start += count
    precondition(start <= storage.count, "more bytes dropped than buffered")
    if isEmpty { removeAll() }
  }

  /// Removes and returns the first `count` bytes.
  package mutating func removePrefix(_ count: Int) -> [UInt8] {
    if start == 0, count == storage.count {
      let prefix = storage
      removeAll()
      return prefix
    }
    let prefix = Array(storage[start..<start + count])
    drop(count)
    return prefix
  }

  package mutating func removeAll() {
    storage = []
    start = 0
  }
}
