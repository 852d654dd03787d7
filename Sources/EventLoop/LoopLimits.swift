import LockstepModel

/// The bounds of a loop that whoever runs it may set.
public struct LoopLimits: Sendable, Hashable {
  /// Read at once from a connection.
  public var receiveBytes = Limits.receiveBytes
  /// For a connection that is being closed and takes no byte of what waits for it.
  public var stalledMilliseconds = Limits.stalledMilliseconds
  /// TLS handshakes of those who come in: so many are under way, and each has so long.
  public var handshakesAtOnce = Limits.handshakesAtOnce
  public var handshakeMilliseconds = Limits.handshakeMilliseconds

  public init() {}
}
