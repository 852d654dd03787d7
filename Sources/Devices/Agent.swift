import Changes
import Link

/// What runs on each device: edits at once and locally, and sync with the relay behind it.
public struct Agent: Node {
  public typealias Job = ReplicaJob
  public typealias Outcome = ReplicaOutcome
  public typealias Order = AgentOrder
  public typealias Report = AgentReport
  public typealias News = Never

  private var actions = ActionQueue<NodeAction<ReplicaJob, AgentReport, Never>>()

  /// `random` draws the batches' ids and the jitter: seed it from the kernel.
  public init(_ configuration: AgentConfiguration, random: SeededRandom, at moment: Moment) {
    precondition(!configuration.transports.isEmpty, "an agent needs a transport")
  }

  public mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {}

  public mutating func handle(
    _ event: NodeEvent<ReplicaOutcome, AgentOrder, Never>, at moment: Moment
  ) {}

  public mutating func nextAction() -> NodeAction<ReplicaJob, AgentReport, Never>? {
    actions.popFirst()
  }

  public var nextDeadline: Instant? { nil }
}
