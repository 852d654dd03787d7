import Dispatch
import LockstepModel
import LockstepRuntime

/// Parts of a `DispatchDriver` that its owner supplies. All but `lanes` and `ended` are called on
/// the driver's queue.
package struct DriverEnvironment<N: Node & SendableMetatype & ~Copyable> {
  /// Makes a stream to a peer, whose events come on the queue.
  package var connect: (PeerAddress, DispatchQueue) -> any ByteStream
  /// Does the jobs of each lane, on the lane's queue alone; by lane. Empty for a node without jobs.
  package var lanes: [(N.Job) -> N.Outcome]
  package var now: () -> Moment
  package var report: (N.Report) -> Void
  package var isLastReport: (N.Report) -> Bool
  /// Called once, when all jobs are done and `lanes` and the node are released.
  package var ended: @Sendable () -> Void
  /// Time from `stop` to the forced end, in milliseconds.
  package var stopMilliseconds = Limits.drainMilliseconds

  package init(
    connect: @escaping (PeerAddress, DispatchQueue) -> any ByteStream,
    lanes: [(N.Job) -> N.Outcome] = [], now: @escaping () -> Moment,
    report: @escaping (N.Report) -> Void, isLastReport: @escaping (N.Report) -> Bool,
    ended: @escaping @Sendable () -> Void
  ) {
    precondition(lanes.isEmpty || lanes.count == Lane.allCases.count, "each lane needs a worker")
    self.connect = connect
    self.lanes = lanes
    self.now = now
    self.report = report
    self.isLastReport = isLastReport
    self.ended = ended
  }
}
