/// What a relay takes of a crowd, and how a crowd comes back to it.
extension Limits {
  // Memory.
  /// A message before the session is open, in bytes: a `hello` is a token and a cursor, and until
  /// then nobody knows who sends.
  public static let helloBytes = 4 << 10
  /// One account, or one address before it has signed in, takes at most this part of what a loop
  /// has of them, but always a message and a page as they lie in memory: others are served while
  /// it reads nothing.
  public static let bodyShares = 8
  public static let bodyShareFloorBytes = 8 << 20
  /// What a record of a batch takes in memory besides its bytes on the wire, about.
  public static let recordOverheadBytes = 256
  /// The head of a request counts as memory that is held where it is longer: with a browser's it
  /// is a matter of the connection.
  public static let lightHeadBytes = 4 << 10
  /// How often the relay looks whether the allocator keeps much that is free, and how much more
  /// than after the last time is given back to the system.
  public static let heapLookMilliseconds: Int64 = 5_000
  public static let heapSlackBytes = 8 << 20

  // Coming back to a relay that all its devices have lost.
  /// Of the span over which they come back: for each of them, for some hundred and more, and at
  /// most. A span below the last is not told: the first retry is spread as far anyway.
  public static let reconnectPerConnectionMilliseconds: Int64 = 50
  public static let reconnectCrowdMilliseconds: Int64 = 15_000
  public static let reconnectMilliseconds: Int64 = 60_000
  public static let reconnectFloorMilliseconds: Int64 = 1_000
  /// The longest such span that a device obeys.
  public static let reconnectObeyedMilliseconds: Int64 = 300_000
}
