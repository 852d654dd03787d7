import LockstepModel

/// How much waits to leave one connection, and since when it has not moved. The bytes themselves
/// lie with the driver, which tells what is left only where not all could leave at once.
struct SendQueue: Sendable {
  /// What the driver said still waits, and what was sent after that.
  private(set) var unsent = 0
  /// Memory that it takes, as the driver told last; 0 where nothing waits.
  private var told = 0
  /// When the driver last said that some has left, or that something waits.
  private(set) var movedAt = Instant(nanoseconds: 0)
  /// A timer watches whether it moves.
  var isWatched = false
  /// Bytes sent at `burstAt`, while nothing waited: whether they left is known a moment later.
  private var burst = 0
  private var burstAt = Instant(nanoseconds: 0)

  mutating func add(_ count: Int, at now: Instant) {
    if unsent > 0 {
      unsent += count
      told += count + Self.frameOverhead
    } else {
      if burstAt != now { burst = 0 }
      burst += count
      burstAt = now
    }
  }

  /// The driver's word on what still waits.
  mutating func drained(to count: Int, at now: Instant) {
    unsent = count
    if count == 0 { told = 0 }
    movedAt = now
    burst = 0
  }

  /// The driver's word on the memory that it takes.
  mutating func holds(_ bytes: Int) { told = bytes }

  /// Memory that is known to be taken by what waits.
  var held: Int { max(unsent, told) }

  /// The same where the connection is closed now: what was sent in this moment may wait as well.
  func heldAtEnd(at now: Instant) -> Int { held > 0 || burstAt != now ? held : burst }

  /// About what a frame takes besides its bytes.
  private static let frameOverhead = 128

  /// Whether more than `limit` bytes are known to wait. The driver will tell when some have left,
  /// so what is put off because of it is not forgotten.
  func isClogged(limit: Int) -> Bool { unsent > limit }

  /// Whether more than `limit` bytes wait, or may wait: too much to add a push.
  func isCrowded(limit: Int, at now: Instant) -> Bool {
    unsent > limit || (burstAt == now && burst > limit)
  }
}
