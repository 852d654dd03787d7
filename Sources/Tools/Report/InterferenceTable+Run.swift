extension InterferenceTable {
  /// Returns the contents of a report. The distributions are those of all windows together. There
  /// is no timeline, because windows are short and differ in length.
  public func run(from origin: RunOrigin) -> BenchRun {
    var (quiet, busy) = (LatencyHistogram(), LatencyHistogram())
    for pair in pairs {
      quiet.merge(pair.quiet)
      busy.merge(pair.busy)
    }
    return BenchRun(
      kind: .firstSync, summary: title, origin: origin, plan: facts, figures: figures, notes: [],
      series: [
        RunSeries(name: "quiet", latency: quiet, seconds: []),
        RunSeries(name: "under load", latency: busy, seconds: []),
      ])
  }

  private var facts: [RunFact] {
    var facts = [
      RunFact("load", plan.load.rawValue), RunFact("bytes of a record", "\(plan.recordBytes)"),
    ]
    if plan.load == .backlog {
      facts += [
        RunFact("devices that come back", "\(plan.devices)"),
        RunFact("records that each has missed", "\(plan.behind)"),
      ]
    } else {
      facts.append(RunFact("records", "\(plan.records)"))
    }
    return facts + [
      RunFact("saves a second of the other account", "\(plan.rate)"),
      RunFact("seconds of a quiet window", "\(plan.seconds)"),
      RunFact("windows of each", "\(plan.runs)"),
    ]
  }

  private var figures: [RunFigure] {
    var figures: [RunFigure] = []
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      var judged = RunFigure(
        "\(label) under load to quiet", thousandths: median { $0.ratio(share) }, .times)
      if share == 0.5 { (judged.target, judged.isMet) = ("≤ 2", isMet) }
      figures += [
        RunFigure("quiet, \(label)", nanoseconds: median { $0.quiet.quantile(share) }),
        RunFigure("under load, \(label)", nanoseconds: median { $0.busy.quantile(share) }),
        judged,
      ]
    }
    figures += [
      RunFigure("records a second", count: median(\.recordsASecond)),
      RunFigure("the load took", nanoseconds: median(\.nanoseconds)),
    ]
    if plan.load == .backlog {
      figures += [
        RunFigure("half of the devices had", nanoseconds: median { $0.devices.quantile(0.5) }),
        RunFigure("reads put off", count: pairs.reduce(0) { $0 + Int64($1.putOff) }),
      ]
    }
    figures += [
      RunFigure("relay's memory before", bytes: median(\.relayBefore)),
      RunFigure("relay's peak", bytes: pairs.compactMap(\.relayPeak).max()),
    ]
    let devicePeak = pairs.compactMap(\.devicePeak).max()
    if devicePeak != nil { figures.append(RunFigure("device's peak", bytes: devicePeak)) }
    if logBytes != nil { figures.append(RunFigure("relay's log afterwards", bytes: logBytes)) }
    return figures
  }
}
