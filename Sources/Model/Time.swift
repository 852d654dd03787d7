/// A point on a clock that only goes forward, in nanoseconds since some start.
/// Deadlines and measured spans use it; it means nothing on another machine.
public struct Instant: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  @inlinable public static func < (left: Instant, right: Instant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }

  @inlinable public func advanced(milliseconds: Int64) -> Instant {
    Instant(nanoseconds: nanoseconds + milliseconds * 1_000_000)
  }

  /// Whole milliseconds from `earlier` to here, rounded towards zero.
  @inlinable public func milliseconds(since earlier: Instant) -> Int64 {
    (nanoseconds - earlier.nanoseconds) / 1_000_000
  }
}

/// What time it is when a node is told something: the clock that only goes forward, and the wall
/// clock, which people and other processes set and which may jump.
public struct Moment: Hashable, Sendable {
  public var instant: Instant
  /// Milliseconds since the Unix epoch, by this machine's clock.
  public var wall: Int64

  @inlinable public init(instant: Instant, wall: Int64) {
    self.instant = instant
    self.wall = wall
  }
}
