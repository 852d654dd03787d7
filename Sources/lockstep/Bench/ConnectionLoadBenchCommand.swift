import LockstepTools

/// `lockstep bench crowd`: measures whether idle connections and slow readers delay other devices.
enum ConnectionLoadBenchCommand {
  static let idle = CommandOption.defaulted(
    "idle", .integer(0...40_000), default: "10000",
    "Idle connections: half of them signed in, half that never say a byte.")
  static let slow = CommandOption.defaulted(
    "slow", .integer(1...2_000), default: "300", "Devices that read slower than they are told.")
  static let runs = CommandOption.defaulted(
    "runs", .integer(1...100), default: "5", "Pairs of a quiet run and a crowded one.")
  static let seconds = CommandOption.defaulted(
    "seconds", .integer(1...600), default: "10", "How long changes are made in each run.")
  static let rate = CommandOption.defaulted(
    "rate", .integer(1...10_000), default: "200", "Changes a second of those who are measured.")
  static let isHostile = CommandOption.flag(
    "hostile",
    "Measure what hostile accounts do to the others, attack by attack and all at once.")
  static let json = CommandOption.flag("json", "Print one JSON object.")

  static let command = Command(
    name: "crowd",
    summary: "Measures what a crowd of idle connections and slow readers costs the others.",
    discussion: """
      A hundred devices of fifty people change and watch records, as in `lockstep bench latency`: \
      once on a quiet relay, once beside the crowd, and so on in turns. Twenty records of 4 KiB a \
      second are saved into each account of slow readers; each of them takes 4 KiB a second. The \
      exit code is 1 where a change was lost or the 99th percentile more than doubled. --report \
      draws both beside each other. --hostile measures what one account does to another's saves \
      and reads by zone deletions, saves that name 4,096 chunks, reads of an empty zone, a flood \
      of records, pages that nobody takes, half messages before hello, messages byte by byte, \
      wrong pairing codes and reconnects. Then ten accounts do all of that at once beside those \
      who are measured. The exit code is 1 where an attack moved a 99th percentile by more than \
      20 ms, or all at once more than doubled it or took more of the relay's memory than \
      docs/operations.md allows.
      """,
    options: [
      idle.entry, slow.entry, runs.entry, seconds.entry, rate.entry, isHostile.entry,
      BenchReport.report.entry,
      BenchReport.against.entry, json.entry,
    ]
  ) { arguments throws(CommandFailure) in
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
    let report = try BenchReport(arguments, of: .crowd)
    let table = try ConnectionLoadBench(plan: plan, progress: Progress()).run()
    let run = table.run(from: report.origin)
    try report.finish(run, text: table.text, json: arguments[json] ? table.json : nil)
    return table.isMet ? .success : .failure
  }
}
