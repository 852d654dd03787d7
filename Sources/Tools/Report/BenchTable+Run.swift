extension BenchTable {
  /// Maximum number of failure sentences in a report.
  static let failuresShown = 5

  /// Returns the contents of a report. `isOwnRelay`: true if no other relay was named.
  public func run(from origin: RunOrigin, isOwnRelay: Bool) -> BenchRun {
    BenchRun(
      kind: .latency, summary: title, origin: origin,
      plan: plan.facts + [
        RunFact("relay", isOwnRelay ? "its own, on a temporary store" : "one that runs elsewhere")
      ],
      figures: figures, notes: Array(result.failures.prefix(Self.failuresShown)),
      series: [
        RunSeries(
          name: "change to screen", latency: result.latency, seconds: result.timeline.seconds)
      ])
  }
}

extension BenchPlan {
  /// Parameters, for a report.
  var facts: [RunFact] {
    [
      RunFact("accounts", "\(accounts)"), RunFact("devices of each", "\(devices)"),
      RunFact("changes a second", "\(rate)"), RunFact("seconds", "\(seconds)"),
      RunFact("transport", transport.rawValue),
    ]
  }
}
