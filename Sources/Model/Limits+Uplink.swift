/// Limits of a device whose network path to the relay refuses large or long requests.
extension Limits {
  /// Request size in bytes that every hop between a device and its relay accepts. If such a request
  /// is refused for its size, it is treated as an ordinary outage.
  public static let smallRequestBytes = 8 << 10
  /// Shortest long-poll that a device asks for. A long-poll that is cut is halved, but not below
  /// this: a request every few seconds costs more than a change that comes late.
  public static let shortestLongPollMilliseconds: Int64 = 6_000
}
