#if os(Linux)
  import LockstepClient
  import LockstepEventLoop
  import LockstepModel
  import LockstepStorageSQLite

  /// A home's replica, for the worker of its store and the thread of its node. Short jobs are done
  /// on the node's thread while the worker is idle: a save then costs a commit and two hand-overs
  /// between threads, not four.
  final class HomeReplica: Sendable {
    /// Reached through the lock alone: nothing else refers to the replica or its store.
    private struct Content: @unchecked Sendable {
      var replica: Replica<SQLiteReplicaStore>
    }

    private let content: Locked<Content>

    init(_ store: sending SQLiteReplicaStore, apps: [any App], editsBeforeJoining: Bool) {
      content = Locked(
        Content(
          replica: Replica(store: store, apps: apps, editsBeforeJoining: editsBeforeJoining)))
    }

    func perform(_ job: ReplicaJob) -> ReplicaOutcome {
      content.withLock { $0.replica.perform(job) }
    }

    /// Performs a job if the replica is not in use; otherwise returns nil.
    func performIfFree(_ job: ReplicaJob) -> ReplicaOutcome? {
      content.withLockIfFree { $0.replica.perform(job) }
    }

    /// Reserves space for the next commits, unless the replica is in use.
    func reserveLog() { _ = content.withLockIfFree { $0.replica.store.reserveLog() } }
  }
#endif
