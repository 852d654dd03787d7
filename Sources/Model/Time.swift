/// Point on the monotonic clock, in nanoseconds since some start. Used for deadlines and measured
/// spans; it has no meaning on another machine.
public struct Instant: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  @inlinable public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  @inlinable public func advanced(milliseconds: Int64) -> Instant {
    Instant(nanoseconds: nanoseconds + milliseconds * 1_000_000)
  }

  /// Whole milliseconds from `earlier` to this instant, rounded towards zero.
  @inlinable public func milliseconds(since earlier: Instant) -> Int64 {
    (nanoseconds - earlier.nanoseconds) / 1_000_000
  }
}

/// Time of an event: the monotonic clock, and the wall clock, which people and other processes set
/// and which may jump.
public struct Moment: Hashable, Sendable {
  public var instant: Instant
  /// Milliseconds since the Unix epoch, by this machine's clock.
  public var wall: Int64

  @inlinable public init(instant: Instant, wall: Int64) {
    self.instant = instant
    self.wall = wall
  }
}
