import LockstepModel

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

extension BenchRun {
  /// Maximum file size in bytes, far above any report or output of a bench.
  public static let fileBytesMost = 4 << 20

  /// Reads the file of an earlier run: a report's page, or the output of `--json`.
  public init(file bytes: [UInt8]) throws(RunFault) {
    let first = bytes.first { !" \t\r\n".utf8.contains($0) }
    guard first == UInt8(ascii: "<") else {
      let json = try Self.parsed(bytes)
      try self.init(json: json["run"] ?? json)
      return
    }
    guard let start = bytes.firstRange(of: Array(ReportPage.runStart.utf8)) else {
      let isPicture = bytes.firstRange(of: Array("<html".utf8)) == nil
      let isDrawn = bytes.firstRange(of: Array("<svg".utf8)) != nil
      throw isPicture && isDrawn ? RunFault.picture : RunFault.noRun
    }
    let rest = bytes[start.upperBound...]
    guard let end = rest.firstRange(of: Array(ReportPage.runEnd.utf8)) else {
      throw RunFault.bad(member: "script")
    }
    try self.init(json: try Self.parsed(Array(rest[..<end.lowerBound])))
  }

  private static func parsed(_ bytes: [UInt8]) throws(RunFault) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: bytes)
    } catch {
      throw RunFault.unreadable(error)
    }
  }
}

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

/// Reason why a file cannot be used for a comparison.
public enum RunFault: Error, Hashable, Sendable {
  /// Neither a report's page nor JSON.
  case unreadable(JSONFault)
  /// A picture only: it shows a run but does not contain its data.
  case picture
  /// JSON or a page, but not of a bench.
  case noRun
  /// Written by a newer version of the program, with this format number.
  case newer(Int64)
  /// A member is missing or has an invalid value.
  case bad(member: String)
  case otherBench(BenchKind, wanted: BenchKind)
}

extension RunFault: CustomStringConvertible {
  /// Continues a sentence that begins with the file's name and a colon.
  public var description: String {
    switch self {
    case .unreadable(let fault): "it is neither a report nor JSON: \(fault)"
    case .picture:
      "a picture does not hold the figures it was drawn from; name the report (.html) or the "
        + "--json output of that run"
    case .noRun:
      "it holds no run of a bench; name a report (.html) or what `lockstep bench … --json` printed"
    case .newer(let format):
      "it was written in format \(format), by a newer lockstep; compare with that version"
    case .bad(let member): "it is damaged: \"\(member)\" is not what a bench writes"
    case .otherBench(let kind, let wanted):
      "it is a run of `bench \(kind.rawValue)`; name one of `bench \(wanted.rawValue)`"
    }
  }
}

/// Command that repeats a run, as a person would type it.
public enum RunCommandLine {
  /// `name`: the words of the command. `options`: in order, without dashes; a nil value marks a
  /// flag. The part before the @ of an address is omitted: it may be a password.
  public static func text(_ name: String, options: [(name: String, value: String?)]) -> String {
    ([name]
      + options.map { option in
        "--\(option.name)" + (option.value.map { " " + quoted(withoutUser($0)) } ?? "")
      }).joined(separator: " ")
  }

  private static func withoutUser(_ value: String) -> String {
    guard let scheme = value.firstRange(of: "://"),
      let end = value[scheme.upperBound...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
    else { return value }
    return value[..<scheme.upperBound] + "…" + value[end...]
  }

  /// Quotes the word for a shell if it contains special characters.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_./:,@%+=".utf8.contains(byte)
      }
    }
    if isPlain && !word.isEmpty { return word }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
  }
}
