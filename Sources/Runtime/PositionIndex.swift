import LockstepModel

/// Key of an element in a table with a `PositionIndex`.
@usableFromInline
package protocol IndexedKey: Equatable {
  /// Equal for equal keys. Consecutive numbers are as good as random ones.
  var indexHash: UInt64 { get }
}

extension Int: IndexedKey {
  @inlinable package var indexHash: UInt64 { UInt64(truncatingIfNeeded: self) }
}

extension AccountID: IndexedKey {
  @inlinable package var indexHash: UInt64 { rawValue }
}

/// The key of an element that may be free.
extension Optional: IndexedKey where Wrapped: IndexedKey {
  @inlinable package var indexHash: UInt64 { self?.indexHash ?? 0 }
}

/// Index of a table: finds the position of an element by its key. The keys stay in the table, so an
/// entry takes four bytes, and up to three quarters of the entries are in use.
///
/// Open addressing with linear probing. A removal closes the gap that it leaves (Knuth, volume 3,
/// section 6.4, algorithm R), so no search passes removed entries.
///
/// `keyAt` returns the key of the element at a position of the table.
@usableFromInline
package struct PositionIndex: Sendable {
  @usableFromInline var entries: [UInt32] = []
  /// Number of positions.
  @usableFromInline package var count = 0

  /// Stored in an entry without a position.
  @inlinable static var empty: UInt32 { .max }

  @inlinable package init() {}

  /// Returns nil if no element has the key.
  @inlinable
  package func position<Key: IndexedKey>(of key: Key, keyAt: (Int) -> Key) -> Int? {
    guard count > 0 else { return nil }
    var place = home(of: key)
    while entries[place] != Self.empty {
      let position = Int(entries[place])
      if keyAt(position) == key { return position }
      place = next(after: place)
    }
    return nil
  }

  /// Adds the position of an element whose key is new.
  @inlinable
  package mutating func insert<Key: IndexedKey>(_ position: Int, keyAt: (Int) -> Key) {
    if 4 * (count + 1) > 3 * entries.count { grow(keyAt) }
    place(UInt32(position), keyAt(position))
    count += 1
  }

  /// Removes the position of an element that is still in the table.
  @inlinable
  package mutating func remove<Key: IndexedKey>(_ position: Int, keyAt: (Int) -> Key) {
    guard count > 0 else { return }
    var gap = home(of: keyAt(position))
    while entries[gap] != UInt32(position) {
      if entries[gap] == Self.empty { return }
      gap = next(after: gap)
    }
    count -= 1
    var place = next(after: gap)
    while entries[place] != Self.empty {
      // An entry moves to the gap unless its search begins after the gap.
      let distance = (place &- home(of: keyAt(Int(entries[place])))) & (entries.count - 1)
      if distance >= (place &- gap) & (entries.count - 1) {
        entries[gap] = entries[place]
        gap = place
      }
      place = next(after: place)
    }
    entries[gap] = Self.empty
  }

  // MARK: entries

  /// Returns the entry at which the search for a key begins (Fibonacci hashing).
  @inlinable
  func home<Key: IndexedKey>(of key: Key) -> Int {
    let bits = UInt64(entries.count.trailingZeroBitCount)
    return Int((key.indexHash &* 0x9E37_79B9_7F4A_7C15) >> (64 - bits))
  }

  @inlinable func next(after place: Int) -> Int { (place + 1) & (entries.count - 1) }

  @inlinable
  mutating func place<Key: IndexedKey>(_ position: UInt32, _ key: Key) {
    var place = home(of: key)
    while entries[place] != Self.empty { place = next(after: place) }
    entries[place] = position
  }

  /// Doubles the number of entries, which is a power of two.
  @inlinable
  mutating func grow<Key: IndexedKey>(_ keyAt: (Int) -> Key) {
    let before = entries
    entries = Array(repeating: Self.empty, count: max(16, before.count * 2))
    for position in before where position != Self.empty { place(position, keyAt(Int(position))) }
  }
}
