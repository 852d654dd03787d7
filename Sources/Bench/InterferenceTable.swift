import LockstepJSON
import LockstepTerminal

/// One quiet window and one window under load.
package struct InterferencePair: Sendable {
  package var quiet: LatencyHistogram
  package var busy: LatencyHistogram
  /// Number of records that the load transferred, and its duration.
  package var records: Int
  package var nanoseconds: Int64
  /// Time from the start of the load until each device was done; one value if there is one device.
  package var devices: LatencyHistogram
  /// Memory in bytes: the relay's just before the load, its peak, and the device's peak during the
  /// load; nil if the system does not report it, or there is no such process.
  package var relayBefore: Int64?
  package var relayPeak: Int64?
  package var devicePeak: Int64?
  package var deferredRequests = 0

  package init(quiet: LatencyHistogram, busy: LatencyHistogram, records: Int, nanoseconds: Int64) {
    self.quiet = quiet
    self.busy = busy
    self.records = records
    self.nanoseconds = nanoseconds
    devices = LatencyHistogram()
  }

  /// Returns the save latency under load relative to the quiet window, in thousandths; nil if a
  /// window is empty.
  func ratio(_ share: Double) -> Int64? {
    guard let quiet = quiet.quantile(share), let busy = busy.quantile(share), quiet > 0 else {
      return nil
    }
    return busy * 1_000 / quiet
  }

  var recordsASecond: Int64 {
    nanoseconds > 0 ? Int64(records) * 1_000_000_000 / nanoseconds : 0
  }
}

/// Result of an interference bench, as figures and as text. Each figure of several runs is their
/// median.
package struct InterferenceTable: Sendable {
  package var plan: InterferencePlan
  package var pairs: [InterferencePair]
  /// Rate at which the large account was filled, in records per second; nil if none was filled.
  package var fillRecordsASecond: Int64?
  /// Size of the relay's log after the bench, in bytes.
  package var logBytes: Int64?

  /// Maximum median save latency of another account under load, in thousandths of its quiet median.
  package static let ratioMost: Int64 = 2_000

  package init(plan: InterferencePlan, pairs: [InterferencePair]) {
    self.plan = plan
    self.pairs = pairs
  }

  /// True if the other account's saves stay within the limit; nil if nothing was measured.
  package var isMet: Bool? { median { $0.ratio(0.5) }.map { $0 <= Self.ratioMost } }

  package var json: JSONValue {
    .object([
      JSONMember("load", .string(plan.load.rawValue)),
      JSONMember("records", .whole(Int64(pairs.first?.records ?? 0))),
      JSONMember("recordBytes", .whole(Int64(plan.recordBytes))),
      JSONMember("runs", .whole(Int64(pairs.count))),
      JSONMember("savesPerSecond", .whole(Int64(plan.rate))),
      JSONMember("quietP50Ms", .milliseconds(median { $0.quiet.quantile(0.5) })),
      JSONMember("quietP99Ms", .milliseconds(median { $0.quiet.quantile(0.99) })),
      JSONMember("busyP50Ms", .milliseconds(median { $0.busy.quantile(0.5) })),
      JSONMember("busyP99Ms", .milliseconds(median { $0.busy.quantile(0.99) })),
      JSONMember("busyMaxMs", .milliseconds(pairs.compactMap { $0.busy.quantile(1) }.max())),
      JSONMember("ratioP50", .decimal(thousandths: median { $0.ratio(0.5) })),
      JSONMember("ratiosP50", .array(pairs.map { .decimal(thousandths: $0.ratio(0.5)) })),
      JSONMember("ratioP99", .decimal(thousandths: median { $0.ratio(0.99) })),
      JSONMember("loadMs", .milliseconds(median(\.nanoseconds))),
      JSONMember("recordsPerSecond", .whole(median(\.recordsASecond))),
      JSONMember("fillRecordsPerSecond", .whole(fillRecordsASecond)),
      JSONMember("deviceDoneP50Ms", .milliseconds(median { $0.devices.quantile(0.5) })),
      JSONMember("deviceDoneMaxMs", .milliseconds(median { $0.devices.quantile(1) })),
      JSONMember("relayBeforeBytes", .whole(median(\.relayBefore))),
      JSONMember("relayPeakBytes", .whole(pairs.compactMap(\.relayPeak).max())),
      JSONMember("devicePeakBytes", .whole(pairs.compactMap(\.devicePeak).max())),
      JSONMember("putOff", .whole(Int64(pairs.reduce(0) { $0 + $1.deferredRequests }))),
      JSONMember("logBytes", .whole(logBytes)),
    ])
  }

  package var text: String {
    var lines = [title, "", row("", "quiet", "under load", "ratio")]
    for (label, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1)] {
      let ratio = median { $0.ratio(share) }
      let judged = share == 0.5 ? isMet.map { $0 ? "   ≤ 2 met" : "   ≤ 2 MISSED" } : nil
      lines.append(
        row(
          "a save's answer, \(label)", Figure.milliseconds(median { $0.quiet.quantile(share) }),
          Figure.milliseconds(median { $0.busy.quantile(share) }),
          Figure.ratio(thousandths: ratio)) + (judged ?? ""))
    }
    let ratios = pairs.map { Figure.ratio(thousandths: $0.ratio(0.5)) }
    lines += ["ratios of the runs' p50: " + ratios.joined(separator: ", "), ""]
    lines.append(row("records a second", "\(median(\.recordsASecond) ?? 0)"))
    lines.append(row("the load took", Figure.milliseconds(median(\.nanoseconds))))
    if plan.load == .backlog {
      lines.append(
        row("half of the devices had", Figure.milliseconds(median { $0.devices.quantile(0.5) })))
      lines.append(row("reads put off", "\(pairs.reduce(0) { $0 + $1.deferredRequests })"))
    }
    lines.append(row("relay's memory before", Figure.mebibytes(median(\.relayBefore))))
    lines.append(row("relay's peak", Figure.mebibytes(pairs.compactMap(\.relayPeak).max())))
    let devicePeak = pairs.compactMap(\.devicePeak).max()
    if let devicePeak { lines.append(row("device's peak", Figure.mebibytes(devicePeak))) }
    if let logBytes { lines.append(row("relay's log afterwards", Figure.mebibytes(logBytes))) }
    return lines.joined(separator: "\n")
  }

  package var title: String {
    let load =
      switch plan.load {
      case .firstSync, .rawFirstSync:
        "first sync of \(plan.records) records of \(plan.recordBytes) bytes"
          + (plan.load == .firstSync ? " by an agent" : " by a raw reader")
      case .burst: "one device uploads \(plan.records) records of \(plan.recordBytes) bytes"
      case .backlog: "\(plan.devices) devices come back, each \(plan.behind) records behind"
      }
    return "\(load); another account saves \(plan.rate) times a second; \(pairs.count) pairs"
  }

  /// Returns the median over the pairs that have the figure.
  func median(_ figure: (InterferencePair) -> Int64?) -> Int64? {
    Figure.median(pairs.compactMap(figure))
  }

  private func row(_ label: String, _ columns: String...) -> String { Figure.row(label, columns) }
}

extension InterferenceTable {
  /// Returns the contents of a report. The distributions are those of all windows together. There
  /// is no timeline, because windows are short and differ in length.
  package func run(from origin: RunOrigin) -> BenchRun {
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
        RunFigure("reads put off", count: pairs.reduce(0) { $0 + Int64($1.deferredRequests) }),
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
