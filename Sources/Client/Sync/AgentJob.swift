import LockstepModel
import LockstepStorage

/// Work that an agent wants done elsewhere: on the replica, or on the files of its home.
public enum AgentJob: Sendable {
  /// For `Lane.commits`.
  case replica(ReplicaJob)
  /// For `Lane.files`.
  case file(ChunkRequest)
}

/// What came of an `AgentJob`.
public enum AgentOutcome: Sendable {
  case replica(ReplicaOutcome)
  case file(Result<ChunkResult, StorageError>)
}

/// The blocking side of an agent, which a driver's workers run, each lane in its own order.
public enum AgentWork {
  /// For a worker of `Lane.commits`.
  public static func commit<Store>(_ job: AgentJob, on replica: inout Replica<Store>)
    -> AgentOutcome
  {
    guard case .replica(let job) = job else {
      preconditionFailure("the replica was asked for a file")
    }
    return .replica(replica.perform(job))
  }

  /// For a worker of `Lane.files`.
  public static func file(_ job: AgentJob, on files: some ChunkStore) -> AgentOutcome {
    guard case .file(let request) = job else {
      preconditionFailure("the files were asked what the replica knows")
    }
    do throws(StorageError) {
      return .file(.success(try files.perform(request)))
    } catch {
      return .file(.failure(error))
    }
  }

  /// Where one thread does both.
  public static func perform<Store>(
    _ job: AgentJob, on replica: inout Replica<Store>, files: some ChunkStore
  ) -> AgentOutcome {
    switch job {
    case .replica: commit(job, on: &replica)
    case .file: file(job, on: files)
    }
  }
}
