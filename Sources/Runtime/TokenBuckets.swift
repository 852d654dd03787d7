import LockstepModel

/// Rate limiter with a token bucket per key: a long-term rate and a burst. The caller passes the
/// time, and the number of remembered keys is bounded.
///
/// A bucket is one number, the time at which it is full again (the generic cell rate algorithm).
/// Taking a token moves it by the interval between two tokens.
///
///     now ──────────────── full         what is missing: (full − now) ÷ interval tokens
///      └──── depth ───────────┘         empty: one more would move it beyond now + depth
@usableFromInline
package struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
  /// Nanoseconds from one token to the next, and from an empty bucket to a full one.
  @usableFromInline let interval: Int64
  @usableFromInline let depth: Int64
  @usableFromInline let keys: Int
  /// Remembered keys below which no bucket is forgotten.
  @inlinable static var keysMin: Int { 1_024 }
  /// Recently used keys, and those used before. When half of the allowed number of keys is in
  /// `lately`, it replaces `before`; the buckets that are forgotten are mostly full by then.
  @usableFromInline var lately: [Key: Int64] = [:]
  @usableFromInline var before: [Key: Int64] = [:]

  /// `tokens` are added in `milliseconds`; a full bucket holds `burst`; at most `keys` are
  /// remembered.
  @inlinable
  package init(_ tokens: Int, inMilliseconds milliseconds: Int64, burst: Int, keys: Int) {
    precondition(tokens > 0 && burst > 0 && keys > 1)
    interval = max(1, milliseconds * 1_000_000 / Int64(tokens))
    depth = interval * Int64(burst)
    self.keys = keys
  }

  /// Number of remembered keys.
  @inlinable package var count: Int { lately.count + before.count }

  /// Takes a token. Without one, returns the milliseconds until there is one.
  @inlinable
  package mutating func takeToken(_ key: Key, at now: Instant) -> Int64? {
    // Usually the key is in `lately` and is looked up once.
    let place = lately.index(forKey: key)
    let full = max(fullAt(place, key), now.nanoseconds)
    if let wait = wait(untilFull: full, at: now) { return wait }
    storeBucket(key, place, fullAt: full + interval, at: now)
    return nil
  }

  /// Takes tokens even if there are too few, for work that is already done. Returns the
  /// milliseconds until there is a token; nil if there is one.
  @inlinable
  @discardableResult
  package mutating func spendTokens(_ key: Key, _ tokens: Int64 = 1, at now: Instant) -> Int64? {
    let place = lately.index(forKey: key)
    let (spent, isTooMuch) = interval.multipliedReportingOverflow(by: tokens)
    let full = max(fullAt(place, key), now.nanoseconds) + (isTooMuch ? depth : spent)
    storeBucket(key, place, fullAt: full, at: now)
    return wait(untilFull: full, at: now)
  }

  /// True if there is a token; takes nothing.
  @inlinable
  package func hasToken(_ key: Key, at now: Instant) -> Bool {
    guard count > 0 else { return true }
    return wait(untilFull: fullAt(lately.index(forKey: key), key), at: now) == nil
  }

  /// Returns a token to the bucket.
  @inlinable
  package mutating func returnToken(_ key: Key) {
    let place = lately.index(forKey: key)
    guard place != nil || before[key] != nil else { return }
    storeBucket(key, place, fullAt: fullAt(place, key) - interval, at: nil)
  }

  /// Returns the milliseconds, rounded up, until there is a token; nil if there is one.
  @inlinable
  func wait(untilFull fullAt: Int64, at now: Instant) -> Int64? {
    let late = max(fullAt, now.nanoseconds) + interval - depth - now.nanoseconds
    return late > 0 ? (late + 999_999) / 1_000_000 : nil
  }

  /// `place`: index of the key in `lately`.
  @inlinable
  func fullAt(_ place: Dictionary<Key, Int64>.Index?, _ key: Key) -> Int64 {
    if let place { return lately.values[place] }
    // Usually no key was used before, and nothing is looked up.
    return before.isEmpty ? .min / 2 : before[key] ?? .min / 2
  }

  @inlinable
  mutating func storeBucket(
    _ key: Key, _ place: Dictionary<Key, Int64>.Index?, fullAt: Int64, at now: Instant?
  ) {
    if let place {
      lately.values[place] = fullAt
      return
    }
    if lately.count >= keys / 2 {
      before = lately
      lately = [:]
    } else if let now, lately.count == lately.capacity, lately.count >= Self.keysMin {
      forgetFullBuckets(at: now)
    }
    lately[key] = fullAt
    if !before.isEmpty { before[key] = nil }
  }

  /// Forgets the buckets that are full again: a bucket that is not remembered counts as full.
  /// Called when the dictionary would grow. Half of its room stays, and it grows if that is still
  /// too little, so that the next call comes only after many new keys.
  @inlinable
  mutating func forgetFullBuckets(at now: Instant) {
    let room = lately.capacity / 2
    lately = lately.filter { $0.value > now.nanoseconds }
    lately.reserveCapacity(lately.count > room ? 4 * room : room)
  }
}
