import LockstepApps
import LockstepClient
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import LockstepWire

/// A relay and one node of many agents in virtual time: the simulated counterpart of `lockstep
/// bench` and `lockstep agent simulate`.
package final class FleetStage<N: FleetNode & ~Copyable> where N.Order == Never {
  package let relay: VirtualRelay
  package private(set) var reports: [N.Report] = []
  private var replicas: [Replica<MemoryReplicaStore>] = []
  private let files = MemoryChunkStore()
  private var driver: NodeDriver<N>?

  package var environment: SimulationEnvironment { relay.environment }
  package var store: MemoryZoneStore { relay.store }
  package var credentials: [Credentials] { relay.credentials }
  /// Duration of a commit in the relay's store, in nanoseconds.
  package var commitNanoseconds: Int64 {
    get { relay.commitNanoseconds }
    set { relay.commitNanoseconds = newValue }
  }

  /// `badTokens`: devices whose tokens the relay does not know.
  package init(
    accounts: Int, devices: Int, badTokens: [Int] = [], apps: [any App] = [],
    _ makeNode: (Moment) -> N
  ) throws {
    relay = try VirtualRelay(accounts: accounts, devices: devices)
    for (number, credentials) in relay.credentials.enumerated() {
      var credentials = credentials
      if badTokens.contains(number) { credentials.token = "unknown" }
      let store = MemoryReplicaStore()
      try store.write([
        .setIdentity(
          HomeIdentity(relay: "http://relay:1", credentials: credentials, deviceName: "device"))
      ])
      replicas.append(Replica(store: store, apps: apps))
    }
    let clock = relay.clock
    let driver = NodeDriver(
      name: "fleet", environment: environment, clock: { clock },
      node: makeNode(clock.moment(at: 0)))
    driver.onJob = { [unowned self, unowned driver] id, job in
      environment.timeline.after(Span.microseconds(100)) { [unowned self] in
        let outcome = Fleet.perform(job, on: &replicas, files: files)
        driver.handle(.finished(id, outcome))
      }
    }
    driver.onReport = { [unowned self] in reports.append($0) }
    self.driver = driver
    driver.begin()
  }

  /// Advances the time until `isDone` returns true, at most this many seconds.
  package func run(seconds: Int64, until isDone: ([N.Report]) -> Bool = { _ in false }) {
    let end = environment.timeline.now + Span.seconds(seconds)
    while !isDone(reports), environment.timeline.step(until: end) {}
  }

  package var fleet: NodeDriver<N>? { driver }

  /// Overwrites the oldest record of the first account without using the fleet.
  package func overwriteOldest() throws {
    let (account, device) = (credentials[0].account, credentials[0].device)
    let answer = try store.read(.changes(account, since: nil, zones: .all, limit: 1))
    guard case .page(let page) = answer, let oldest = page.changes.first else {
      throw StorageError.failed(path: "memory", operation: "read", detail: "\(answer)")
    }
    let mutation = Mutation(
      name: oldest.name, type: oldest.type, fields: Array(#"{"number":-1}"#.utf8), modifiedAt: 1,
      baseTag: oldest.tag)
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: oldest.zone, atomic: false, mutations: [mutation])
    _ = try store.commit(
      [.save(SaveCommit(account: account, device: device, request: request, digest: [1]))],
      wall: VirtualClock.epoch)
  }

  package func stopFleet() { driver?.deliverSignal(.stopping) }

  package func killRelay() { relay.kill() }
}
