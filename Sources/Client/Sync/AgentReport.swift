import LockstepModel
import LockstepStorage

/// Report of an agent to its user or program.
public enum AgentReport: Sendable {
  /// The home was read; the status describes its content. Reported once, first.
  case ready(SyncStatus)
  /// The edit is durable, and this is the record now; or the edit was not made.
  case edited(OrderID, Result<Record, EditFailure>)
  /// Result of an app; that of an order is durable. Or nothing was done.
  case told(OrderID, Result<AppView, EditFailure>)
  /// The setting applies, also after restarts; true if it was different before.
  case switched(OrderID, Result<Bool, EditFailure>)
  /// Shown records have changed, by this device or another: the records in their present state,
  /// deleted ones without fields. All that is reported is durable. Each change is reported once.
  case changed([Record])
  case read(OrderID, Result<[Record], StorageError>)
  case statusRead(OrderID, SyncStatus)
  /// The chunk is durable, under this hash; or it was not stored.
  case chunkAdded(OrderID, Result<ChunkHash, ChunkFailure>)
  /// The next portion of the requested bytes, in order. After a failure nothing more follows:
  /// `damaged` means that the earlier portions were not the chunk.
  case chunkRead(OrderID, Result<ChunkPortion, ChunkFailure>)
  /// Reported periodically during a transfer, and at its end.
  case chunkProgress(ChunkProgress)
  /// Only if the configuration asks for it.
  case milestone(Milestone)
  /// The status has changed (its counters alone do not count).
  case status(SyncStatus)
  case synced(OrderID, SyncStatus)
  /// The device's own store failed. Nothing that was reported is lost; the agent has stopped
  /// syncing.
  case storeFailed(StorageError)
  case stopped
}
