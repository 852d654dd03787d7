extension ConnectionLoadTable {
  /// Returns the contents of a report. The distributions are those of all runs together.
  public func run(from origin: RunOrigin) -> BenchRun {
    let results = pairs.flatMap { [$0.quiet, $0.crowded] }
    return BenchRun(
      kind: .crowd, summary: title, origin: origin,
      plan: plan.measured.facts + [
        RunFact("idle connections", "\(plan.idle)"), RunFact("slow readers", "\(plan.slow)"),
        RunFact("runs of each", "\(plan.runs)"),
      ],
      figures: figures(of: results),
      notes: Array(results.flatMap(\.failures).prefix(BenchTable.failuresShown)),
      series: [
        series("quiet", of: pairs.map(\.quiet)),
        series("beside the crowd", of: pairs.map(\.crowded)),
      ])
  }

  private func figures(of results: [BenchResult]) -> [RunFigure] {
    var figures: [RunFigure] = []
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      let ratio = median { $0.ratio(share) }
      var judged = RunFigure("\(label) beside the crowd to quiet", thousandths: ratio, .times)
      if share == 0.99 {
        (judged.target, judged.isMet) = ("≤ 2", ratio.map { $0 <= Self.ratioMost })
      }
      figures += [
        RunFigure(
          "quiet, \(label)", nanoseconds: median { $0.quiet.latency.quantile(share) }),
        RunFigure(
          "beside the crowd, \(label)",
          nanoseconds: median { $0.crowded.latency.quantile(share) }),
        judged,
      ]
    }
    return figures + [
      RunFigure("changes sent", count: results.reduce(0) { $0 + Int64($1.sent) }),
      RunFigure("deliveries", count: results.reduce(0) { $0 + Int64($1.delivered) }),
      RunFigure("missing", faults: results.reduce(0) { $0 + $1.missing }),
      RunFigure("duplicated", faults: results.reduce(0) { $0 + $1.duplicated }),
      RunFigure("relay's memory before", bytes: median(\.relayBefore)),
      RunFigure("relay's peak", bytes: pairs.compactMap(\.relayPeak).max()),
    ]
  }

  private func series(_ name: String, of results: [BenchResult]) -> RunSeries {
    var latency = LatencyHistogram()
    var timeline = LatencyTimeline()
    for result in results {
      latency.merge(result.latency)
      timeline.merge(result.timeline)
    }
    return RunSeries(name: name, latency: latency, seconds: timeline.seconds)
  }
}
