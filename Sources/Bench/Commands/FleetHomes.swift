import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepSimulation
import LockstepStorage
import Synchronization

/// In-memory homes of many devices, for benches and simulations on a real relay.
struct FleetHomes {
  let relay: RelayAddress
  let trust: Trust
  let progress: Progress

  /// Creates `accounts` accounts with `devices` devices each, one account after the other.
  func join(accounts: Int, devices: Int) throws(CommandFailure) -> [MemoryReplicaStore] {
    let call = RelayCall(relay: relay, trust: trust)
    var stores: [MemoryReplicaStore] = []
    for _ in 0..<accounts {
      progress.show("joining devices: \(stores.count) of \(accounts * devices)")
      for credentials in try call.account(devices: devices) {
        let store = MemoryReplicaStore()
        try CommandFailure.wrap { () throws(StorageError) in
          try store.write([
            .setIdentity(
              HomeIdentity(relay: relay.url, credentials: credentials, deviceName: "device"))
          ])
        }
        stores.append(store)
      }
    }
    return stores
  }

  /// Runs a node of many agents until `last` returns a result for a report, and returns that
  /// result. Returns nil if a signal arrived first.
  static func runNode<N: FleetNode & ~Copyable, Result: Sendable>(
    _ node: consuming sending N, apps: [any App], on stores: sending [MemoryReplicaStore],
    _ trust: Trust,
    last: @escaping @Sendable (N.Report) -> Result?
  ) throws(CommandFailure) -> Result? {
    let outcome = Mutex<Result?>(nil)
    var settings = GroupSettings<N.Report> { _, report in
      if let result = last(report) { outcome.withLock { $0 = result } }
    }
    settings.isLastReport = { last($0) != nil }
    // The fleet measures time, so each event must carry the time at which it happened.
    settings.clock = .eachEvent
    settings.trust = trust
    do throws(SystemFault) {
      let signals = try Signals()
      let group = try NodeGroup<N>(count: 1, settings)
      var replicas = stores.map { Replica(store: $0, apps: apps) }
      let files = MemoryChunkStore()
      try group.add(
        node,
        performInline: { assignments, _ in
          assignments.map { (Fleet.perform($0.job, on: &replicas, files: files), nil) }
        })
      _ = try group.run(signals)
    } catch {
      throw CommandFailure("\(error)")
    }
    return outcome.withLock { $0 }
  }
}
