import LockstepModel

/// The way on which the relays of a store tell each other of their commits. What it carries are
/// hints: it may lose, repeat and reorder them. For one thread, which `wakeup` wakes.
package protocol RelayBus: AnyObject {
  /// Number that identifies this relay.
  var relay: UInt64 { get }
  /// Ends a wait from any thread.
  var wakeup: any BusWakeup { get }

  /// Returns the events since the last call, in order. Waits at most `milliseconds` for the first
  /// one; returns none if there was none, or if `wakeup` was signalled. Tries to restore a lost
  /// connection.
  func wait(milliseconds: Int64) -> [BusEvent]

  /// Sends these messages, also to this relay if they are for all. Returns false if they were not
  /// sent; the next `wait` reports a lost connection.
  @discardableResult func send(_ messages: [BusMessage]) -> Bool

  /// Closes the connection.
  func close()
}

/// Ends the wait of a `RelayBus` on another thread.
package protocol BusWakeup: Sendable {
  func signal()
}

/// Event of the bus for a relay.
package enum BusEvent: Hashable, Sendable {
  /// A notice, or a beat, of any relay, also of this one.
  case received(BusPayload)
  /// The connection is lost; nothing arrives until `back`. With the reason.
  case lost(String)
  /// The connection is restored; notices in between were missed.
  case back
}
