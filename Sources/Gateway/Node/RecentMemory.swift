import LockstepModel

/// Values by key that are remembered for a limited time. The number of keys is bounded too: when
/// half of it is in `lately`, that replaces `before`, whose values are forgotten.
struct RecentMemory<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Entry: Sendable {
    let value: Value
    /// Time from which it is forgotten.
    let end: Instant
  }

  private let milliseconds: Int64
  private let keys: Int
  private var lately: [Key: Entry] = [:]
  private var before: [Key: Entry] = [:]

  init(keys: Int, milliseconds: Int64) {
    precondition(keys > 1 && milliseconds > 0)
    self.keys = keys
    self.milliseconds = milliseconds
  }

  /// Number of remembered keys, with those whose time is over.
  var count: Int { lately.count + before.count }

  func value(of key: Key, at now: Instant) -> Value? {
    guard let entry = lately[key] ?? before[key], entry.end > now else { return nil }
    return entry.value
  }

  mutating func remember(_ value: Value, of key: Key, at now: Instant) {
    before[key] = nil
    if lately.count >= keys / 2, lately[key] == nil {
      before = lately
      lately = [:]
    }
    lately[key] = Entry(value: value, end: now.advanced(milliseconds: milliseconds))
  }

  mutating func forget(_ key: Key) {
    lately[key] = nil
    before[key] = nil
  }
}
