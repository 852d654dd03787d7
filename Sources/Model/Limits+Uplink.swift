/// What a device makes of a way to its relay that does not carry all of it.
extension Limits {
  /// A request of up to this size, in bytes, is too large for nobody between a device and its
  /// relay: where it is refused for its size all the same, that is an outage like any other.
  public static let smallRequestBytes = 8 << 10
  /// A long-poll that is cut is asked to be held for half as long, and not for less than this: a
  /// request every few seconds is dearer than a change that comes late.
  public static let shortestLongPollMilliseconds: Int64 = 6_000
}
