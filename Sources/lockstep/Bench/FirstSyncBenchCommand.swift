import LockstepTools

/// `lockstep bench first-sync`: measures whether one account's large load delays other accounts.
enum FirstSyncBenchCommand {
  static let records = CommandOption.defaulted(
    "records", .integer(1...10_000_000), default: "100000", "Records of the large account.")
  static let recordBytes = CommandOption.defaulted(
    "record-bytes", .integer(32...1_000_000), default: "200", "Bytes of each record's fields.")
  static let runs = CommandOption.defaulted(
    "runs", .integer(1...100), default: "5", "Pairs of a quiet window and one under load.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...600), default: "4", "How long a quiet window lasts.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...10_000), default: "50", "Saves a second of the other account.")
  static let isRaw = CommandOption.flag(
    "raw", "Let a client that keeps nothing read the account, instead of an agent.")
  static let isBurst = CommandOption.flag(
    "burst", "Instead: one device uploads all the records over one socket.")
  static let isBacklog = CommandOption.flag(
    "backlog", "Instead: many devices come back at once, each with much to catch up.")
  static let devices = CommandOption.defaulted(
    "devices", .integer(1...10_000), default: "200", "Devices that come back.")
  static let behind = CommandOption.defaulted(
    "behind", .integer(1...1_000_000), default: "5000", "Records that each of them has missed.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "first-sync",
    summary: "Measures a first sync, and what it does to the saves of others.",
    discussion: """
      A relay of its own holds an account of many records. Another account saves small records at \
      a steady rate; the time from when each is due to its answer, which comes after its commit is \
      durable, is measured in windows: one with nothing else going on, then one while a new device \
      takes its first sync, and so on in turns. Peak memory is that of each process alone. \
      --report draws both kinds of windows beside each other.
      """,
    options: [
      records.entry, recordBytes.entry, runs.entry, seconds.entry, rate.entry, isRaw.entry,
      isBurst.entry, isBacklog.entry, devices.entry, behind.entry,
      BenchReport.report.entry, BenchReport.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
    let chosen: [InterferencePlan.Load] =
      (arguments[isRaw] ? [.rawFirstSync] : []) + (arguments[isBurst] ? [.burst] : [])
      + (arguments[isBacklog] ? [.backlog] : [])
    guard chosen.count < 2 else {
      throw CommandFailure("--raw, --burst and --backlog are loads; name one", exitCode: .usage)
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
    let report = try BenchReport(arguments, of: .firstSync)
    let table = try InterferenceBench(plan: plan, progress: Progress()).run()
    let run = table.run(from: report.origin)
    try report.finish(run, text: table.text, json: arguments[json] ? table.json : nil)
    return .success
  }
}
