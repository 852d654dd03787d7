import CLinux

/// The memory that the process's allocator keeps beyond what is in use.
public enum Heap {
  /// Large blocks go back to the system when they are freed: buffers of a flood leave nothing
  /// behind. To be called before threads are started.
  public static func mapLargeBlocks() { linux_map_blocks_from(128 << 10) }

  /// Bytes that are free and were not given back, or were and are still counted.
  public static var freeBytes: Int { linux_free_heap_bytes() }

  /// Gives free pages back to the system.
  public static func trim() { linux_trim_heap() }
}

/// Decides when a heap is trimmed: when much more of it is free than ever since the last time. What
/// was given back goes on to count as free, so that a quiet heap is not trimmed again and again.
public struct HeapWatch: Sendable {
  private let slackBytes: Int
  private var leastFree = 0

  public init(slackBytes: Int) { self.slackBytes = slackBytes }

  /// `freeBytes`: as they are now.
  public mutating func wantsTrim(freeBytes: Int) -> Bool {
    leastFree = min(leastFree, freeBytes)
    guard freeBytes - leastFree >= slackBytes else { return false }
    leastFree = freeBytes
    return true
  }
}
