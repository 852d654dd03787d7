import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire

/// Follows changes from one device to another of the same account, one at a time. Each change is
/// made when both devices are idle and the previous one has arrived.
package struct TraceNode: FleetNode, ~Copyable {
  package typealias Order = Never
  package typealias Report = TraceReport
  package typealias News = Never

  private enum Phase {
    /// Both devices synchronise, at the latest by this time. → resting, done
    case settling(until: Instant)
    /// → settling, following
    case resting(until: Instant)
    /// → settling, done
    case following(TracedChange, BatchID?, until: Instant)
    case done
  }

  /// Agent that makes the changes, and agent that receives them.
  private static let maker = 0
  private static let receiver = 1
  private static let zone = Name(trusted: "Trace")
  private static let type = Name(trusted: "Trace")

  private let plan: TracePlan
  private var fleet: Fleet
  private var phase: Phase
  private var isInSync = [false, false]
  private var actions = ActionQueue<NodeAction<Fleet.Job, TraceReport, Never>>()
  private var made = 0
  private var result = TraceResult()

  /// The fleet's first agent is device A, the second device B. Their homes must have joined
  /// already.
  package init(plan: TracePlan, random: SeededRandom, at moment: Moment) {
    precondition(1...TracePlan.changesMost ~= plan.changes, "the plan was not validated")
    self.plan = plan
    var random = random
    var configuration = AgentConfiguration()
    configuration.transports = [plan.transport]
    configuration.reportsMilestones = true
    fleet = Fleet(
      configurations: [configuration, configuration], random: &random, at: moment)
    phase = .settling(until: moment.instant.advanced(milliseconds: plan.timeoutMilliseconds))
    fleet.flushActions(into: &actions)
  }

  package mutating func received(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    fleet.received(id, bytes, at: moment)
    flushActions(at: moment)
  }

  package mutating func handle(
    _ event: NodeEvent<AgentOutcome, Never, Never>, at moment: Moment
  ) {
    fleet.handle(event, at: moment)
    if case .stopping = event { finish() }
    flushActions(at: moment)
  }

  package mutating func nextAction() -> NodeAction<Fleet.Job, TraceReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    let own: Instant? =
      switch phase {
      case .settling(let until), .resting(let until), .following(_, _, let until): until
      case .done: nil
      }
    return fleet.firstDeadline(with: own)
  }

  /// Reports belong to this moment, so they are handled before any new action.
  private mutating func flushActions(at moment: Moment) {
    fleet.flushActions(into: &actions)
    for (agent, report) in fleet.drainReports() { handleReport(report, from: agent, at: moment) }
    advancePhase(at: moment)
    fleet.flushActions(into: &actions)
  }

  // MARK: Schedule

  private mutating func advancePhase(at moment: Moment) {
    let areInSync = !isInSync.contains(false)
    switch phase {
    case .settling(let until):
      if areInSync {
        phase = .resting(
          until: moment.instant.advanced(milliseconds: TracePlan.restMilliseconds))
      } else if until <= moment.instant {
        fail("the devices were not in sync within \(seconds)")
      }
    case .resting(let until):
      if !areInSync {
        beginSettling(at: moment)
      } else if until <= moment.instant {
        makeChange(at: moment)
      }
    case .following(let change, _, let until):
      if change.timeline != nil {
        result.changes.append(change)
        if made == plan.changes { finish() } else { beginSettling(at: moment) }
      } else if until <= moment.instant {
        fail("change \(made) \(TraceNode.missingStep(of: change)) within \(seconds)")
      }
    case .done: break
    }
  }

  private var seconds: String { "\(plan.timeoutMilliseconds / 1_000) s" }

  private static func missingStep(of change: TracedChange) -> String {
    if change.stored == nil { return "was not stored on device A" }
    if change.sent == nil { return "was not sent by device A" }
    if change.received == nil { return "did not reach device B" }
    if change.applied == nil { return "was not applied on device B" }
    return "was not acknowledged by the relay"
  }

  private mutating func beginSettling(at moment: Moment) {
    phase = .settling(until: moment.instant.advanced(milliseconds: plan.timeoutMilliseconds))
  }

  private mutating func makeChange(at moment: Moment) {
    made += 1
    actions.append(.report(.following(made)))
    phase = .following(
      TracedChange(acted: moment.instant), nil,
      until: moment.instant.advanced(milliseconds: plan.timeoutMilliseconds))
    let fields = JSONValue.object([JSONMember("number", .number(JSONNumber(Int64(made))))])
    let request = EditRequest(key: key, type: Self.type) { _ in fields }
    fleet.submit(.edit(OrderID(rawValue: UInt64(made)), request), to: Self.maker, at: moment)
  }

  /// Key of the current change.
  private var key: RecordKey { RecordKey(zone: Self.zone, name: Name(trusted: "\(made)")) }

  private mutating func fail(_ reason: String) {
    result.failures.append(reason)
    finish()
  }

  private mutating func finish() {
    if case .done = phase { return }
    phase = .done
    actions.append(.report(.finished(result)))
  }

  // MARK: Reports of the agents

  private mutating func handleReport(_ report: AgentReport, from agent: Int, at moment: Moment) {
    switch report {
    case .ready(let status), .status(let status):
      if case .failed(let reason) = status.state { return fail("\(Self.name(agent)): \(reason)") }
      isInSync[agent] = status.state == .inSync
    case .storeFailed(let error): fail("\(Self.name(agent)): \(error)")
    case .edited(_, .failure(let failure)): fail("\(Self.name(agent)): \(failure)")
    case .edited, .changed, .milestone: recordMilestone(report, from: agent, at: moment)
    case .answered, .read, .statusRead, .synced, .stopped, .chunkAdded, .chunkRead, .chunkProgress,
      .switched, .transacted, .joined, .moved, .stateRead:
      break
    }
  }

  private mutating func recordMilestone(_ report: AgentReport, from agent: Int, at moment: Moment) {
    guard case .following(var change, var batch, let until) = phase else { return }
    let now = moment.instant
    switch report {
    case .edited where agent == Self.maker: change.stored = now
    case .milestone(.sent(let id, let keys))
    where agent == Self.maker && change.sent == nil && keys.contains(key):
      change.sent = now
      batch = id
    case .milestone(.answered(let id, let relayTimes)) where agent == Self.maker && id == batch:
      change.isAnswered = true
      change.relayTimes = relayTimes
    case .milestone(.received(let keys)) where agent == Self.receiver && keys.contains(key):
      change.received = change.received ?? now
    case .changed(let records) where agent == Self.receiver:
      if records.contains(where: { $0.key == key }) { change.applied = change.applied ?? now }
    default: break
    }
    phase = .following(change, batch, until: until)
  }

  private static func name(_ agent: Int) -> String { agent == maker ? "device A" : "device B" }
}

package enum TraceReport: Sendable {
  /// This change is made now and followed; numbers start at 1.
  case following(Int)
  case finished(TraceResult)
}

/// Result of a trace.
package struct TraceResult: Sendable {
  /// Changes that arrived, in the order in which they were made.
  package var changes: [TracedChange] = []
  /// Reasons for missing changes, one sentence each.
  package var failures: [String] = []

  package init() {}
}

/// Parameters of a trace: the number of changes, followed one after the other, and the transport.
package struct TracePlan: Sendable, Hashable {
  /// Number of changes, 1 to `changesMost`.
  package var changes = 5
  package var transport = Transport.webSocket

  package static let changesMost = 1_000

  package init() {}

  /// Time after which a change counts as lost. A poll interval may have just begun.
  package var timeoutMilliseconds: Int64 { transport == .poll ? 40_000 : 10_000 }

  /// Idle time of both devices before each change, as before a person's action.
  static let restMilliseconds: Int64 = 50
}
