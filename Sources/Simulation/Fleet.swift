import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Many agents in one node, for the bench and the simulation of people. Each agent has its own
/// connections, jobs and deadlines; the fleet only routes events and actions.
///
/// Connections and jobs of agent n are numbered from n × 2³² (`AgentConfiguration.firstNumber`), so
/// that the number of an event identifies its agent.
package struct Fleet: ~Copyable {
  package typealias Job = ByLane<FleetJob<ReplicaJob>, Never, FleetJob<ChunkRequest>>
  /// Action of the fleet's node. The outcome of a job returns under the agent's own job id.
  package typealias Action<Report: Sendable> = NodeAction<Job, Report, Never>

  /// Box for an agent: an array cannot hold noncopyable values.
  private final class AgentBox {
    var agent: Agent
    init(_ agent: consuming Agent) { self.agent = agent }
  }

  private let boxes: [AgentBox]
  private var deadlines = TimerWheel<Int>()
  /// Agents that received an event and may have queued actions.
  private var changedAgents: [Int] = []
  private var reports: [(agent: Int, report: AgentReport)] = []

  package init(
    configurations: [AgentConfiguration], random: inout SeededRandom, at moment: Moment
  ) {
    var boxes: [AgentBox] = []
    for (index, given) in configurations.enumerated() {
      var configuration = given
      configuration.firstNumber = UInt64(index) << 32
      boxes.append(AgentBox(Agent(configuration, random: random.branch(), at: moment)))
    }
    self.boxes = boxes
    // Every agent starts by reading its home.
    changedAgents = Array(boxes.indices)
  }

  package var count: Int { boxes.count }
  package var nextDeadline: Instant? { deadlines.next }

  /// Returns the earliest of the agents' deadlines and the owner's deadline.
  package func firstDeadline(with own: Instant?) -> Instant? {
    guard let own else { return nextDeadline }
    return nextDeadline.map { min($0, own) } ?? own
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let index = Self.index(of: id.rawValue & ~(1 << 63))
    boxes[index].agent.received(id, bytes, at: moment)
    changedAgents.append(index)
  }

  package mutating func submit(_ order: AgentOrder, to index: Int, at moment: Moment) {
    boxes[index].agent.handle(.ordered(order), at: moment)
    changedAgents.append(index)
  }

  /// Passes an event of the driver to its agent. The owner handles orders and news.
  package mutating func handle<Order, News>(
    _ event: NodeEvent<AgentOutcome, Order, News>, at moment: Moment
  ) {
    switch event {
    case .opened(let id, let opening): routeEvent(.opened(id, opening), to: id, at: moment)
    case .drained(let id, let unsent): routeEvent(.drained(id, unsent: unsent), to: id, at: moment)
    case .closed(let id, let cause): routeEvent(.closed(id, cause), to: id, at: moment)
    case .finished(let job, let outcome):
      let index = Self.index(of: job.rawValue)
      boxes[index].agent.handle(.finished(job, outcome), at: moment)
      changedAgents.append(index)
    case .deadlineReached:
      while let index = deadlines.popExpired(at: moment.instant) {
        boxes[index].agent.handle(.deadlineReached, at: moment)
        changedAgents.append(index)
      }
    case .stopping:
      for index in boxes.indices { submit(.stop, to: index, at: moment) }
    case .holding, .connectionRejected, .ordered, .news: break
    }
  }

  private mutating func routeEvent(
    _ event: NodeEvent<AgentOutcome, AgentOrder, Never>, to id: ConnectionID, at moment: Moment
  ) {
    let index = Self.index(of: id.rawValue & ~(1 << 63))
    boxes[index].agent.handle(event, at: moment)
    changedAgents.append(index)
  }

  /// Moves the actions of these agents to `queue`; their reports wait for `drainReports`.
  package mutating func flushActions<Report>(into queue: inout ActionQueue<Action<Report>>) {
    for index in changedAgents {
      while let action = boxes[index].agent.nextAction() {
        let forwarded: Action<Report>? = action.map { job in
          job.map(
            commit: { FleetJob(agent: index, job: $0) }, read: \.self,
            file: { FleetJob(agent: index, job: $0) })
        } report: { report in
          reports.append((index, report))
          return nil
        }
        if let forwarded { queue.append(forwarded) }
      }
      if let deadline = boxes[index].agent.nextDeadline {
        deadlines.schedule(index, at: deadline)
      } else {
        deadlines.cancel(index)
      }
    }
    changedAgents.removeAll(keepingCapacity: true)
  }

  package mutating func drainReports() -> [(agent: Int, report: AgentReport)] {
    defer { reports.removeAll(keepingCapacity: true) }
    return reports
  }

  private static func index(of number: UInt64) -> Int { Int(number >> 32) }

  /// Performs a job on the replica of its agent, or on the files that all agents share.
  package static func perform<Store>(
    _ job: Job, on replicas: inout [Replica<Store>], files: some ChunkStore
  ) -> AgentOutcome {
    switch job {
    case .commit(let job): .commit(replicas[job.agent].perform(job.job))
    case .file(let job): .file(AgentWork.perform(job.job, on: files))
    }
  }
}

/// A job of one agent of a fleet.
package struct FleetJob<Job: Sendable>: Sendable {
  package var agent: Int
  package var job: Job
}

/// Node of a fleet.
package protocol FleetNode: Node, ~Copyable
where
  CommitJob == FleetJob<ReplicaJob>, CommitOutcome == Agent.CommitOutcome, ReadJob == Never,
  ReadOutcome == Never, FileJob == FleetJob<ChunkRequest>, FileOutcome == Agent.FileOutcome,
  News == Never
{}
