public import LockstepModel

/// How often each of many may do something: so often in the long run, and so often at once. Time
/// comes in, and the number of those that are remembered is bounded.
///
/// A bucket is one number, the moment at which it is full again (the generic cell rate algorithm):
/// a token taken moves it by the time in which one token flows in.
///
///     now ──────────────── full         what is missing: (full − now) ÷ interval tokens
///      └──── depth ───────────┘         empty: one more would move it beyond now + depth
public struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
  /// From one token to the next, and from an empty bucket to a full one, in nanoseconds.
  @usableFromInline let interval: Int64
  @usableFromInline let depth: Int64
  @usableFromInline let keys: Int
  /// Those who asked lately, and those who asked before. Once half as many as may be remembered
  /// have asked lately, those before are forgotten, whose buckets are mostly full by then.
  @usableFromInline var lately: [Key: Int64] = [:]
  @usableFromInline var before: [Key: Int64] = [:]

  /// `tokens` come in `milliseconds`; `burst` lie in a full bucket; `keys` are remembered at most.
  @inlinable
  public init(_ tokens: Int, inMilliseconds milliseconds: Int64, burst: Int, keys: Int) {
    precondition(tokens > 0 && burst > 0 && keys > 1)
    interval = max(1, milliseconds * 1_000_000 / Int64(tokens))
    depth = interval * Int64(burst)
    self.keys = keys
  }

  /// How many are remembered.
  @inlinable public var count: Int { lately.count + before.count }

  /// Takes a token; otherwise says for how many milliseconds there is none.
  @inlinable
  public mutating func take(_ key: Key, at now: Instant) -> Int64? {
    // Mostly it asked lately, and is looked up once.
    let place = lately.index(forKey: key)
    let full = max(fullAt(place, key), now.nanoseconds)
    if let wait = wait(untilFull: full, at: now) { return wait }
    remember(key, place, fullAt: full + interval)
    return nil
  }

  /// Takes tokens though there may be none, and says for how many milliseconds there is none now:
  /// for what has been done already.
  @inlinable
  @discardableResult
  public mutating func spend(_ key: Key, _ tokens: Int64 = 1, at now: Instant) -> Int64? {
    let place = lately.index(forKey: key)
    let (spent, isTooMuch) = interval.multipliedReportingOverflow(by: tokens)
    let full = max(fullAt(place, key), now.nanoseconds) + (isTooMuch ? depth : spent)
    remember(key, place, fullAt: full)
    return wait(untilFull: full, at: now)
  }

  /// Whether there is a token; nothing is taken.
  @inlinable
  public func hasToken(_ key: Key, at now: Instant) -> Bool {
    guard count > 0 else { return true }
    return wait(untilFull: fullAt(lately.index(forKey: key), key), at: now) == nil
  }

  /// Puts back what was taken.
  @inlinable
  public mutating func giveBack(_ key: Key) {
    let place = lately.index(forKey: key)
    guard place != nil || before[key] != nil else { return }
    remember(key, place, fullAt: fullAt(place, key) - interval)
  }

  /// For how many milliseconds, rounded up, there is no token; nil where there is one.
  @inlinable
  func wait(untilFull fullAt: Int64, at now: Instant) -> Int64? {
    let late = max(fullAt, now.nanoseconds) + interval - depth - now.nanoseconds
    return late > 0 ? (late + 999_999) / 1_000_000 : nil
  }

  /// `place`: where it is among those who asked lately.
  @inlinable
  func fullAt(_ place: Dictionary<Key, Int64>.Index?, _ key: Key) -> Int64 {
    if let place { lately.values[place] } else { before[key] ?? .min / 2 }
  }

  @inlinable
  mutating func remember(
    _ key: Key, _ place: Dictionary<Key, Int64>.Index?, fullAt: Int64
  ) {
    if let place {
      lately.values[place] = fullAt
      return
    }
    if lately.count >= keys / 2 {
      before = lately
      lately = [:]
    }
    lately[key] = fullAt
    if !before.isEmpty { before[key] = nil }
  }
}
