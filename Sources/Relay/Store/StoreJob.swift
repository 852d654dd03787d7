public import LockstepStorage
public import LockstepWire

/// A request of a relay node to the store. A driver runs it on another thread (`StoreWork`), so
/// that a node never waits.
public enum StoreJob: Sendable, Hashable {
  /// For `Lane.commits`.
  case commit(CommitRequest, by: CommitOrigin)
  /// For `Lane.reads`.
  case read(ReadRequest)
  /// For `Lane.reads`: a page of changes, encoded there.
  case page(ReadRequest, as: PageForm)
  /// For `Lane.files`.
  case chunk(ChunkRequest)
}

/// The connection and the node of this process that asked for a commit, so that a device is not
/// pushed its own saves.
public struct CommitOrigin: Sendable, Hashable {
  /// The node's number in this process.
  public var node: Int
  /// nil if the node itself asked.
  public var connection: ConnectionID?

  public init(node: Int, connection: ConnectionID?) {
    self.node = node
    self.connection = connection
  }
}

/// The outcome of a `StoreJob`. A failure means that nothing at all was done.
public enum StoreOutcome: Sendable, Hashable {
  case committed(Result<CommitResult, StorageError>)
  case read(Result<ReadResult, StorageError>)
  /// The requested page. If there is none, `read` gives the reason.
  case page(ReadPage)
  case chunk(Result<ChunkResult, StorageError>)

  /// Records the duration of a read in its page, for the node.
  public mutating func wasRead(inNanoseconds nanoseconds: Int64) {
    guard case .page(var page) = self else { return }
    page.nanoseconds = nanoseconds
    self = .page(page)
  }
}
