import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepModel
import LockstepStorage

/// `lockstep bench`: measures a relay, its event loop, and the library for apps.
package enum BenchCommand {
  package static let command = Command(
    name: "bench", summary: "Measures a relay, its event loop, and the library for apps.",
    subcommands: [
      LatencyBenchCommand.command, FirstSyncBenchCommand.command,
      ConnectionLoadBenchCommand.command,
      BudgetBenchCommand.command, SeamBenchCommand.command, LibraryBenchCommand.command,
      WakeBenchCommand.command,
    ])
}

/// `lockstep bench latency`: measures the time from a change on one device to the other devices.
enum LatencyBenchCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay,
    "An --open relay to measure; if not given, a temporary one is started.")
  static let relayProcess = CommandOption.optional(
    "relay-process", ValueKind.integer(1...Int(Int32.max), "PID"),
    "Process id of that relay, to count its CPU time.")
  static let accounts = CommandOption.defaulted(
    "accounts", .integer(1...5_000), default: "100", "Number of accounts.")
  static let devices = CommandOption.defaulted(
    "devices", .integer(2...64), default: "3", "Number of devices per account.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...100_000), default: "200", "Changes per second, over all accounts.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...3_600), default: "10", "Length of the run in seconds.")
  static let transport = CommandOption.defaulted(
    "transport", ValueKind<Transport>.choice, default: Transport.webSocket.rawValue,
    "Transport of changes.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "latency",
    summary: "Measures the time from a change on one device to the app on the others.",
    discussion: """
      Changes are due at fixed times, and each latency starts at the due time, so that a stall \
      counts. Every change must arrive at every other device of its account, durable, exactly \
      once. The exit code is 1 if a change is missing or arrives twice.

      --report draws percentiles, a histogram and a timeline, with all figures, the machine and \
      the command; --against adds an earlier run for comparison.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, relayProcess.entry, accounts.entry, devices.entry,
      rate.entry, seconds.entry, transport.entry, BenchOutput.report.entry,
      BenchOutput.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    var plan = BenchPlan()
    plan.accounts = arguments[accounts]
    plan.devices = arguments[devices]
    plan.rate = arguments[rate]
    plan.seconds = arguments[seconds]
    plan.transport = arguments[transport]
    let report = try BenchOutput(arguments, of: .latency)
    let bench = LatencyBench(
      plan: plan, relay: arguments[relay],
      trust: try HomeTrust.named(arguments[HomeTrust.option]).trust,
      relayProcess: arguments[relayProcess].map(Int32.init), progress: Progress())
    let table = try bench.run()
    let run = table.run(from: report.origin, isOwnRelay: arguments[relay] == nil)
    try report.finish(run, text: table.text, json: arguments[json] ? table.json : nil)
    let result = table.result
    return result.missing == 0 && result.duplicated == 0 && result.failures.isEmpty
      ? .success : .failure
  }
}

/// Runs a latency bench: accounts and devices on a relay, and many agents in one event loop of this
/// process. Also measures the relay and the disk meanwhile.
struct LatencyBench {
  var plan: BenchPlan
  /// Relay to measure; nil for one of its own, in another process, on a temporary store.
  var relay: RelayAddress?
  /// Trust policy for the relay's certificate.
  var trust = Trust.system
  /// Process of `relay`, if its CPU time is to be counted.
  var relayProcess: Int32?
  var progress: Progress

  func run() throws(CommandFailure) -> BenchTable {
    guard let relay else {
      progress.show("starting a relay on a temporary store")
      let child = try ChildRelay()
      defer { child.stop() }
      return try run(on: child.address, process: child.process, folder: child.store)
    }
    return try run(on: relay, process: relayProcess, folder: "/tmp")
  }

  private func run(on relay: RelayAddress, process: Int32?, folder: String)
    throws(CommandFailure) -> BenchTable
  {
    defer { progress.clear() }
    let stores = try FleetHomes(relay: relay, trust: trust, progress: progress).join(
      accounts: plan.accounts, devices: plan.devices)
    let probe = try CommitProbe(folder: folder)
    let before = process.flatMap(SystemClock.processorNanoseconds(ofProcess:))
    let result: BenchResult
    do throws(CommandFailure) {
      result = try measure(stores)
    } catch {
      _ = probe.finish()
      throw error
    }
    let after = process.flatMap(SystemClock.processorNanoseconds(ofProcess:))
    var spent: Int64?
    if let before, let after { spent = (after - before) / 1_000 }
    return BenchTable(
      plan: plan, result: result, commits: probe.finish(), relayProcessorMicroseconds: spent,
      seamInstructions: try seamInstructions())
  }

  /// Returns nil if this machine does not let programs count instructions.
  private func seamInstructions() throws(CommandFailure) -> Int64? {
    return try CommandFailure.wrap { () throws(SystemFault) in
      try SeamCost.measure().instructions
    }
  }

  private func measure(_ stores: sending [MemoryReplicaStore]) throws(CommandFailure) -> BenchResult
  {
    progress.show("bringing \(stores.count) devices in sync")
    let (progress, seconds) = (progress, plan.seconds)
    let result = try FleetHomes.runNode(
      BenchNode(plan: plan, random: Entropy.seededRandom(), at: SystemClock.moment()),
      apps: [], on: stores, trust
    ) { report -> BenchResult? in
      switch report {
      case .running:
        progress.show("measuring for \(seconds) s")
        return nil
      case .finished(let result): return result
      }
    }
    guard let result else { throw CommandFailure("the bench was interrupted") }
    return result
  }
}

/// Waits of a bench: until a condition holds, a signal arrives, or a timeout expires.
struct BenchWait {
  private let signals: Signals
  private let pauseMilliseconds: UInt32
  private let timeoutSeconds: Int64

  /// Must run on the main thread, before any other thread starts.
  ///
  /// - Parameters:
  ///   - pauseMilliseconds: Time between two polls.
  ///   - timeoutSeconds: Longer than anything that the bench waits for.
  init(pauseMilliseconds: UInt32 = 2, timeoutSeconds: Int64 = 600) throws(CommandFailure) {
    self.pauseMilliseconds = pauseMilliseconds
    self.timeoutSeconds = timeoutSeconds
    signals = try CommandFailure.wrap { () throws(SystemFault) in
      try Signals()
    }
  }

  /// Calls `poll` repeatedly until it returns a result. `what`: subject of the error text, such as
  /// "the upload".
  func wait<Result>(
    for what: String, _ poll: () throws(CommandFailure) -> Result?
  ) throws(CommandFailure) -> Result {
    let end = SystemClock.instant().advanced(milliseconds: timeoutSeconds * 1_000)
    while true {
      if let result = try poll() { return result }
      try checkSignals()
      guard SystemClock.instant() < end else {
        throw CommandFailure("\(what) did not end within \(timeoutSeconds) s")
      }
      usleep(pauseMilliseconds * 1_000)
    }
  }

  func pause(milliseconds: Int64) throws(CommandFailure) {
    let end = SystemClock.instant().advanced(milliseconds: milliseconds)
    try wait(for: "a pause") { SystemClock.instant() < end ? nil : () }
  }

  private func checkSignals() throws(CommandFailure) {
    do throws(SystemFault) {
      if try !signals.receive().isEmpty { throw SystemFault(call: "the bench", code: EINTR) }
    } catch {
      throw CommandFailure(error.code == EINTR ? "the bench was interrupted" : "\(error)")
    }
  }
}
