public import LockstepModel
public import LockstepStorage
public import LockstepWire

/// Requests of the relay's operator to a node.
public enum RelayOrder: Sendable, Hashable {
  /// Answered with `RelayReport.status`.
  case reportStatus
  /// Answered with `RelayReport.state`.
  case reportState
  /// Sets the names by which clients may reach the relay.
  case allowHosts(AllowedHosts)
}

/// Reports of a node to the relay's operator, for the log. They never contain a secret.
public enum RelayReport: Sendable, Hashable {
  case accountMade(AccountID)
  case planChanged(AccountID)
  case accountRemoved(AccountID)
  case deviceJoined(AccountID, DeviceID)
  case deviceRevoked(AccountID, DeviceID)
  /// The store failed; nothing was done. Reported once, until it works again.
  case storeFailed(StorageError)
  case storeRecovered
  /// The store's disk has too little room, and no new data is taken; or it has enough again.
  case disk(isLow: Bool, free: Int64)
  /// Requests from there have forwarding fields, but the relay is not configured to trust them.
  /// Reported once.
  case undeclaredProxy(PeerNetwork)
  /// A request was refused because its host is not a name of the relay. Reported once.
  case unknownHost(Refusal)
  /// A request was answered; reported only if the configuration asks for it.
  case answered(AccessNote)
  /// The state of this node.
  case state(NodeState)
  /// The counters of this node alone.
  case status(RelayStatus)
  /// After `NodeEvent.stopping`: all requests under way are answered. Sent bytes may still wait in
  /// the driver.
  case stopped
}
