/// One byte stream of a node. The driver names the connections that come in, a node names those it
/// opens; the topmost bit tells them apart, so that the two can never clash.
///
/// The driver packs what it needs to find the connection again into the rest (a slot and a
/// registration number); to a node it is just a name that is never used twice.
public struct ConnectionID: Hashable, Comparable, Sendable {
  public let rawValue: UInt64

  @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The `number`-th connection that a node opens.
  @inlinable public static func outgoing(_ number: UInt64) -> ConnectionID {
    ConnectionID(rawValue: number | 1 << 63)
  }

  @inlinable public var isOutgoing: Bool { rawValue >> 63 == 1 }

  @inlinable public static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
