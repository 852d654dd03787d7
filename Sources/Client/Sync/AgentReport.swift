import LockstepModel
import LockstepStorage

/// What an agent tells the person or program at its end.
public enum AgentReport: Sendable {
  /// The home was read; the status says what stands in it. Told once, first.
  case ready(SyncStatus)
  /// The edit is durable, and the record is this now; or it was not made.
  case edited(OrderID, Result<Record, EditFailure>)
  /// What an app says; what it says of an order is durable. Or nothing was done.
  case told(OrderID, Result<AppView, EditFailure>)
  /// What was ordered holds, over restarts too; whether it was otherwise before.
  case switched(OrderID, Result<Bool, EditFailure>)
  /// What the screen shows has changed, by this device or another: the records as they now stand,
  /// deleted ones without fields. All that is told is durable. Each change is told once.
  case changed([Record])
  case read(OrderID, Result<[Record], StorageError>)
  case statusRead(OrderID, SyncStatus)
  /// The chunk is durable, under this hash; or it was not kept.
  case chunkAdded(OrderID, Result<ChunkHash, ChunkFailure>)
  /// The next portion of what was asked for, in order. After a failure nothing more comes:
  /// `damaged` says that what came before was not the chunk.
  case chunkRead(OrderID, Result<ChunkPortion, ChunkFailure>)
  /// Told now and then while a chunk is on its way, and when it has arrived.
  case chunkProgress(ChunkProgress)
  /// Only where the configuration asks for it.
  case milestone(Milestone)
  /// The status has changed (its counters alone do not count).
  case status(SyncStatus)
  case synced(OrderID, SyncStatus)
  /// The device's own store failed. Nothing was lost that was told; the agent has stopped syncing.
  case storeFailed(StorageError)
  case stopped
}
