/// One run of a bench, with everything that a report shows and that a later report compares.
public struct BenchRun: Hashable, Sendable {
  public var kind: BenchKind
  /// One-line description of the run.
  public var summary: String
  public var origin: RunOrigin
  /// Parameters of the bench; two runs are comparable only if these are equal.
  public var plan: [RunFact]
  public var figures: [RunFigure]
  /// Failures during the run, one sentence each.
  public var notes: [String]
  /// Measured distributions; every run of a bench has the same ones.
  public var series: [RunSeries]

  public init(
    kind: BenchKind, summary: String, origin: RunOrigin, plan: [RunFact], figures: [RunFigure],
    notes: [String], series: [RunSeries]
  ) {
    self.kind = kind
    self.summary = summary
    self.origin = origin
    self.plan = plan
    self.figures = figures
    self.notes = notes
    self.series = series
  }
}

/// Benches that measure latencies, by the names of their commands.
public enum BenchKind: String, Hashable, Sendable {
  case latency
  case crowd
  case firstSync = "first-sync"

  /// Name of the measured latency.
  var measured: String {
    switch self {
    case .latency, .crowd: "change to screen"
    case .firstSync: "a save's answer"
    }
  }

  /// Name of the counted events.
  var counted: String {
    switch self {
    case .latency, .crowd: "deliveries"
    case .firstSync: "saves"
    }
  }
}

/// Origin of a run.
public struct RunOrigin: Hashable, Sendable {
  /// Version of the program.
  public var version: String
  /// Milliseconds since the Unix epoch.
  public var madeAt: Int64
  /// Command that repeats the run, without secrets.
  public var command: String
  public var machine: [RunFact]

  public init(version: String, madeAt: Int64, command: String, machine: [RunFact]) {
    self.version = version
    self.madeAt = madeAt
    self.command = command
    self.machine = machine
  }
}

public struct RunFact: Hashable, Sendable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// Distribution of latencies.
public struct RunSeries: Hashable, Sendable {
  public var name: String
  public var latency: LatencyHistogram
  /// One element per second; empty if the bench has no timeline, nil for a second without values.
  public var seconds: [TimelineSecond?]

  public init(name: String, latency: LatencyHistogram, seconds: [TimelineSecond?]) {
    self.name = name
    self.latency = latency
    self.seconds = seconds
  }
}
