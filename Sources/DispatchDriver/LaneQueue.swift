import Dispatch
import LockstepRuntime

/// Worker of one lane: does its jobs one at a time on a queue of its own.
final class LaneQueue<N: Node & SendableMetatype & ~Copyable>: @unchecked Sendable {
  private let queue = DispatchQueue(label: "lockstep.lane")
  /// Used on the queue alone, with all that it refers to.
  private let body: (N.Job) -> N.Outcome

  init(_ body: @escaping (N.Job) -> N.Outcome) { self.body = body }

  /// Does the job after those before it; `finish` is called on the lane's queue.
  func perform(_ job: N.Job, _ finish: @escaping @Sendable (N.Outcome) -> Void) {
    queue.async { finish(self.body(job)) }
  }
}
