import Dispatch
import LockstepRuntime

/// Worker of one lane: does its jobs one at a time on a queue of its own.
final class LaneQueue<Job: Sendable, Outcome: Sendable>: @unchecked Sendable {
  private let queue = DispatchQueue(label: "lockstep.lane")
  /// Used on the queue alone, with all that it refers to.
  private let body: (Job) -> Outcome

  init(_ body: @escaping (Job) -> Outcome) { self.body = body }

  /// Does the job after those before it; `finish` is called on the lane's queue.
  func perform(_ job: Job, _ finish: @escaping @Sendable (Outcome) -> Void) {
    queue.async { finish(self.body(job)) }
  }
}

/// The queues of a node, one for each lane.
struct LaneQueues<N: Node & ~Copyable> {
  private let commits: LaneQueue<N.CommitJob, N.CommitOutcome>
  private let reads: LaneQueue<N.ReadJob, N.ReadOutcome>
  private let files: LaneQueue<N.FileJob, N.FileOutcome>

  init(_ workers: LaneWorkers<N>) {
    commits = LaneQueue(workers.commit)
    reads = LaneQueue(workers.read)
    files = LaneQueue(workers.file)
  }

  /// Does the job after those before it in its lane; `finish` is called on the lane's queue.
  func perform(_ job: N.Job, _ finish: @escaping @Sendable (N.Outcome) -> Void) {
    switch job {
    case .commit(let job): commits.perform(job) { finish(.commit($0)) }
    case .read(let job): reads.perform(job) { finish(.read($0)) }
    case .file(let job): files.perform(job) { finish(.file($0)) }
    }
  }
}
