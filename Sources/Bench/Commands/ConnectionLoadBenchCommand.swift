import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// `lockstep bench crowd`: measures whether idle connections and slow readers delay other devices.
enum ConnectionLoadBenchCommand {
  static let idle = CommandOption.defaulted(
    "idle", .integer(0...40_000), default: "10000",
    "Idle connections: half are signed in, half never send a byte.")
  static let slow = CommandOption.defaulted(
    "slow", .integer(1...2_000), default: "300", "Devices that read slower than the relay pushes.")
  static let runs = CommandOption.defaulted(
    "runs", .integer(1...100), default: "5", "Number of pairs of a quiet run and a loaded run.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...600), default: "10", "Length of each run in seconds.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...10_000), default: "200", "Changes per second of the measured devices.")
  static let isHostile = CommandOption.flag(
    "hostile",
    "Measure the effect of hostile accounts on others: each attack alone, then all at once.")
  static let isScoped = CommandOption.flag(
    "scoped",
    "Measure if the time of an answer tells a device for one zone what is in another zone.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "crowd",
    summary: "Measures whether many idle connections and slow readers delay other devices.",
    discussion: """
      A hundred devices of fifty accounts make and receive changes, as in `lockstep bench \
      latency`, alternately on a quiet and on a loaded relay. Twenty records of 4 KiB are saved \
      per second into each account of slow readers; each reader receives 4 KiB per second. The \
      exit code is 1 if a change was lost or the 99th percentile more than doubled. --report \
      draws both kinds of runs.

      --hostile measures the effect of one account on another's saves and reads, for each of \
      these attacks: zone deletions, saves that name 4,096 chunks, reads of an empty zone, a \
      flood of records, pages that are not read, half messages before hello, messages sent byte \
      by byte, wrong pairing codes, and reconnects. Then ten accounts run all attacks at once \
      while other devices are measured. The exit code is 1 if one attack raised a 99th \
      percentile by more than 20 ms, or if all together more than doubled it or used more of \
      the relay's memory than docs/relay/sizing.md allows.

      --scoped asks, as a device that was paired for one zone, for a record, a chunk and the \
      changes of another zone, and for those that nobody has, in turn. It compares the medians \
      of both, and of two that nobody has. The exit code is 1 if they differ by more than 2 %, \
      or than those of two that nobody has. Of the other options it heeds --runs and --json.
      """,
    options: [
      idle.entry, slow.entry, runs.entry, seconds.entry, rate.entry, isHostile.entry,
      isScoped.entry, BenchOutput.report.entry,
      BenchOutput.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    guard !(arguments[isHostile] && arguments[isScoped]) else {
      throw CommandFailure("give either --hostile or --scoped", exitCode: .usage)
    }
    if arguments[isScoped] {
      let table = try ScopeTimingBench(runs: arguments[runs], progress: Progress()).run()
      _ = try TerminalOutput.printed(arguments[json] ? table.json.text : table.text)
      return table.isMet ? .success : .failure
    }
    if arguments[isHostile] {
      let table = try HostileBench(
        seconds: arguments[seconds], runs: arguments[runs], progress: Progress()
      ).run()
      _ = try TerminalOutput.printed(arguments[json] ? table.json.text : table.text)
      return table.isMet ? .success : .failure
    }
    var plan = ConnectionLoadPlan()
    plan.idle = arguments[idle]
    plan.slow = arguments[slow]
    plan.runs = arguments[runs]
    plan.measured.seconds = arguments[seconds]
    plan.measured.rate = arguments[rate]
    let report = try BenchOutput(arguments, of: .crowd)
    let table = try ConnectionLoadBench(plan: plan, progress: Progress()).run()
    let run = table.run(from: report.origin)
    try report.finish(run, text: table.text, json: arguments[json] ? table.json : nil)
    return table.isMet ? .success : .failure
  }
}

/// Measures whether many idle connections and slow readers delay other devices. Alternates quiet
/// and loaded runs, on a relay of its own.
struct ConnectionLoadBench {
  let plan: ConnectionLoadPlan
  let progress: Progress
  private let waiting: BenchWait

  /// Pause in milliseconds before a loaded run, after which the slow readers' queues are full, and
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
    let (connections, loads) = try createAccounts(relay.address)
    var pairs: [ConnectionLoadPair] = []
    for number in 1...plan.runs {
      progress.show("run \(number) of \(plan.runs): quiet")
      let before = ProcessMemory.resident(relay.process)
      ProcessMemory.resetPeak(relay.process)
      let quiet = try measure(on: relay)
      progress.show("run \(number) of \(plan.runs): under load")
      let loading = try LoadThread(
        ConnectionLoadNode(connections, to: relay.address, random: Entropy.seededRandom()),
        receiveBytes: ConnectionLoadPlan.slowBytes, waiting)
      try loading.wait(for: "the load's connections", isReady)
      let saving = try LoadThread(loads, to: relay.address, waiting)
      try saving.wait(for: "the savers' sign-in", isReady)
      try waiting.pause(milliseconds: Self.settleMilliseconds)
      let loaded = try measure(on: relay)
      var pair = ConnectionLoadPair(quiet: quiet, loaded: loaded)
      (pair.relayBefore, pair.relayPeak) = (before, ProcessMemory.peak(relay.process))
      pairs.append(pair)
      try saving.stop()
      try loading.stop()
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

  /// Creates the accounts of the load. Returns its connections, and the devices that save for the
  /// slow readers.
  private func createAccounts(
    _ relay: RelayAddress
  ) throws(CommandFailure) -> (connections: [ConnectionLoadMember], loads: [LoadDevice]) {
    let call = RelayCall(relay: relay)
    var connections = [ConnectionLoadMember](repeating: .silent, count: plan.silent)
    var loads: [LoadDevice] = []
    for account in 0..<plan.idleAccounts {
      progress.show("making accounts: \(account) of \(plan.idleAccounts + plan.slowAccounts)")
      let token = try call.join(code: nil, deviceName: "idle").credentials.token
      let first = account * ConnectionLoadPlan.idleSocketsPerAccount
      let count = min(ConnectionLoadPlan.idleSocketsPerAccount, plan.signedIn - first)
      connections += Array(repeating: .idle(token: token), count: count)
    }
    for account in 0..<plan.slowAccounts {
      let first = account * ConnectionLoadPlan.slowReadersPerAccount
      let count = min(ConnectionLoadPlan.slowReadersPerAccount, plan.slow - first)
      let members = try call.account(devices: count + 1)
      let since = try call.newestToken(members[0].token)
      connections += members.dropFirst().map { .slow(token: $0.token, since: since) }
      loads.append(
        LoadDevice(
          token: members[0].token,
          task: .save(rate: plan.saves, recordBytes: plan.saveBytes)))
    }
    return (connections, loads)
  }
}
