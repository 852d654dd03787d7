import LockstepModel

/// Chosen by who gives an order; comes back with what is reported about it.
public struct OrderID: Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a person or program asks of an agent. All of it but `syncNow` works with no relay in reach.
public enum AgentOrder: Sendable {
  /// Change one record. Reported as `edited`, and then `changed`, once it is durable.
  case edit(OrderID, EditRequest)
  /// A person's order to an app, in the app's own form (`App.outcome`): all that comes of it is
  /// made in one transaction, or nothing. Reported as `told`, and then `changed`.
  case perform(OrderID, app: String, JSONValue)
  /// A question to an app (`App.view`), reported as `told`.
  case show(OrderID, app: String, JSONValue)
  /// What the person calls the account's devices, to be remembered for `AppState.deviceNames`. At
  /// most `Limits.devicesPerAccount`; nothing is reported.
  case nameDevices([DeviceID: String])
  /// Switch the sync of a zone off, or on again. While it is off nothing of it goes out and nothing
  /// that comes in is taken; what met meanwhile is settled once it is on. Kept in the home.
  /// Reported as `switched`.
  case setSyncing(OrderID, zone: Name, Bool)
  /// The person lets what others have made of an app be here (`SyncStatus.questions`). Reported as
  /// `switched`.
  case answerRestore(OrderID, app: String)
  /// One record, reported as `read`: none where there is none, or where it is deleted.
  case readRecord(OrderID, RecordKey)
  /// Records of one type, by name, reported as `read`.
  case readRecords(OrderID, zone: Name, type: Name)
  /// All records that the device holds, tombstones too, by zone and name, reported as `read`.
  case readAll(OrderID)
  /// Reported as `statusRead`.
  case readStatus(OrderID)
  /// A person's answer to a conflict that no rule decides (`SyncStatus.asking`): the local version
  /// is saved, or the relay's taken. Reported as `edited`.
  case decide(OrderID, RecordKey, keepLocal: Bool)
  /// Keep a chunk of a file, at most `Limits.chunkBytes` long, in the home. Reported as
  /// `chunkAdded`, with its hash, once it is durable. A record that names it goes up behind it.
  /// What no record names is kept for `AgentConfiguration.chunkKeepMilliseconds`.
  case addChunk(OrderID, [UInt8])
  /// At most `count` bytes of a chunk from `offset` on, from the home, or else from the relay, and
  /// then kept in the home. Reported as `chunkRead`, in portions.
  case readChunk(OrderID, ChunkHash, offset: Int, count: Int)
  /// Sync at once, whatever the backoff says. Reported as `synced` when the device is in sync, has
  /// failed, or the time for it is up; the status tells which.
  case syncNow(OrderID)
  /// Behave as if the network were gone, until `goOnline`.
  case goOffline
  case goOnline
  /// Close the connections, finish what the store has begun, and report `stopped`.
  case stop
}
