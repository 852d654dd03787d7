/// One byte stream of a node. The driver chooses the ids of incoming connections, a node those of
/// outgoing ones. The topmost bit distinguishes them, so that they never collide.
///
/// The driver packs the data that it needs to find the connection into the other bits (a slot and a
/// registration number). For a node it is an opaque id that is never used twice.
public struct ConnectionID: Hashable, Comparable, Sendable {
  public let rawValue: UInt64

  @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Returns the id of the `number`-th connection that a node opens.
  @inlinable public static func outgoing(_ number: UInt64) -> ConnectionID {
    ConnectionID(rawValue: number | 1 << 63)
  }

  @inlinable public var isOutgoing: Bool { rawValue >> 63 == 1 }

  @inlinable public static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
