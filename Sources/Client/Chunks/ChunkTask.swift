import LockstepModel
import LockstepStorage

/// A request to the worker about chunks of files: those in the home, and those that may be named to
/// the relay.
enum ChunkTask: Hashable, Sendable {
  /// Adds a chunk whose file is complete.
  case add(HeldChunk)
  case find(ChunkHash)
  /// Removes a chunk whose file is missing or damaged.
  case drop(HeldChunk)
  /// Runs one portion of the search for chunks that nothing has named for `keepMilliseconds`.
  case collect(after: ChunkHash?, keepMilliseconds: Int64)
  /// Applies the status of chunks that local changes wait for.
  case settle(ChunkStatus)
  /// Retries chunks that the relay did not accept.
  case retry
  /// Asks the relay about the chunks that parked changes lack.
  case askForLacking
  /// Asks the relay about the chunks that records name.
  case check
  /// Finds the files that hold no chunk, as after a crash.
  case sweep([UInt64])
}

enum ChunkTransferResult: Hashable, Sendable {
  case done
  /// `replaced`: the file that held the chunk before.
  case added(replaced: UInt64?)
  case found(HeldChunk?)
  /// Files that no longer hold a chunk, and the hash to continue after, if there is more.
  case collected([UInt64], next: ChunkHash?)
  case unknown([UInt64])
}

/// Purpose of a job about chunks.
enum PendingChunkRequest: Hashable, Sendable {
  case add(OrderID)
  case find(OrderID)
  case downloaded(HeldChunk)
  case drop
  case settle
  case retry
  case askForLacking
  case check
  case collect
  case sweep(last: ChunkFile)

  /// True if it lets local changes proceed.
  var movesChanges: Bool {
    switch self {
    case .settle, .retry, .askForLacking, .check: true
    case .add, .find, .downloaded, .drop, .collect, .sweep: false
    }
  }
}
