public import LockstepStorage
public import LockstepWire

/// What a relay node asks of the store. A driver runs it elsewhere (`StoreWork`), so that a node
/// never waits.
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

/// Which connection of which node of this process asked for a commit, so that nobody is pushed what
/// he saved himself.
public struct CommitOrigin: Sendable, Hashable {
  /// The node's number in this process.
  public var node: Int
  /// nil where the node asked on its own account.
  public var connection: ConnectionID?

  public init(node: Int, connection: ConnectionID?) {
    self.node = node
    self.connection = connection
  }
}

/// What came of a `StoreJob`. A failure says that nothing at all was done.
public enum StoreOutcome: Sendable, Hashable {
  case committed(Result<CommitResult, StorageError>)
  case read(Result<ReadResult, StorageError>)
  /// The page that was asked for. Where there is none, `read` says why.
  case page(ReadPage)
  case chunk(Result<ChunkResult, StorageError>)

  /// Notes how long a read took: a page tells it to its node.
  public mutating func wasRead(inNanoseconds nanoseconds: Int64) {
    guard case .page(var page) = self else { return }
    page.nanoseconds = nanoseconds
    self = .page(page)
  }
}
