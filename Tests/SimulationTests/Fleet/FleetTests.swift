import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepSimulation

struct FleetTests {
  private typealias Queue = ActionQueue<NodeAction<Fleet.Job, Never, Never>>
  private let start = Moment(instant: Instant(nanoseconds: 0), wall: 1_000)

  private func fleet(_ count: Int) -> Fleet {
    var random = SeededRandom(seed: 1)
    return Fleet(
      configurations: Array(repeating: AgentConfiguration(), count: count), random: &random,
      at: start)
  }

  private func replica(number: UInt64) throws -> Replica<MemoryReplicaStore> {
    let store = MemoryReplicaStore()
    let credentials = Credentials(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: number), token: "t")
    try store.write([
      .setIdentity(
        HomeIdentity(relay: "http://relay:1", credentials: credentials, deviceName: "d"))
    ])
    return Replica(store: store, apps: [])
  }

  /// Performs the fleet's jobs without opening connections; returns the ids of the requested
  /// connections.
  private func settle(
    _ fleet: inout Fleet, _ replicas: inout [Replica<MemoryReplicaStore>]
  ) -> [ConnectionID] {
    var opened: [ConnectionID] = []
    var queue = Queue()
    fleet.flushActions(into: &queue)
    while let action = queue.popFirst() {
      switch action {
      case .open(let id, _): opened.append(id)
      case .run(let id, .commit(let job)):
        #expect(Int(id.rawValue >> 32) == job.agent)
        let outcome = AgentOutcome.commit(replicas[job.agent].perform(job.job))
        fleet.handle(NodeEvent<AgentOutcome, Never, Never>.finished(id, outcome), at: start)
        fleet.flushActions(into: &queue)
      default: break
      }
    }
    return opened
  }

  @Test func everyAgentReadsItsHomeAndConnects() throws {
    var fleet = fleet(3)
    var replicas = try (1...3).map { try replica(number: $0) }
    let opened = settle(&fleet, &replicas)
    #expect(opened.map { Int($0.rawValue & ~(1 << 63)) >> 32 } == [0, 1, 2])
    let ready = fleet.drainReports().compactMap { agent, report in
      if case .ready = report { agent } else { nil }
    }
    #expect(ready == [0, 1, 2])
    let rest = fleet.drainReports()
    #expect(rest.isEmpty)
    let deadline = fleet.nextDeadline
    #expect(deadline != nil)
  }

  @Test func anEventReachesTheAgentThatItIsFor() throws {
    var fleet = fleet(3)
    var replicas = try (1...3).map { try replica(number: $0) }
    let opened = settle(&fleet, &replicas)
    _ = fleet.drainReports()
    let refused = CloseCause.connectFailed("refused")
    fleet.handle(NodeEvent<AgentOutcome, Never, Never>.closed(opened[1], refused), at: start)
    _ = settle(&fleet, &replicas)
    let reports = fleet.drainReports()
    #expect(!reports.isEmpty && reports.allSatisfy { $0.agent == 1 })
    guard case .status(let status) = reports.last?.report, case .offline = status.state else {
      Issue.record("it told \(reports)")
      return
    }
  }

  @Test func anOrderReachesOneAgent() throws {
    var fleet = fleet(2)
    var replicas = try (1...2).map { try replica(number: $0) }
    _ = settle(&fleet, &replicas)
    _ = fleet.drainReports()
    fleet.submit(.readStatus(OrderID(rawValue: 9)), to: 1, at: start)
    _ = settle(&fleet, &replicas)
    let reports = fleet.drainReports()
    #expect(reports.map(\.agent) == [1])
    guard case .statusRead(OrderID(rawValue: 9), _) = reports[0].report else {
      Issue.record("it told \(reports)")
      return
    }
  }

  @Test func stoppingEndsAllAgents() throws {
    var fleet = fleet(2)
    var replicas = try (1...2).map { try replica(number: $0) }
    _ = settle(&fleet, &replicas)
    _ = fleet.drainReports()
    fleet.handle(NodeEvent<AgentOutcome, Never, Never>.stopping, at: start)
    _ = settle(&fleet, &replicas)
    let stopped = fleet.drainReports().filter {
      if case .stopped = $0.report { true } else { false }
    }
    #expect(stopped.map(\.agent) == [0, 1])
  }

  @Test func deadlinesComeInTheirOrder() throws {
    var fleet = fleet(2)
    var replicas = try (1...2).map { try replica(number: $0) }
    let opened = settle(&fleet, &replicas)
    let first = fleet.nextDeadline ?? start.instant
    #expect(opened.count == 2)
    // No connection is answered: the agents give up, one deadline after the other.
    let late = Moment(instant: first.advanced(milliseconds: 1), wall: 1_000)
    fleet.handle(NodeEvent<AgentOutcome, Never, Never>.deadlineReached, at: late)
    _ = settle(&fleet, &replicas)
    let second = fleet.nextDeadline ?? start.instant
    #expect(second > first)
  }
}
