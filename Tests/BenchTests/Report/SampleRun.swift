import LockstepModel

@testable import LockstepBench

/// A run in the form of a latency bench of two seconds.
enum SampleRun {
  static func histogram(_ milliseconds: [Int64]) -> LatencyHistogram {
    var histogram = LatencyHistogram()
    for value in milliseconds { histogram.record(nanoseconds: value * 1_000_000) }
    return histogram
  }

  static func series(_ name: String = "change to screen", milliseconds: [Int64]) -> RunSeries {
    var timeline = LatencyTimeline()
    for (index, value) in milliseconds.enumerated() {
      timeline.record(nanoseconds: value * 1_000_000, dueInSecond: index % 2)
    }
    return RunSeries(
      name: name, latency: histogram(milliseconds), seconds: timeline.seconds)
  }

  static func origin(processor: String = "A processor") -> RunOrigin {
    RunOrigin(
      version: "1.2.3", madeAt: 1_772_368_496_000, command: "lockstep bench latency --seconds 2",
      machine: [RunFact("processor", processor), RunFact("cores", "2")])
  }

  static func run(
    _ milliseconds: [Int64] = [1, 2, 3, 40], processor: String = "A processor",
    kind: BenchKind = .latency
  ) -> BenchRun {
    let series = series(milliseconds: milliseconds)
    let median = series.latency.quantile(0.5)
    return BenchRun(
      kind: kind, summary: "two people & their devices", origin: origin(processor: processor),
      plan: [RunFact("accounts", "2")],
      figures: [
        RunFigure("change to screen, p50", nanoseconds: median, target: "< 5 s", isMet: true),
        RunFigure("relay's CPU a delivery", thousandths: nil, .microseconds),
        RunFigure("missing", faults: 0),
      ], notes: [], series: [series])
  }
}
