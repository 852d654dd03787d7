/// One run of a bench, with all that a report shows of it: what a report is drawn from, and what it
/// is compared with later.
public struct BenchRun: Hashable, Sendable {
  public var kind: BenchKind
  /// One line: what was done.
  public var summary: String
  public var origin: RunOrigin
  /// What the bench was told to do; two runs are alike only where these are.
  public var plan: [RunFact]
  public var figures: [RunFigure]
  /// What went wrong on the way, a sentence each.
  public var notes: [String]
  /// What was measured, a distribution each: of one bench always the same ones.
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

/// The benches that measure latencies, by their command's name.
public enum BenchKind: String, Hashable, Sendable {
  case latency
  case crowd
  case firstSync = "first-sync"

  /// What takes the time that is measured.
  var measured: String {
    switch self {
    case .latency, .crowd: "change to screen"
    case .firstSync: "a save's answer"
    }
  }

  /// What is counted.
  var counted: String {
    switch self {
    case .latency, .crowd: "deliveries"
    case .firstSync: "saves"
    }
  }
}

/// Where a run comes from.
public struct RunOrigin: Hashable, Sendable {
  /// Of the program.
  public var version: String
  /// Milliseconds since the Unix epoch.
  public var madeAt: Int64
  /// What makes it again, without secrets.
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

/// A distribution of latencies.
public struct RunSeries: Hashable, Sendable {
  public var name: String
  public var latency: LatencyHistogram
  /// A second each; empty where the bench keeps none, nil where a second saw nothing.
  public var seconds: [TimelineSecond?]

  public init(name: String, latency: LatencyHistogram, seconds: [TimelineSecond?]) {
    self.name = name
    self.latency = latency
    self.seconds = seconds
  }
}
