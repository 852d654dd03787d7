import LockstepModel

/// Queue of connections that share one timeout, oldest first.
struct ExpiryQueue {
  struct Entry {
    var registration: Poller.Registration
    var deadline: Instant
    /// Bytes unsent when the timer started. Fewer now means that the peer still reads.
    var unsent: Int
    /// Number of times the timer was restarted.
    var renewals: Int
  }

  private let milliseconds: Int64
  private var entries: [Entry] = []
  private var head = 0

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  var next: Instant? { head < entries.count ? entries[head].deadline : nil }

  mutating func add(
    _ registration: Poller.Registration, unsent: Int, renewals: Int = 0, at now: Instant
  ) {
    let deadline = now.advanced(milliseconds: milliseconds)
    entries.append(
      Entry(registration: registration, deadline: deadline, unsent: unsent, renewals: renewals))
  }

  mutating func popExpired(at now: Instant) -> Entry? {
    guard let next, next <= now else { return nil }
    return popOldest()
  }

  mutating func popOldest() -> Entry? {
    guard head < entries.count else { return nil }
    let entry = entries[head]
    head += 1
    if head * 2 >= entries.count {
      entries.removeFirst(head)
      head = 0
    }
    return entry
  }
}
