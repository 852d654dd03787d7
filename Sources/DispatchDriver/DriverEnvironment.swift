import Dispatch
import LockstepModel
import LockstepRuntime

/// Parts of a `DispatchDriver` that its owner supplies. All but `lanes` and `ended` are called on
/// the driver's queue.
package struct DriverEnvironment<N: Node & ~Copyable> {
  /// Makes a stream to a peer, whose events come on the queue.
  package var connect: (PeerAddress, DispatchQueue) -> any ByteStream
  package var lanes: LaneWorkers<N>
  package var now: () -> Moment
  package var report: (N.Report) -> Void
  package var isLastReport: (N.Report) -> Bool
  /// Called once, when all jobs are done and `lanes` and the node are released.
  package var ended: @Sendable () -> Void
  /// Time from `stop` to the forced end, in milliseconds.
  package var stopMilliseconds = Limits.drainMilliseconds

  package init(
    connect: @escaping (PeerAddress, DispatchQueue) -> any ByteStream,
    lanes: LaneWorkers<N>, now: @escaping () -> Moment,
    report: @escaping (N.Report) -> Void, isLastReport: @escaping (N.Report) -> Bool,
    ended: @escaping @Sendable () -> Void
  ) {
    self.connect = connect
    self.lanes = lanes
    self.now = now
    self.report = report
    self.isLastReport = isLastReport
    self.ended = ended
  }
}

/// Does the jobs of a node, those of each lane on the lane's queue alone.
package struct LaneWorkers<N: Node & ~Copyable> {
  let commit: (N.CommitJob) -> N.CommitOutcome
  let read: (N.ReadJob) -> N.ReadOutcome
  let file: (N.FileJob) -> N.FileOutcome

  package init(
    commit: @escaping (N.CommitJob) -> N.CommitOutcome,
    read: @escaping (N.ReadJob) -> N.ReadOutcome, file: @escaping (N.FileJob) -> N.FileOutcome
  ) {
    self.commit = commit
    self.read = read
    self.file = file
  }
}

extension LaneWorkers where N: ~Copyable, N.ReadJob == Never {
  /// Makes the workers of a node that uses no lane for reads.
  package init(
    commit: @escaping (N.CommitJob) -> N.CommitOutcome,
    file: @escaping (N.FileJob) -> N.FileOutcome
  ) {
    self.init(commit: commit, read: unused, file: file)
  }
}

extension LaneWorkers where N: ~Copyable, N.Job == NoJob {
  /// Makes the workers of a node without jobs.
  package static var none: LaneWorkers {
    LaneWorkers(commit: unused, read: unused, file: unused)
  }
}

/// Work of a lane that a node does not use.
private func unused<Outcome>(_ job: Never) -> Outcome {}
