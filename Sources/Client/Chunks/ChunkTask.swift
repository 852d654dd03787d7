import LockstepModel
import LockstepStorage

/// What the worker is asked about chunks of files: which of them lie in the home, and which may be
/// named to the relay.
enum ChunkTask: Hashable, Sendable {
  /// The file stands, and is the chunk's from here on.
  case add(HeldChunk)
  case find(ChunkHash)
  /// The file is not there, or not what it was.
  case drop(HeldChunk)
  /// One portion of the search for chunks that nothing has named for `keepMilliseconds`.
  case collect(after: ChunkHash?, keepMilliseconds: Int64)
  /// What has become of chunks that local changes wait for.
  case settle(ChunkStatus)
  /// What the relay did not take may be tried again.
  case retry
  /// Has the relay by now what changes lack that wait for a person?
  case askForLacking
  /// Has the relay still what records name?
  case check
  /// Which of these files hold no chunk, as after a crash?
  case sweep([UInt64])
}

enum ChunkTransferResult: Hashable, Sendable {
  case done
  /// The file that held the chunk before.
  case added(replaced: UInt64?)
  case found(HeldChunk?)
  /// Files that hold no chunk any more, and where to go on, if there is more.
  case collected([UInt64], next: ChunkHash?)
  case unknown([UInt64])
}

/// What a job about chunks was given for.
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

  /// Whether local changes go on by it.
  var movesChanges: Bool {
    switch self {
    case .settle, .retry, .askForLacking, .check: true
    case .add, .find, .downloaded, .drop, .collect, .sweep: false
    }
  }
}
