import LockstepModel

/// Counts the unsent bytes of one connection, and the time since some left. The driver holds the
/// bytes, and reports the rest only if not all could be sent at once.
struct SendQueue: Sendable {
  /// Bytes that the driver reported as unsent, and those sent after that.
  private(set) var unsent = 0
  /// Memory of the unsent bytes, as the driver last reported it; 0 if nothing waits.
  private var reportedMemory = 0
  /// Time of the driver's last report that some bytes left, or that some wait. While nothing waits,
  /// the time of the burst.
  private(set) var movedAt = Instant(nanoseconds: 0)
  /// Bytes sent at one time while nothing waited: a moment later it is known if they left.
  private var burst: UInt32 = 0
  /// True if a timer checks for progress.
  var isWatched = false

  mutating func recordSent(_ count: Int, at now: Instant) {
    if unsent > 0 {
      unsent += count
      reportedMemory += count + Self.frameOverhead
    } else {
      if movedAt != now { burst = 0 }
      burst = UInt32(clamping: Int(burst) + count)
      movedAt = now
    }
  }

  /// Records the driver's report of unsent bytes.
  mutating func recordUnsent(_ count: Int, at now: Instant) {
    unsent = count
    if count == 0 { reportedMemory = 0 }
    movedAt = now
    burst = 0
  }

  /// Records the driver's report of the memory of unsent bytes.
  mutating func recordMemory(_ bytes: Int) { reportedMemory = bytes }

  /// Memory that unsent bytes are known to use.
  var held: Int { max(unsent, reportedMemory) }

  /// Returns the same for a connection that is closed now: bytes sent in this moment may wait too.
  func heldAtEnd(at now: Instant) -> Int { held > 0 || movedAt != now ? held : Int(burst) }

  /// Approximate memory of a frame in addition to its bytes.
  private static let frameOverhead = 128

  /// True if more than `limit` bytes are known to wait. The driver will report when some have left,
  /// so work that was deferred because of it is resumed.
  func isClogged(limit: Int) -> Bool { unsent > limit }

  /// True if no bytes are known to wait, and at most `limit` may wait once `count` more are sent.
  func hasRoom(for count: Int, limit: Int, at now: Instant) -> Bool {
    unsent == 0 && (movedAt == now ? Int(burst) : 0) + count <= limit
  }

  /// True if more than `limit` bytes wait, or may wait: too many to add a push.
  func isCrowded(limit: Int, at now: Instant) -> Bool {
    unsent > limit || (movedAt == now && Int(burst) > limit)
  }
}
