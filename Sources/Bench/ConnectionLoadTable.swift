import LockstepJSON
import LockstepTerminal

/// One quiet run and one run with the load.
package struct ConnectionLoadPair: Sendable {
  package var quiet: BenchResult
  package var loaded: BenchResult
  /// Memory of the relay in bytes: before the load, and the peak during it; nil if the system does
  /// not report it.
  package var relayBefore: Int64?
  package var relayPeak: Int64?

  package init(quiet: BenchResult, loaded: BenchResult) {
    self.quiet = quiet
    self.loaded = loaded
  }

  /// Returns the latency under load relative to the quiet run, in thousandths.
  func ratio(_ share: Double) -> Int64? {
    guard let quiet = quiet.latency.quantile(share), quiet > 0,
      let loaded = loaded.latency.quantile(share)
    else { return nil }
    return loaded * 1_000 / quiet
  }

  /// True if every change arrived at every device exactly once.
  package var isWhole: Bool {
    [quiet, loaded].allSatisfy { $0.missing == 0 && $0.duplicated == 0 && $0.failures.isEmpty }
  }
}

/// Result of a connection-load bench, as figures and as text.
package struct ConnectionLoadTable: Sendable {
  package var plan: ConnectionLoadPlan
  package var pairs: [ConnectionLoadPair]

  /// Maximum 99th percentile of other accounts under load, in thousandths of the quiet 99th
  /// percentile.
  package static let ratioMost: Int64 = 2_000

  package init(plan: ConnectionLoadPlan, pairs: [ConnectionLoadPair]) {
    self.plan = plan
    self.pairs = pairs
  }

  package var isMet: Bool {
    pairs.allSatisfy(\.isWhole) && (median { $0.ratio(0.99) } ?? .max) <= Self.ratioMost
  }

  package var json: JSONValue {
    .object([
      JSONMember("idle", .whole(Int64(plan.idle))),
      JSONMember("slow", .whole(Int64(plan.slow))),
      JSONMember("measured", .whole(Int64(plan.measured.accounts * plan.measured.devices))),
      JSONMember("runs", .whole(Int64(pairs.count))),
      JSONMember("quietP50Ms", .milliseconds(median { $0.quiet.latency.quantile(0.5) })),
      JSONMember("quietP99Ms", .milliseconds(median { $0.quiet.latency.quantile(0.99) })),
      JSONMember("crowdedP50Ms", .milliseconds(median { $0.loaded.latency.quantile(0.5) })),
      JSONMember("crowdedP99Ms", .milliseconds(median { $0.loaded.latency.quantile(0.99) })),
      JSONMember("ratioP99", .decimal(thousandths: median { $0.ratio(0.99) })),
      JSONMember("ratiosP99", .array(pairs.map { .decimal(thousandths: $0.ratio(0.99)) })),
      JSONMember("relayBeforeBytes", .whole(median(\.relayBefore))),
      JSONMember("relayPeakBytes", .whole(pairs.compactMap(\.relayPeak).max())),
      JSONMember("isMet", .bool(isMet)),
    ])
  }

  package var title: String {
    let measured = plan.measured.accounts * plan.measured.devices
    return "\(measured) devices, \(plan.measured.rate) changes a second, beside \(plan.idle) "
      + "idle connections and \(plan.slow) slow readers; \(pairs.count) pairs"
  }

  package var text: String {
    var lines = [title, "", row("", "quiet", "loaded", "ratio")]
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      let ratio = median { $0.ratio(share) }
      let judged = share == 0.99 ? (isMet ? "   ≤ 2 met" : "   ≤ 2 MISSED") : ""
      lines.append(
        row(
          "change to screen, \(label)",
          Figure.milliseconds(median { $0.quiet.latency.quantile(share) }),
          Figure.milliseconds(median { $0.loaded.latency.quantile(share) }),
          Figure.ratio(thousandths: ratio)) + judged)
    }
    let ratios = pairs.map { Figure.ratio(thousandths: $0.ratio(0.99)) }
    lines += ["ratios of the runs' p99: " + ratios.joined(separator: ", "), ""]
    lines.append(row("relay's memory before", Figure.mebibytes(median(\.relayBefore))))
    lines.append(
      row("relay's peak", Figure.mebibytes(pairs.compactMap(\.relayPeak).max())))
    if !pairs.allSatisfy(\.isWhole) { lines.append("changes were lost or duplicated") }
    return lines.joined(separator: "\n")
  }

  /// Returns the median over the pairs that have the figure.
  func median(_ figure: (ConnectionLoadPair) -> Int64?) -> Int64? {
    Figure.median(pairs.compactMap(figure))
  }

  private func row(_ label: String, _ columns: String...) -> String { Figure.row(label, columns) }
}

extension ConnectionLoadTable {
  /// Returns the contents of a report. The distributions are those of all runs together.
  package func run(from origin: RunOrigin) -> BenchRun {
    let results = pairs.flatMap { [$0.quiet, $0.loaded] }
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
        series("beside the crowd", of: pairs.map(\.loaded)),
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
          nanoseconds: median { $0.loaded.latency.quantile(share) }),
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
