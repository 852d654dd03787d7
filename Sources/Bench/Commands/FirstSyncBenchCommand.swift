import LockstepCommandLine

/// `lockstep bench first-sync`: measures whether one account's large load delays other accounts.
enum FirstSyncBenchCommand {
  static let records = CommandOption.defaulted(
    "records", .integer(1...10_000_000), default: "100000", "Records of the large account.")
  static let recordBytes = CommandOption.defaulted(
    "record-bytes", .integer(32...1_000_000), default: "200", "Bytes of each record's fields.")
  static let runs = CommandOption.defaulted(
    "runs", .integer(1...100), default: "5",
    "Number of pairs of a quiet window and a window under load.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...600), default: "4", "Length of a quiet window in seconds.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...10_000), default: "50", "Saves per second of the other account.")
  static let isRaw = CommandOption.flag(
    "raw", "Read the account with a client that stores nothing, instead of an agent.")
  static let isBurst = CommandOption.flag(
    "burst", "Load: one device uploads all records over one socket.")
  static let isBacklog = CommandOption.flag(
    "backlog", "Load: many devices reconnect at once, each with a large backlog.")
  static let devices = CommandOption.defaulted(
    "devices", .integer(1...10_000), default: "200", "Number of devices that reconnect.")
  static let behind = CommandOption.defaulted(
    "behind", .integer(1...1_000_000), default: "5000",
    "Number of records that each of them has missed.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "first-sync",
    summary: "Measures a first sync, and its effect on the saves of another account.",
    discussion: """
      Starts a relay with an account of many records. Another account saves small records at a \
      steady rate. The time from a save's due time to its answer, which the relay sends after the \
      commit is durable, is measured alternately in a quiet window and in a window in which a new \
      device makes its first sync. Peak memory is reported for each process. --report draws both \
      kinds of windows.
      """,
    options: [
      records.entry, recordBytes.entry, runs.entry, seconds.entry, rate.entry, isRaw.entry,
      isBurst.entry, isBacklog.entry, devices.entry, behind.entry,
      BenchOutput.report.entry, BenchOutput.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let chosen: [InterferencePlan.Load] =
      (arguments[isRaw] ? [.rawFirstSync] : []) + (arguments[isBurst] ? [.burst] : [])
      + (arguments[isBacklog] ? [.backlog] : [])
    guard chosen.count < 2 else {
      throw CommandFailure(
        "--raw, --burst and --backlog exclude one another; name one", exitCode: .usage)
    }
    var plan = InterferencePlan()
    plan.load = chosen.first ?? .firstSync
    plan.records = arguments[records]
    plan.recordBytes = arguments[recordBytes]
    plan.runs = arguments[runs]
    plan.seconds = arguments[seconds]
    plan.rate = arguments[rate]
    plan.devices = arguments[devices]
    plan.behind = arguments[behind]
    let report = try BenchOutput(arguments, of: .firstSync)
    let table = try InterferenceBench(plan: plan, progress: Progress()).run()
    let run = table.run(from: report.origin)
    try report.finish(run, text: table.text, json: arguments[json] ? table.json : nil)
    return .success
  }
}
