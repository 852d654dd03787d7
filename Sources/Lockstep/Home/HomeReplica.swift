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

    /// Performs a job of `Lane.commits`.
    func perform(_ job: AgentJob) -> AgentOutcome {
      content.withLock { AgentWork.commit(job, on: &$0.replica) }
    }

    /// Performs a job if it is short and the replica is not in use; otherwise returns nil.
    func performIfShort(_ job: AgentJob) -> AgentOutcome? {
      guard case .replica(let replicaJob) = job, replicaJob.isShort else { return nil }
      return content.withLockIfFree { AgentWork.commit(job, on: &$0.replica) }
    }

    /// Reserves space for the next commits, unless the replica is in use.
    func reserveLog() { _ = content.withLockIfFree { $0.replica.store.reserveLog() } }
  }
#endif
