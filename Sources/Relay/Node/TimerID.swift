import LockstepWire

/// Names the node's timers.
enum TimerID: Hashable, Sendable {
  /// A connection's next step: a request, a hello, the end of a long-poll.
  case request(ConnectionID)
  /// The next ping of a socket.
  case keepAlive(ConnectionID)
  /// Whether a connection on which bytes wait still takes some.
  case stalled(ConnectionID)
  /// A connection that was sent much in one moment is read on.
  case crowded(ConnectionID)
  /// A socket whose device asked too often is read on.
  case throttled(ConnectionID)
  /// When devices were last heard of is to be written.
  case sightings
  /// A store that failed is tried.
  case storeTrial
  /// A page that was put off may be read.
  case pages
  /// The counters are told to the other nodes.
  case status
  /// What other relays on the same store moved is looked for.
  case movements
  /// Files that nobody needs are looked for.
  case collection
  /// The end of stopping.
  case drain
}
