import LockstepWire

/// Names of the node's timers.
enum TimerID: Hashable, Sendable {
  /// A connection's next deadline: a request, a hello, the end of a long-poll.
  case request(ConnectionID)
  /// The next ping of a socket.
  case keepAlive(ConnectionID)
  /// Check that a connection with unsent bytes still takes some.
  case stalled(ConnectionID)
  /// A connection that was sent much in one moment is read again.
  case crowded(ConnectionID)
  /// A socket whose device asked too often is read again.
  case throttled(ConnectionID)
  /// Sightings of devices are to be written.
  case sightings
  /// A store that failed is to be tested.
  case storeProbe
  /// A deferred page may be read.
  case pages
  /// The counters are to be sent to the other nodes.
  case status
  /// The store is to be checked for changes by other relays.
  case movements
  /// Unneeded files are to be collected.
  case collection
  /// End of the time for stopping.
  case drain
}
