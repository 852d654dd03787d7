import CLinux
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

/// Memory that the process's allocator keeps beyond the memory in use.
@usableFromInline
package enum Heap {
  /// Makes the allocator return large blocks to the system when they are freed, so that buffers of
  /// a load peak do not remain. Call it before threads are started.
  @usableFromInline package static func mapLargeBlocks() { linux_map_blocks_from(128 << 10) }

  /// Bytes that are free in the heap. Freed pages that `trim` returned to the system still count.
  @usableFromInline package static var freeBytes: Int { linux_free_heap_bytes() }

  /// Returns free pages to the system.
  @usableFromInline package static func trim() { linux_trim_heap() }
}

/// Decides when to trim a heap: when free memory has grown by `slackBytes` above its minimum since
/// the last trim. Memory returned to the system still counts as free, so an idle heap is not
/// trimmed repeatedly.
@usableFromInline
package struct HeapWatch: Sendable {
  private let slackBytes: Int
  private var leastFree = 0

  @usableFromInline package init(slackBytes: Int) { self.slackBytes = slackBytes }

  /// Returns true if the heap should be trimmed. `freeBytes`: the current value.
  @usableFromInline
  package mutating func shouldTrim(freeBytes: Int) -> Bool {
    leastFree = min(leastFree, freeBytes)
    guard freeBytes - leastFree >= slackBytes else { return false }
    leastFree = freeBytes
    return true
  }
}
