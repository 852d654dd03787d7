import LockstepModel

/// Parameters of a wake bench.
package struct WakePlan: Sendable, Hashable {
  /// Sleeping devices. Each is in an account of its own, with another device that makes changes.
  package var devices = 10_000
  /// Changes per second while latencies are measured.
  package var rate = 200

  package init() {}

  /// Connections on which the other devices save.
  package static let saverConnections = 8
}

/// A device of the bench, and the one of the same account that makes the change.
package struct WakeMember: Sendable, Hashable {
  package let token: String
  package let saverToken: String
  /// Position up to which the device has everything.
  package let since: ChangeToken

  package init(token: String, saverToken: String, since: ChangeToken) {
    self.token = token
    self.saverToken = saverToken
    self.since = since
  }
}

/// The way by which the devices learn of a change.
package enum WakeWay: Sendable, Hashable {
  /// They sleep; a push wakes each, and it connects, reads its changes and disconnects.
  case wake
  /// Each keeps a socket open.
  case socket
  /// They sleep, and are not woken.
  case none
}

/// Result of one run.
package struct WakeRun: Sendable {
  /// From the time at which the change was due to the time at which the device has it.
  package var latency = LatencyHistogram()
  /// From the first change to the last device that has its change; without devices that learn of
  /// it, to the last answer to a save.
  package var nanoseconds: Int64 = 0
  /// Pushes that arrived; more than one for a device would be too many.
  package var pushes = 0

  package init() {}
}
