/// Limits on load from many clients, and the spread of their reconnects.
extension Limits {
  // Memory.
  /// Bytes of a message before the session is open: a `hello` holds a token and a cursor, and the
  /// sender is unknown until then.
  public static let helloBytes = 4 << 10
  /// Divisor of a loop's body budget: one account, or one address before sign-in, holds at most
  /// this fraction of it, but always `bodyShareFloorBytes`, enough for a message and a page in
  /// memory. Beyond its share the holder is not read, and others are still served.
  public static let bodyShares = 8
  public static let bodyShareFloorBytes = 8 << 20
  /// Approximate memory of a record of a batch beyond its bytes on the wire.
  public static let recordOverheadBytes = 256
  /// Bytes up to which the head of a request is not counted as held memory. A browser's head is
  /// below it and belongs to the cost of the connection.
  public static let lightHeadBytes = 4 << 10
  /// Interval at which the relay checks how much free memory the allocator keeps, and the growth
  /// since the last time from which that memory is returned to the system.
  public static let heapLookMilliseconds: Int64 = 5_000
  public static let heapSlackBytes = 8 << 20

  // Reconnects to a relay after all its devices lost it.
  /// Span over which devices reconnect, in milliseconds: per connection; the most that this gives,
  /// for some hundred devices and more; the maximum. A span below the floor is not sent: the first
  /// retry is spread as far anyway.
  public static let reconnectPerConnectionMilliseconds: Int64 = 50
  public static let reconnectCrowdMilliseconds: Int64 = 15_000
  public static let reconnectMilliseconds: Int64 = 60_000
  public static let reconnectFloorMilliseconds: Int64 = 1_000
  /// Longest such span that a device obeys.
  public static let reconnectObeyedMilliseconds: Int64 = 300_000
}
