import LockstepClient
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepWire

/// Measures sync latency: from a person's action on one device until the app on another device has
/// the change, durable on both ends.
///
/// The load is open: changes are due at fixed times, independent of earlier ones, and each latency
/// starts at the due time, so that a stall cannot hide itself. Every change is a separate record,
/// which must arrive at every other device exactly once.
package struct BenchNode: FleetNode, ~Copyable {
  package typealias Order = Never
  package typealias Report = BenchReport
  package typealias News = Never

  private enum Phase {
    /// Agents read their homes, connect and synchronise.
    case gathering(missing: Set<Int>)
    case running(since: Instant)
    case draining(until: Instant)
    case done
  }

  private static let zone = Name(trusted: "Bench")
  private static let type = Name(trusted: "Bench")

  private let plan: BenchPlan
  private let padding: String
  private var random: SeededRandom
  private var fleet: Fleet
  private var phase: Phase
  private var begun: Instant?
  private var actions = ActionQueue<NodeAction<Fleet.Job, BenchReport, Never>>()
  private var due: [Instant] = []
  /// For each change, the agent that made it, and a bit for each other device that has it.
  private var makers: [Int] = []
  private var seen: [UInt64] = []
  private var result = BenchResult()

  /// Agents are numbered by account: device d of account a is agent `a × devices + d`. Their homes
  /// must have joined already.
  package init(plan: BenchPlan, random: SeededRandom, at moment: Moment) {
    precondition(plan.validate().isEmpty, "the plan was not validated")
    self.plan = plan
    self.random = SeededRandom(seed: plan.seed)
    var agentRandom = random
    var configuration = AgentConfiguration()
    configuration.transports = [plan.transport]
    let configurations = Array(repeating: configuration, count: plan.accounts * plan.devices)
    fleet = Fleet(configurations: configurations, random: &agentRandom, at: moment)
    phase = .gathering(missing: Set(0..<fleet.count))
    padding = String(repeating: "x", count: max(0, plan.payloadBytes - 32))
    due.reserveCapacity(plan.changes)
    makers.reserveCapacity(plan.changes)
    seen.reserveCapacity(plan.changes)
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

  package mutating func nextAction() -> NodeAction<Fleet.Job, BenchReport, Never>? {
    actions.popFirst()
  }

  package var nextDeadline: Instant? {
    let own: Instant? =
      switch phase {
      case .gathering, .done: nil
      case .running(let since): dueTime(of: due.count, since: since)
      case .draining(let until): until
      }
    return fleet.firstDeadline(with: own)
  }

  private func dueTime(of change: Int, since start: Instant) -> Instant {
    Instant(nanoseconds: start.nanoseconds + Int64(change) * 1_000_000_000 / Int64(plan.rate))
  }

  private mutating func flushActions(at moment: Moment) {
    makeDueChanges(at: moment)
    fleet.flushActions(into: &actions)
    for (agent, report) in fleet.drainReports() { handleReport(report, from: agent, at: moment) }
    // A report may have started or ended the run.
    makeDueChanges(at: moment)
    fleet.flushActions(into: &actions)
  }

  /// Makes the changes that are due, and detects the end.
  private mutating func makeDueChanges(at moment: Moment) {
    switch phase {
    case .gathering, .done: return
    case .running(let since):
      while due.count < plan.changes {
        let next = dueTime(of: due.count, since: since)
        guard next <= moment.instant else { return }
        makeChange(dueAt: next, at: moment)
      }
      let end = moment.instant.advanced(milliseconds: plan.drainMilliseconds)
      phase = .draining(until: end)
      makeDueChanges(at: moment)
    case .draining(let until):
      if result.delivered >= plan.deliveries || until <= moment.instant { finish() }
    }
  }

  private mutating func makeChange(dueAt instant: Instant, at moment: Moment) {
    let number = due.count
    let agent = Int.random(in: 0..<fleet.count, using: &random)
    due.append(instant)
    makers.append(agent)
    seen.append(0)
    result.sent += 1
    result.lateNanoseconds = max(
      result.lateNanoseconds, moment.instant.nanoseconds - instant.nanoseconds)
    let fields = JSONValue.object([
      JSONMember("number", .number(JSONNumber(Int64(number)))),
      JSONMember("padding", .string(padding)),
    ])
    let key = RecordKey(zone: Self.zone, name: Name(trusted: "\(number)"))
    let request = EditRequest(key: key, type: Self.type) { _ in fields }
    fleet.submit(.edit(OrderID(rawValue: UInt64(number)), request), to: agent, at: moment)
  }

  private mutating func handleReport(_ report: AgentReport, from agent: Int, at moment: Moment) {
    switch report {
    case .changed(let records):
      for record in records { recordArrival(record, at: agent, moment) }
    case .ready(let status), .status(let status):
      recordSyncStatus(agent, status, at: moment)
    case .edited(_, .failure(let failure)):
      result.failures.append("device \(agent): \(failure)")
    case .storeFailed(let error):
      result.failures.append("device \(agent): \(error)")
    case .edited, .answered, .read, .statusRead, .synced, .stopped, .chunkAdded, .chunkRead,
      .chunkProgress, .switched, .transacted, .joined, .moved, .stateRead, .milestone:
      break
    }
  }

  private mutating func recordSyncStatus(_ agent: Int, _ status: AgentStatus, at moment: Moment) {
    guard case .gathering(var missing) = phase else { return }
    if case .failed(let reason) = status.state {
      result.failures.append("device \(agent): \(reason)")
      return finish()
    }
    guard status.state == .inSync, missing.remove(agent) != nil else { return }
    if missing.isEmpty {
      phase = .running(since: moment.instant)
      actions.append(.report(.running))
    } else {
      phase = .gathering(missing: missing)
    }
  }

  private mutating func recordArrival(_ record: Record, at agent: Int, _ moment: Moment) {
    guard record.zone == Self.zone, let number = Int(record.name.text), number < due.count else {
      return
    }
    guard agent != makers[number] else { return }
    let bit: UInt64 = 1 << UInt64(agent % plan.devices)
    guard seen[number] & bit == 0 else {
      result.duplicated += 1
      return
    }
    seen[number] |= bit
    result.delivered += 1
    let latency = moment.instant.nanoseconds - due[number].nanoseconds
    result.latency.record(nanoseconds: latency)
    result.timeline.record(nanoseconds: latency, dueInSecond: number / plan.rate)
  }

  private mutating func finish() {
    if case .done = phase { return }
    phase = .done
    result.missing = plan.deliveries - result.delivered
    actions.append(.report(.finished(result)))
  }
}

package enum BenchReport: Sendable {
  /// All devices are in sync; the load starts.
  case running
  case finished(BenchResult)
}

/// Result of a latency bench.
package struct BenchResult: Sendable {
  package var latency = LatencyHistogram()
  /// Latencies by the second of the run in which each change was due.
  package var timeline = LatencyTimeline()
  /// Number of changes made.
  package var sent = 0
  /// Number of arrivals at other devices: at most `sent × (devices - 1)`.
  package var delivered = 0
  package var missing = 0
  /// Number of changes that a device received twice.
  package var duplicated = 0
  /// Maximum delay of the bench itself when it made a change; it counts as latency.
  package var lateNanoseconds: Int64 = 0
  /// Failures during the run, one sentence each.
  package var failures: [String] = []
}
