import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepTools
import LockstepWire

/// Measures whether many idle connections and slow readers delay other devices. Alternates quiet
/// and crowded runs, on a relay of its own.
struct ConnectionLoadBench {
  let plan: ConnectionLoadPlan
  let progress: Progress
  private let waiting: BenchWait

  /// Pause in milliseconds before a crowded run, after which the slow readers' queues are full, and
  /// before the next quiet run.
  private static let settleMilliseconds: Int64 = 3_000

  init(plan: ConnectionLoadPlan, progress: Progress) throws(CommandFailure) {
    self.plan = plan
    self.progress = progress
    waiting = try BenchWait()
    OpenFiles.raiseLimit()
  }

  func run() throws(CommandFailure) -> ConnectionLoadTable {
    defer { progress.clear() }
    progress.show("starting a relay on a temporary store")
    let relay = try ChildRelay()
    defer { relay.stop() }
    let (crowd, loads) = try join(relay.address)
    var pairs: [ConnectionLoadPair] = []
    for number in 1...plan.runs {
      progress.show("run \(number) of \(plan.runs): quiet")
      let before = ProcessMemory.resident(relay.process)
      ProcessMemory.forgetPeak(relay.process)
      let quiet = try measure(on: relay)
      progress.show("run \(number) of \(plan.runs): the crowd comes")
      let standing = try LoadThread(
        ConnectionLoadNode(crowd, to: relay.address, random: Entropy.seededRandom()),
        receiveBytes: ConnectionLoadPlan.slowBytes, waiting)
      try standing.wait(for: "the crowd", isReady)
      let saving = try LoadThread(loads, to: relay.address, waiting)
      try saving.wait(for: "the crowd's load", isReady)
      try waiting.pause(milliseconds: Self.settleMilliseconds)
      let crowded = try measure(on: relay)
      var pair = ConnectionLoadPair(quiet: quiet, crowded: crowded)
      (pair.relayBefore, pair.relayPeak) = (before, ProcessMemory.peak(relay.process))
      pairs.append(pair)
      try saving.stop()
      try standing.stop()
      try waiting.pause(milliseconds: Self.settleMilliseconds)
    }
    return ConnectionLoadTable(plan: plan, pairs: pairs)
  }

  private func isReady(_ report: LoadReport) -> Void? {
    if case .ready = report { () } else { nil }
  }

  private func measure(on relay: ChildRelay) throws(CommandFailure) -> BenchResult {
    try LatencyBench(
      plan: plan.measured, relay: relay.address, relayProcess: relay.process, progress: progress
    ).run().result
  }

  /// Creates the crowd's accounts. Returns its members, and the devices that save for the slow
  /// readers.
  private func join(
    _ relay: RelayAddress
  ) throws(CommandFailure) -> (crowd: [ConnectionLoadMember], loads: [LoadDevice]) {
    let call = RelayCall(relay: relay)
    var crowd = [ConnectionLoadMember](repeating: .silent, count: plan.silent)
    var loads: [LoadDevice] = []
    for account in 0..<plan.idleAccounts {
      progress.show("making accounts: \(account) of \(plan.idleAccounts + plan.slowAccounts)")
      let token = try call.join(code: nil, deviceName: "idle").token
      let first = account * ConnectionLoadPlan.idleSocketsPerAccount
      let count = min(ConnectionLoadPlan.idleSocketsPerAccount, plan.signedIn - first)
      crowd += Array(repeating: .idle(token: token), count: count)
    }
    for account in 0..<plan.slowAccounts {
      let first = account * ConnectionLoadPlan.slowReadersPerAccount
      let count = min(ConnectionLoadPlan.slowReadersPerAccount, plan.slow - first)
      let members = try call.account(devices: count + 1)
      let since = try call.newestToken(members[0].token)
      crowd += members.dropFirst().map { .slow(token: $0.token, since: since) }
      loads.append(
        LoadDevice(
          token: members[0].token,
          task: .save(rate: plan.saves, recordBytes: plan.saveBytes)))
    }
    return (crowd, loads)
  }
}
