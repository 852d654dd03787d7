import LockstepClient
import LockstepModel
import LockstepTools

/// `lockstep bench`: measures a relay and its event loop.
enum BenchCommand {
  static let command = Command(
    name: "bench", summary: "Measures a relay, and the loop that it runs on.",
    subcommands: [
      LatencyBenchCommand.command, FirstSyncBenchCommand.command,
      ConnectionLoadBenchCommand.command,
      BudgetBenchCommand.command, SeamBenchCommand.command,
    ])
}

/// `lockstep bench latency`: measures the time from a change on one device to the other devices.
enum LatencyBenchCommand {
  static let relay = CommandOption.optional(
    "relay", ValueKind.relay, "An --open relay to measure; one of its own if not given.")
  static let relayProcess = CommandOption.optional(
    "relay-process", ValueKind.integer(1...Int(Int32.max), "PID"),
    "That relay's process, to count its CPU time.")
  static let accounts = CommandOption.defaulted(
    "accounts", .integer(1...5_000), default: "100", "People.")
  static let devices = CommandOption.defaulted(
    "devices", .integer(2...64), default: "3", "Devices of each.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...100_000), default: "200", "Changes a second, over all of them.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...3_600), default: "10", "How long changes are made.")
  static let transport = CommandOption.defaulted(
    "transport", ValueKind<Transport>.choice, default: Transport.webSocket.rawValue,
    "How changes reach the devices.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "latency",
    summary: "Measures the time from a change on one device to the app on the others.",
    discussion: """
      Changes fall due at fixed times, and the clock of each starts when it is due: a stall \
      counts. Every change must arrive at every other device of its account, durable, exactly \
      once. The exit code is 1 where something is missing or came twice.

      --report draws percentiles, histogram and timeline, with all figures, the machine and the \
      command; --against puts an earlier run beside it.
      """,
    options: [
      relay.entry, HomeTrust.option.entry, relayProcess.entry, accounts.entry, devices.entry,
      rate.entry, seconds.entry, transport.entry, BenchReport.report.entry,
      BenchReport.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    var plan = BenchPlan()
    plan.accounts = arguments[accounts]
    plan.devices = arguments[devices]
    plan.rate = arguments[rate]
    plan.seconds = arguments[seconds]
    plan.transport = arguments[transport]
    let report = try BenchReport(arguments, of: .latency)
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
