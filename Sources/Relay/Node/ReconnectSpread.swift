import LockstepModel

/// The period over which a relay's devices reconnect if all of them lose it at once.
enum ReconnectSpread {
  /// Returns the period in milliseconds. Of some hundred devices, at most a fifth reconnect in any
  /// second, even if they try before the relay is back; of very many, only as many per second as
  /// the relay handles with ease. The devices of one household reconnect at once.
  static func milliseconds(connections: Int) -> Int64 {
    let count = Int64(clamping: max(0, connections))
    let perConnection = Limits.reconnectPerConnectionMilliseconds
    let (spread, isLarge) = count.multipliedReportingOverflow(by: perConnection)
    let few = isLarge ? Limits.reconnectSmallMaxMilliseconds : spread
    return min(
      Limits.reconnectMilliseconds, max(min(few, Limits.reconnectSmallMaxMilliseconds), count))
  }
}
