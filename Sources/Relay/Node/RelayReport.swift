public import LockstepModel
public import LockstepStorage
public import LockstepWire

/// What the person at the relay may ask of a node.
public enum RelayOrder: Sendable, Hashable {
  /// Answered with `RelayReport.status`.
  case reportStatus
  /// Answered with `RelayReport.state`.
  case reportState
  /// From now on these are the names by which clients may reach the relay.
  case allowHosts(AllowedHosts)
}

/// What a node tells the person at the relay, for the log. Never holds a secret.
public enum RelayReport: Sendable, Hashable {
  case accountMade(AccountID)
  case planChanged(AccountID)
  case accountRemoved(AccountID)
  case deviceJoined(AccountID, DeviceID)
  case deviceRevoked(AccountID, DeviceID)
  /// The store failed; nothing was done. Told once, until it works again.
  case storeFailed(StorageError)
  case storeRecovered
  /// The store's disk has too little room, and nothing new is taken; or has enough again.
  case disk(isLow: Bool, free: Int64)
  /// Requests from there say that they were passed on, and the relay was not told to believe it.
  /// Told once.
  case undeclaredProxy(PeerNetwork)
  /// A request was refused because no name of the relay is in it. Told once.
  case unknownHost(Refusal)
  /// A request was answered; only where the configuration asks for it.
  case answered(AccessNote)
  /// What this node holds.
  case state(NodeState)
  /// The counters of this node alone.
  case status(RelayStatus)
  /// After `NodeEvent.stopping`: all that was begun is answered. What was sent may still wait in
  /// the driver.
  case stopped
}
