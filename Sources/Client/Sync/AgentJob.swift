import LockstepModel
import LockstepStorage

/// A job of an agent for a worker: on the replica, or on the files of its home.
public enum AgentJob: Sendable {
  /// For `Lane.commits`.
  case replica(ReplicaJob)
  /// For `Lane.files`.
  case file(ChunkRequest)
}

/// Result of an `AgentJob`.
public enum AgentOutcome: Sendable {
  case replica(ReplicaOutcome)
  case file(Result<ChunkResult, StorageError>)
}

/// Blocking part of an agent, which a driver's workers run, each lane in its own order.
public enum AgentWork {
  /// Performs a job of `Lane.commits`.
  public static func commit<Store>(_ job: AgentJob, on replica: inout Replica<Store>)
    -> AgentOutcome
  {
    guard case .replica(let job) = job else {
      preconditionFailure("the replica was asked for a file")
    }
    return .replica(replica.perform(job))
  }

  /// Performs a job of `Lane.files`.
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

  /// Performs any job, if one thread serves both lanes.
  public static func perform<Store>(
    _ job: AgentJob, on replica: inout Replica<Store>, files: some ChunkStore
  ) -> AgentOutcome {
    switch job {
    case .replica: commit(job, on: &replica)
    case .file: file(job, on: files)
    }
  }
}
