import LockstepModel

/// Configurable limits of a loop.
public struct LoopLimits: Sendable, Hashable {
  /// Bytes of one read.
  public var receiveBytes = Limits.receiveBytes
  /// Bytes written to one connection before the others have their turn.
  public var writeBytes = Limits.writeBytes
  /// Timeout, in milliseconds, of a closing connection whose peer reads none of the queued bytes.
  public var stalledMilliseconds = Limits.stalledMilliseconds
  /// Incoming TLS handshakes: the maximum at once, and the timeout of each in milliseconds.
  public var handshakesAtOnce = Limits.handshakesAtOnce
  public var handshakeMilliseconds = Limits.handshakeMilliseconds

  public init() {}
}
